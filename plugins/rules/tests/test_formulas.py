from typing import Any

import pytest
import rewardhub_rules
from rewardhub_rules.formulas import NAMES

from rewardhub import RecordError, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_rules).grader("rules/expression").card
STEPS = [
    {
        "text": "Let me look.",
        "reasoning": "first look, then say",
        "tool_calls": [{"name": "ls"}, {"name": "cat"}],
        "observations": [{"error": "no such file"}, {"exit_code": 2}, {"exit_code": 0}],
        "tokens": 5,
        "seconds": 1.5,
        "cost": 0.25,
    },
    {"text": "One. Two.\n\nThree.", "tokens": 4, "seconds": 0.5, "cost": 0.25},
]
FIGURES = {
    "words": 3,
    "characters": 17,
    "sentences": 3,
    "paragraphs": 2,
    "lines": 2,
    "reasoning_words": 4,
    "steps": 2,
    "tool_calls": 2,
    "observations": 3,
    "errors": 2,
    "truncated": 0,
    "tokens": 9,
    "seconds": 2,
    "cost": 0.5,
}


def score(expression: str, reply: Any = "", **fields: Any) -> Score:
    return grade(CARD, make_trajectory(reply, **fields), options={"expression": expression})


def test_every_name_is_known_here() -> None:
    assert set(FIGURES) == set(NAMES)


@pytest.mark.parametrize(("name", "figure"), FIGURES.items())
def test_a_name_stands_for_its_figure(name: str, figure: float) -> None:
    assert score(f"{name} == {figure}", STEPS).value == 1


@pytest.mark.parametrize("name", ["tokens", "seconds", "cost"])
def test_a_recorded_total_goes_before_the_sum(name: str) -> None:
    assert score(f"{name} == 100", STEPS, **{name: 100}).value == 1


@pytest.mark.parametrize("name", ["tokens", "seconds", "cost"])
def test_what_was_not_recorded_for_every_step_is_no_number(name: str) -> None:
    made = score(f"{name} < 100", [{"text": "a", name: 1}, "b"])
    assert (made.status, made.fault) == ("failed", "infrastructure")
    assert f"records no {name}" in made.reason


def test_what_is_not_read_need_not_be_recorded() -> None:
    assert score("words == 1", "a").value == 1


def test_a_truncated_attempt_is_told() -> None:
    assert score("truncated == 1", "a", status="truncated").value == 1


@pytest.mark.parametrize(("formula", "value"), [("0.25", 0.25), ("2", 1), ("0 - words", 0)])
def test_a_number_is_kept_in_its_bounds(formula: str, value: float) -> None:
    assert score(formula, "a").value == value


def test_says_the_figures_it_read() -> None:
    assert score("words > 1 and steps > 0", "a b").reason == "true: words = 2, steps = 1"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("wrds < 3", "Did you mean `words`"),
        ("words <", "Expected a number"),
        ("1 / words", "Division by zero"),
        ("__import__('os')", "cannot be read|No figure|is text|Expected"),
        ("words < 3 < 4", "do not chain"),
    ],
)
def test_a_mistake_is_found_before_the_run(expression: str, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        score(expression)
