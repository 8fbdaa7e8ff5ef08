from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.spec import Spec

MistakesOf = Callable[..., list[str]]

TWO_STAGES = """
success: {success}
stages:
  - name: first
    weight: 0.5
    graders: [{{use: math/same-number, as: one}}]
  - name: outcome
    weight: 0.5
    {stage}
    graders:
      - {{use: rules/code-block, as: two}}
      - {{use: judge/rank, as: three, {entry}}}
      - {{use: cost/steps, as: four}}
"""
THREE = "spec.yaml:13:{column}: Stage `outcome`, grader `three`: `when: {text}`: "
OUTCOME = "spec.yaml:10:{column}: Stage `outcome`: `formula: {text}`: "


def when(mistakes: MistakesOf, text: str, stage: str = "monotone: true") -> list[str]:
    entry = f"when: {text}"
    return mistakes(TWO_STAGES.format(success="one == 1", stage=stage, entry=entry))


@pytest.mark.parametrize("text", ["one == 1", "two > 0.5", "one >= 0.5 and two == 1"])
def test_a_condition_reads_the_parts_before_its_own(mistakes: MistakesOf, text: str) -> None:
    assert when(mistakes, text) == []


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        (
            "two > 0 and four == 1",
            56,
            (
                "`four` comes later, and a condition reads earlier parts only. Move it up, or this "
                "one down."
            ),
        ),
        ("three == 1", 44, "A part cannot wait for its own value, `three`."),
        ("tow == 1", 44, "No part is called `tow` before this one. Did you mean `two`?"),
        ("zzz == 1", 44, "No part is called `zzz` before this one. Known: `one`, `two`."),
        ("one + two", 44, "This is a number, and `when` is true or false. Compare it: `one == 1`."),
        ("1 == 1", 44, "This reads no part, so it never changes. Name the id of a part."),
        ("one = 1", 48, "`=` cannot be read here. Say `==` to compare."),
        (
            "one / two > 1",
            48,
            "The divisor can be 0: it lies between 0 and 1. Keep it away from 0, say by `max`.",
        ),
        (
            "one < 1",
            44,
            (
                "`<` (character 5) can turn from true to false as `one` rises. Say `monotone: "
                "false` on the stage if that is meant."
            ),
        ),
    ],
)
def test_explains_conditions(mistakes: MistakesOf, text: str, column: int, problem: str) -> None:
    assert when(mistakes, text) == [THREE.format(column=column, text=text) + problem]


def test_a_stage_may_say_that_its_conditions_can_fall(mistakes: MistakesOf) -> None:
    assert when(mistakes, "one < 1", "monotone: false") == []


def test_finds_the_character_inside_of_quotes(mistakes: MistakesOf) -> None:
    assert when(mistakes, "'zzz == 1'")[0].startswith("spec.yaml:13:45: ")


def test_a_part_with_a_mistake_of_its_own_can_still_be_read(mistakes: MistakesOf) -> None:
    found = mistakes(
        TWO_STAGES.format(success="one == 1", stage="combine: mean", entry="when: one == 1")
        .replace("use: math/same-number", "use: math/same-nmber")
    )  # fmt: skip
    assert found == [
        (
            "spec.yaml:7:21: No grader is called `math/same-nmber` (spec.yaml, stage `first`). Did "
            "you mean `math/same-number`?"
        )
    ]


@pytest.mark.parametrize(
    ("condition", "warned"), [("one == 1", True), ("two == 1", False), ("two + one > 1", False)]
)
def test_warns_of_a_gate_that_closes_where_a_condition_on_earlier_parts_is_false(
    mistakes: MistakesOf, condition: str, warned: bool
) -> None:
    found = when(mistakes, condition, "gate: {below: 0.2, reward: 0}")
    assert found == (
        [
            (
                "warning: spec.yaml:13:44: Stage `outcome`, grader `three`: `when: one == 1`: "
                "Where this is false the part counts as 0, which closes the gate."
            )
        ]
        if warned
        else []
    )


def formula(mistakes: MistakesOf, text: str, more: str = "") -> list[str]:
    stage = f"formula: {text}{more}"
    return mistakes(TWO_STAGES.format(success="one == 1", stage=stage, entry="options: {}"))


def test_a_formula_makes_the_stage_combine_by_it(parsed: Callable[[str], Spec]) -> None:
    stage = "formula: two * three * four"
    spec = parsed(TWO_STAGES.format(success="one == 1", stage=stage, entry="options: {}"))
    assert spec.stages[1].combine == "formula"
    assert spec.stages[1].formula is not None
    assert spec.stages[1].formula.text == "two * three * four"


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        (
            "two + three + four",
            14,
            (
                "It reaches from 0 to 3, and a value lies in [0, 1]. Scale it, or cut it by `min` "
                "and `max`."
            ),
        ),
        (
            "max(two, three, four) - 0.5",
            14,
            (
                "It reaches from -0.5 to 0.5, and a value lies in [0, 1]. Scale it, or cut it by "
                "`min` and `max`."
            ),
        ),
        (
            "min(one, two, three, four)",
            18,
            (
                "`one` is a part of the stage `first`, and a formula reads the parts of its own "
                "stage only."
            ),
        ),
        (
            "min(two, thre, four, three)",
            23,
            "No part is called `thre` in this stage. Did you mean `three`?",
        ),
        (
            "two > three and four == 1",
            14,
            "This is true or false, and a formula is a number, as `0.5 * two`.",
        ),
        (
            "two * three * (1 - four)",
            14,
            (
                "The formula can fall as `four` rises. Say `monotone: false` on the stage if that "
                "is meant."
            ),
        ),
        (
            "two * three / four",
            26,
            "The divisor can be 0: it lies between 0 and 1. Keep it away from 0, say by `max`.",
        ),
        ("two * three *", 27, "Expected a number, a name or `(`, found the end."),
    ],
)
def test_explains_formulas(mistakes: MistakesOf, text: str, column: int, problem: str) -> None:
    assert formula(mistakes, text) == [OUTCOME.format(column=column, text=text) + problem]


def test_a_stage_may_say_that_its_formula_can_fall(mistakes: MistakesOf) -> None:
    assert formula(mistakes, "two * three * (1 - four)", "\n    monotone: false") == []


def test_warns_of_a_part_that_the_formula_does_not_read(mistakes: MistakesOf) -> None:
    assert formula(mistakes, "two * four") == [
        (
            "warning: spec.yaml:13:9: Stage `outcome`, grader `three`: The formula does not read "
            "`three`, so it changes nothing."
        )
    ]


def success(mistakes: MistakesOf, text: str, stage: str = "combine: mean") -> list[str]:
    return mistakes(TWO_STAGES.format(success=text, stage=stage, entry="options: {}"))


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("onne == 1", 10, "No part is called `onne` in this spec. Did you mean `one`?"),
        ("one", 10, "This is a number, and `success` is true or false. Compare it: `one == 1`."),
        ("one ==", 16, "Expected a number, a name or `(`, found the end."),
        (
            "not one == 1",
            10,
            (
                "`not` (character 1) makes a fall of every rise of `one`. Say `monotone: false` on "
                "the stage if that is meant."
            ),
        ),
    ],
)
def test_explains_success(mistakes: MistakesOf, text: str, column: int, problem: str) -> None:
    assert success(mistakes, text) == [f"spec.yaml:3:{column}: `success: {text}`: {problem}"]


def test_success_may_fall_in_a_part_whose_stage_may(mistakes: MistakesOf) -> None:
    assert success(mistakes, "one == 1 and two < 0.5", "monotone: false") == []


def test_success_may_not_fall_only_because_another_stage_may(mistakes: MistakesOf) -> None:
    assert len(success(mistakes, "one < 0.5", "monotone: false")) == 1


def test_success_is_by_default_that_the_only_part_of_outcome_is_1(
    parsed: Callable[[str], Spec],
) -> None:
    spec = parsed("stages: [{name: outcome, graders: [{use: math/same-number, as: same}]}]")
    assert spec.success is not None
    assert spec.success.text == "same == 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "stages: [{name: outcome, graders: [{use: math/same-number}, {use: judge/rank}]}]",
            (
                "Say what success is, as `success: same_number == 1` (parts: `same_number`, "
                "`rank`): the stage `outcome` has several parts."
            ),
        ),
        (
            "stages: [{name: answer, graders: [{use: judge/rank}]}]",
            "Say what success is, as `success: rank == 1`: no stage is called `outcome`.",
        ),
    ],
)
def test_success_must_be_said_where_there_is_no_default(
    mistakes: MistakesOf, text: str, message: str
) -> None:
    assert mistakes(text) == [f"spec.yaml:1:1: {message}"]
