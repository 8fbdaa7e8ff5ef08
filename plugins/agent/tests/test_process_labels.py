"""The agreement with human step labels that the README reports is what the command prints."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
PACK = ROOT / "plugins" / "agent"
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "prm"
FILE = DATA / "agent_process_bench_hotpotqa.jsonl.gz"

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"there is no {FILE}")


@pytest.fixture(scope="module")
def command() -> ModuleType:
    path = PACK / "benchmarks" / "process_agreement.py"
    spec = importlib.util.spec_from_file_location("process_agreement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_reports_what_the_command_prints(
    command: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["process_agreement.py", str(FILE)])
    command.main()
    printed = capsys.readouterr().out.strip()
    assert f"```text\n{printed}\n```" in (PACK / "README.md").read_text(encoding="utf-8")


def test_every_labelled_message_is_a_step(command: ModuleType) -> None:
    rows = command.read(FILE)
    assert len(rows) == 31
    for row in rows:
        _, places = command.attempt(row)
        assert set(map(int, row["step_labels"])) <= set(places)
