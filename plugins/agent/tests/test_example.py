"""examples/agent: what its script writes, what its reward makes of it, what the README shows."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rewardhub_agent

from rewardhub import Engine, Reward, read_trajectory
from rewardhub.testing import registry_of

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "agent"
README = ROOT / "plugins" / "agent" / "README.md"


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(EXAMPLE)
    spec = importlib.util.spec_from_file_location("make_attempts", EXAMPLE / "make_attempts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_attempts", module)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("ledger", None)


@pytest.fixture(scope="module")
def rewards() -> dict[str, Reward]:
    lines = (EXAMPLE / "attempts.jsonl").read_bytes().splitlines()
    attempts = [read_trajectory(line) for line in lines]
    with Engine(EXAMPLE / "reward.yaml", registry=registry_of(rewardhub_agent)) as engine:
        scored = engine.score_all(attempts)
        return {each.id: reward for each, reward in zip(attempts, scored, strict=True)}


def test_the_committed_attempts_are_what_the_script_writes(making: Any) -> None:
    written = b"".join(each.to_json() + b"\n" for each in making.attempts())
    assert written == (EXAMPLE / "attempts.jsonl").read_bytes()


def test_errors_come_from_the_tools_and_not_from_the_script(making: Any) -> None:
    ledger = making.Ledger()
    result = making.answer(ledger, "1", "set_amount", {"entry": "E31", "amount": "1"})
    assert result.error == "there is no entry E31"
    assert ledger.state == making.Ledger().state


def test_only_the_attempt_that_mends_the_ledger_succeeds(rewards: dict[str, Reward]) -> None:
    assert {name: reward.success for name, reward in rewards.items()} == {
        "careful": True,
        "hasty": False,
        "idle": False,
    }
    assert rewards["idle"].value == 0
    assert (rewards["careful"].value or 0) > 0.9
    assert 0 < (rewards["hasty"].value or 0) < 0.2


def test_step_rewards_are_the_reward_in_parts(rewards: dict[str, Reward]) -> None:
    for reward in rewards.values():
        assert sum(reward.step_rewards) == pytest.approx(reward.value)
    mended, slipped = rewards["careful"].step_rewards[3], rewards["careful"].step_rewards[2]
    assert mended > slipped


def test_the_readme_shows_what_explain_prints(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    score = ["score", "examples/agent/attempts.jsonl", "--reward", "examples/agent/reward.yaml"]
    command = str(Path(sys.executable).with_name("rewardhub"))
    for words in ([*score, "--run", run], ["explain", run, "careful"]):
        done = subprocess.run(
            [command, *words],
            cwd=ROOT,
            env={**os.environ, "REWARDHUB_WORKERS": "1", "COLUMNS": "120"},
            check=True,
            capture_output=True,
            text=True,
        )
    printed = done.stdout.replace(f"{ROOT}/", "")
    printed = re.sub(r"\(\w{8}\)$", "(...)", printed, flags=re.MULTILINE)  # depends on versions
    shown = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert f"```text\n{shown}\n```" in README.read_text(encoding="utf-8")
