import ast
import sys
import tomllib
from pathlib import Path

import pytest
import rewardhub_prm

from rewardhub import check_reward, discover
from rewardhub.testing import check_cases, registry_of

PACK = Path(__file__).parents[1]
ALLOWED = {*sys.stdlib_module_names, "pydantic", "rewardhub_prm"}


def test_registers_its_graders() -> None:
    names = {card.name for card in rewardhub_prm.rewardhub_graders()}
    assert names == {"prm/outcome", "prm/steps"}


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"prm": rewardhub_prm.__name__}


def test_passes_its_cases(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(planted)
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(rewardhub_prm))


def test_its_spec_has_no_mistakes(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (planted / "prm-model").symlink_to(planted / "steps")
    monkeypatch.chdir(planted)
    assert not check_reward("prm/process", discover()).mistakes


def test_only_graders_of_steps_say_that_they_give_step_values() -> None:
    gives = {card.name: card.gives for card in rewardhub_prm.rewardhub_graders()}
    assert gives == {"prm/steps": ("steps",), "prm/outcome": ()}


def test_imports_only_the_standard_library_pydantic_and_the_top_door() -> None:
    for path in (PACK / "rewardhub_prm").rglob("*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            module = getattr(statement, "module", None)
            for name in [module] if module else [alias.name for alias in statement.names]:
                if name == "typer" and path.name == "command.py":
                    continue
                root = name.partition(".")[0]
                assert root in ALLOWED or name == "rewardhub", f"{path.name} imports {name}"
