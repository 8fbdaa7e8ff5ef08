import ast
import tomllib
from pathlib import Path

import rewardhub_judge

from rewardhub import DEFAULT_READS
from rewardhub.testing import check_cases, make_task, registry_of

PACK = Path(__file__).parents[1]
GRADERS = {
    "judge/criteria",
    "judge/pairwise",
    "judge/panel",
    "judge/rank",
    "judge/reference",
    "judge/steps",
    "judge/turns",
}


def test_registers_its_graders() -> None:
    assert {card.name for card in rewardhub_judge.rewardhub_graders()} == GRADERS


def test_registers_its_judges() -> None:
    assert {card.name for card in rewardhub_judge.rewardhub_judges()} == {
        "openai",
        "replay",
        "transformers",
    }


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"judge": rewardhub_judge.__name__}


def test_passes_its_cases() -> None:
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(rewardhub_judge))


def test_no_grader_is_called_deterministic() -> None:
    assert not any(card.deterministic for card in rewardhub_judge.rewardhub_graders())


def test_every_grader_but_that_of_calls_reads_what_every_door_fills() -> None:
    filled = {*DEFAULT_READS, "steps.reasoning", "task.checks.judge"}
    for card in rewardhub_judge.rewardhub_graders():
        if card.name != "judge/turns":
            assert {*card.all_reads} <= filled, card.name


def test_the_attacks_are_answers_and_the_guard_knows_each_kind_of_them() -> None:
    from rewardhub_judge.guard import steering_in

    (card,) = rewardhub_judge.rewardhub_attacks()
    answers = list(card.attack(make_task("What is 2 + 2?")))
    assert len(set(answers)) == len(answers) > 10
    assert {each.kind for text in answers for each in steering_in(text)} == {
        "override",
        "address",
        "demand",
        "verdict",
        "frame",
        "hidden",
    }


def test_imports_only_the_standard_library_pydantic_and_the_top_door() -> None:
    heavy = {"jinja2", "openai", "torch", "transformers", "numpy", "scipy", "matplotlib"}
    for path in (PACK / "rewardhub_judge").rglob("*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            module = getattr(statement, "module", None)
            names = [module] if module else [alias.name for alias in statement.names]
            for name in names:
                root = name.partition(".")[0]
                assert root not in heavy, path.name
                assert root != "rewardhub" or name == "rewardhub", path.name
