import ast
import tomllib
from pathlib import Path

import rewardhub_agent

from rewardhub.testing import check_cases, registry_of

PACK = Path(__file__).parents[1]
GRADERS = {
    "agent/asks-when-needed",
    "agent/call-success",
    "agent/goal-state",
    "agent/no-loops",
    "agent/no-op-free",
    "agent/order",
    "agent/outputs",
    "agent/pass-k",
    "agent/progress",
    "agent/recovers",
    "agent/stops",
    "agent/tool-calls",
    "agent/valid-calls",
    "robustness/stable",
}


def test_registers_its_graders() -> None:
    assert {card.name for card in rewardhub_agent.rewardhub_graders()} == GRADERS


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"agent": rewardhub_agent.__name__}


def test_passes_its_cases() -> None:
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(rewardhub_agent))


def test_graders_of_the_process_say_that_they_give_step_values() -> None:
    cards = {card.name: card for card in rewardhub_agent.rewardhub_graders()}
    without = {name for name, card in cards.items() if not card.gives}
    assert without == {"agent/goal-state", "agent/outputs", "agent/pass-k", "robustness/stable"}


def test_imports_only_the_standard_library_pydantic_and_the_top_door() -> None:
    for path in (PACK / "rewardhub_agent").glob("*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in getattr(statement, "names", [])]
            module = getattr(statement, "module", None)
            for name in [module] if module else names:
                if not isinstance(statement, ast.Import | ast.ImportFrom):
                    continue
                root = name.partition(".")[0]
                assert root not in {"jsonschema", "referencing"}, path.name
                assert root != "rewardhub" or name == "rewardhub", path.name
