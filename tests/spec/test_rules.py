from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.spec import Spec

MistakesOf = Callable[..., list[str]]


def stages(*lines: str, top: str = "success: one == 1") -> str:
    listed = "".join(f"  - {{{line}}}\n" for line in lines)
    return f"{top}\nstages:\n{listed}"


ONE = "name: answer, weight: 0.5, graders: [{use: math/same-number, as: one}]"


def graders(name: str, **fields: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in fields.items())
    return f"[{{use: judge/rank, as: {name}{more}}}]"


@pytest.mark.parametrize(
    ("stage", "problem"),
    [
        (
            "name: two, weight: 0.2, combine: min, formula: two, graders: " + graders("two"),
            "6:39: Stage `two`: `combine: min` and `formula` are two answers. Keep one.",
        ),
        (
            "name: two, weight: 0.2, combine: formula, graders: " + graders("two"),
            "6:39: Stage `two`: `combine: formula` needs the line `formula: ...`.",
        ),
        (
            "name: two, gate: {below: 1, reward: 0}, optional: true, graders: " + graders("two"),
            "6:56: Stage `two`: A gate cannot be optional: without a value it ends the reward.",
        ),
        (
            "name: two, weight: -0.2, optional: true, graders: " + graders("two"),
            (
                "6:41: Stage `two`: A stage with a negative weight (-0.2) cannot be optional: an "
                "attempt would be spared the penalty where it cannot be measured."
            ),
        ),
        (
            "name: two, gate: {below: 1, reward: 0}, graders: " + graders("two", optional="true"),
            (
                "6:93: Stage `two`, grader `two`: A part of a gate cannot be optional: the gate "
                "would open unseen."
            ),
        ),
        (
            "name: two, weight: -0.2, graders: " + graders("two", optional="true"),
            (
                "6:78: Stage `two`, grader `two`: A part of a stage with a negative weight (-0.2) "
                "cannot be optional: an attempt would be spared the penalty where the "
                "infrastructure breaks."
            ),
        ),
        (
            "name: answer, weight: 0.2, graders: " + graders("two"),
            "6:12: A stage is already called `answer` (line 5). Rename one.",
        ),
        (
            "name: two, weight: 0.2, graders: " + graders("one"),
            (
                "6:62: Stage `two`, grader `one`: the id `one` is taken in stage `answer` (line "
                "5). Say `as: judge_rank`, or another one."
            ),
        ),
    ],
)
def test_refuses_what_pieces_may_not_say_together(
    mistakes: MistakesOf, stage: str, problem: str
) -> None:
    assert mistakes(stages(ONE, stage)) == [f"spec.yaml:{problem}"]


@pytest.mark.parametrize(
    ("stage", "problem"),
    [
        (
            "name: two, weight: 0.2, graders: " + graders("two", optional="true"),
            (
                "Stage `two`, grader `two`: `optional` leaves the part out where its "
                "infrastructure breaks, so attempts may be compared on different parts."
            ),
        ),
        (
            "name: two, weight: 0.2, combine: max, graders: " + graders("two", weight="2"),
            (
                "Stage `two`, grader `two`: `weight` counts in a mean only, and the stage says "
                "`combine: max`."
            ),
        ),
        (
            "name: two, weight: 0.2, steps: mean, graders: " + graders("two"),
            (
                "Stage `two`: `steps: mean` changes nothing: none of its graders gives values for "
                "steps."
            ),
        ),
    ],
)
def test_warns_of_what_is_legal_and_probably_not_meant(
    mistakes: MistakesOf, stage: str, problem: str
) -> None:
    (found,) = mistakes(stages(ONE, stage))
    assert found.startswith("warning: spec.yaml:6:")
    assert found.endswith(f": {problem}")


def test_says_nothing_of_steps_where_one_grader_gives_them(mistakes: MistakesOf) -> None:
    stage = (
        "name: two, weight: 0.2, steps: min, graders: [{use: judge/rank}, {use: agent/valid-calls}]"
    )
    assert mistakes(stages(ONE, stage)) == []


@pytest.mark.parametrize(
    ("top", "message"),
    [
        (
            "success: one == 1",
            (
                "5:3: The weights reach from -0.7 to 1.1, and `range` is -1 to 1. Say `range: [-1, "
                "1.1]`, or change the weights."
            ),
        ),
        (
            "success: one == 1\nrange: [-0.5, 2]",
            (
                "4:8: The weights reach from -0.7 to 1.1, and `range` is -0.5 to 2. Say `range: "
                "[-0.7, 2]`, or change the weights."
            ),
        ),
    ],
)
def test_refuses_weights_that_reach_out_of_range(
    mistakes: MistakesOf, top: str, message: str
) -> None:
    text = stages(
        ONE,
        "name: two, weight: 0.6, graders: " + graders("two"),
        "name: three, weight: -0.7, graders: " + graders("three"),
        top=top,
    )
    errors = [each for each in mistakes(text) if not each.startswith("warning")]
    assert errors == [f"spec.yaml:{message}"]


def test_weights_may_reach_the_ends_of_the_range_but_for_rounding(
    parsed: Callable[[str], Spec],
) -> None:
    spec = parsed(
        stages(
            "name: one, weight: 0.7, graders: " + graders("one"),
            "name: two, weight: 0.2, graders: " + graders("two"),
            "name: three, weight: 0.1, graders: " + graders("three"),
        )
    )
    assert sum(stage.weight for stage in spec.stages) != 1.0


def test_warns_of_ends_of_a_range_that_no_reward_reaches(mistakes: MistakesOf) -> None:
    text = stages(ONE, top="success: one == 1\nrange: [-1, 2]")
    assert mistakes(text) == [
        "warning: spec.yaml:4:8: `range` is -1 to 2, and no reward gets below 0.",
        "warning: spec.yaml:4:8: `range` is -1 to 2, and no reward gets above 0.5.",
    ]


def test_the_reward_of_a_gate_reaches_an_end_of_the_range(mistakes: MistakesOf) -> None:
    gate = "name: gate, gate: {below: 1, reward: -1}, graders: " + graders("gate")
    assert mistakes(stages(gate, ONE, top="success: one == 1\nrange: [-1, 0.5]")) == []


def test_a_penalty_of_a_tenth_for_each_step_can_be_said(mistakes: MistakesOf) -> None:
    text = """
        range: [-2, 1.5]
        stages:
          - {name: outcome, weight: 1.0, graders: [{use: math/same-number}]}
          - {name: tests, weight: 0.5, graders: [{use: judge/rank}]}
          - name: steps
            weight: -2
            graders: [{use: cost/steps, as: spent, options: {budget: 20}}]
    """
    assert mistakes(text) == []


@pytest.mark.parametrize(
    ("gate", "others", "floor"),
    [
        # nothing is lost past the gate
        ("gate: {below: 1, reward: 0.1}", [ONE], "0"),
        # a penalty may be due in full
        ("gate: {below: 1, reward: 0}", [ONE, "name: cost, weight: -0.3, graders: {g}"], "-0.3"),
        # what the gate itself adds to whoever passes it
        ("weight: 0.5, gate: {below: 0.4, reward: 0.25}", [ONE], "0.2"),
        ("weight: -0.5, gate: {below: 0.4, reward: -0.25}", [ONE], "-0.3"),
        # a later gate stops those who pass this one
        (
            "gate: {below: 1, reward: -0.5}",
            [ONE, "name: late, gate: {below: 1, reward: -0.7}, graders: {g}"],
            "-0.7",
        ),
        # a formula that does not go down to 0
        (
            "gate: {below: 1, reward: 0.3}",
            [ONE, "name: more, weight: 0.4, formula: 0.5 + 0.5 * x, graders: {g}"],
            "0.2",
        ),
        # an optional stage may add nothing
        (
            "gate: {below: 1, reward: 0.1}",
            [
                ONE,
                "name: more, weight: 0.4, formula: 0.5 + 0.5 * x, optional: true, graders: {g}",
            ],
            "0",
        ),
    ],
)
def test_a_gate_pays_no_more_than_passing_it_can(
    mistakes: MistakesOf, gate: str, others: list[str], floor: str
) -> None:
    first = f"name: gate, {gate}, graders: " + graders("gate")
    rest = [other.replace("{g}", graders("x")) for other in others]
    (found,) = mistakes(stages(first, *rest))
    given = gate.rpartition("reward: ")[2].rstrip("}")
    column = len("  - {name: gate, ") + gate.index("reward: ") + len("reward: ") + 1
    assert found == (
        f"spec.yaml:5:{column}: Stage `gate`: the gate gives {given}, and an attempt that passes "
        f"it may get only {floor}. Say `reward: {floor}` or less."
    )
    assert mistakes(stages(first.replace(f"reward: {given}", f"reward: {floor}"), *rest)) == []


def test_what_an_earlier_gate_adds_counts_for_a_later_one(mistakes: MistakesOf) -> None:
    text = stages(
        "name: early, weight: 0.5, gate: {below: 1, reward: 0}, graders: " + graders("early"),
        "name: late, gate: {below: 1, reward: 0.5}, graders: " + graders("late"),
        ONE,
    )
    assert mistakes(text) == []


def test_refuses_the_reward_of_a_gate_out_of_range(mistakes: MistakesOf) -> None:
    gate = "name: gate, gate: {below: 1, reward: -1.5}, graders: " + graders("gate")
    assert mistakes(stages(gate, ONE)) == [
        (
            "spec.yaml:5:43: Stage `gate`: the gate's reward -1.5 lies outside of `range`, -1 to "
            "1. Change one of them."
        )
    ]


def test_a_group_grader_may_stand_in_a_gate(parsed: Callable[[str], Spec]) -> None:
    gate = "name: gate, gate: {below: 0.5, reward: -1}, graders: " + graders("gate")
    assert parsed(stages(gate, ONE)).stages[0].entries[0].use == "judge/rank"
