"""Every kind of mistake in the shape of a reward file, as a whole message with its line."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated

import pytest
from pydantic import Field, field_validator

from rewardhub.contracts import Options
from rewardhub.spec.explain import Subject, validated
from rewardhub.spec.marks import Mistakes
from rewardhub.spec.source import node_of

MistakesOf = Callable[..., list[str]]
STAGES = "stages: [{name: outcome, graders: [{use: math/same-number, %s}]}]\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("credt: last", "3:1: A spec has no `credt`. Did you mean `credit`?"),
        (
            "zzz: 1",
            ("3:1: A spec has no `zzz`. Known: `rewardhub`, `extends`, `name`, `version`, `range`, "
            "`success`, `resources`, `stages`, `credit`, `training`."),
        ),
        ("<<: {credit: last}",
         "3:1: `<<` is not in YAML 1.2. Repeat the lines, or use `extends`."),
        ("credit: lst", ("3:9: `credit` must be `last` or `spread`, not the text `lst`. Did you "
         "mean `last`?")),
        ("success: true", "3:10: `success` must be text, not `true`."),
        ("version: [1]",
         "3:10: `version` must be text or a whole number or a number, not a list."),
        ("range: -1", "3:8: `range` must be a list, not -1."),
        ("range: [-1]", "3:8: `range` must have more than 1 item."),
        ("range: [-1, 0, 1]", "3:8: `range` must have at most 2 items."),
        ("range: [-1, one]", "3:13: `range.1` must be a number, not the text `one`."),
        ("range: [1, -1]", "3:8: `range` goes from low to high, not from 1 to -1."),
        ("resources: [a]", "3:12: `resources` must be a mapping, not a list."),
        ("training: 5", "3:11: `training` must be a mapping, not 5."),
        ("training: {stop_above: 0}", "3:24: `training.stop_above` must be above 0, not 0."),
        ("training: {stop_above: 1.5}",
         "3:24: `training.stop_above` must be at most 1, not 1.5."),
        ("training: {unscored: 0}", "3:12: `training` has no `unscored`."),
        ("training: {unscored_reward: null}",
         "3:29: `training.unscored_reward` must be a number, not null."),
        (
            "training: {unscored_reward: -2}",
            "3:29: `training.unscored_reward` is -2, and `range` is -1 to 1. Set it inside.",
        ),
    ],
)  # fmt: skip
def test_explains_the_file_itself(mistakes: MistakesOf, line: str, message: str) -> None:
    assert mistakes(f"{line}\n" + STAGES % "weight: 1") == [f"spec.yaml:{message}"]


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        ("", ["1:1: A spec needs `stages`."]),
        ("stages: []\n", ["3:9: `stages` must have at least 1 item."]),
        ("stages: {outcome: 1}\n", ["3:9: `stages` must be a list, not a mapping."]),
        ("stages: [outcome]\n", ["3:10: Stage 1 must be a mapping, not the text `outcome`."]),
        (
            "stages: [{name: outcome, graders: []}]\n",
            ["3:35: Stage `outcome`: `graders` must have at least 1 item."],
        ),
        (
            "stages: [{name: outcome, graders: math/same-number}]\n",
            ["3:35: Stage `outcome`: `graders` must be a list, not the text `math/same-number`."],
        ),
        ("stages: [{name: outcome}]\n", ["3:10: Stage `outcome`: A stage needs `graders`."]),
        (
            "success: same_number == 1\nstages: [{graders: [{use: math/same-number}]}]\n",
            ["4:10: Stage 1: A stage needs `name`."],
        ),
        (
            ("success: same_number == 1\nstages: [{name: a b, graders: [{use: "
            "math/same-number}]}]\n"),
            [
                ("4:17: Stage `a b`: `name` must be text that matches "
                "`^[A-Za-z0-9][A-Za-z0-9_.-]*$`, not the text `a b`.")
            ],
        ),
        (
            "stages: [{name: outcome, graders: [math/same-number]}]\n",
            [
                ("3:36: Stage `outcome`, grader 1 must be a mapping, not the text "
                "`math/same-number`.")
            ],
        ),
        (
            "stages: [{name: outcome, wieght: 1, graders: [{use: math/same-number}]}]\n",
            ["3:26: Stage `outcome`: A stage has no `wieght`. Did you mean `weight`?"],
        ),
        (
            ("stages: [{name: outcome, gate: {belw: 1, reward: 0}, graders: "
            "[{use: math/same-number}]}]\n"),
            [
                "3:32: Stage `outcome`: A stage needs `gate.below`.",
                "3:33: Stage `outcome`: `gate` has no `belw`.",
            ],
        ),
        (
            ("stages: [{name: outcome, gate: {below: 1.5, reward: 0}, graders: "
            "[{use: math/same-number}]}]\n"),
            ["3:40: Stage `outcome`: `gate.below` must be at most 1, not 1.5."],
        ),
        (
            "stages: [{name: outcome, steps: sum, graders: [{use: math/same-number}]}]\n",
            [
                ("3:33: Stage `outcome`: `steps` must be `mean`, `min`, `last` or `product`, not "
                "the text `sum`.")
            ],
        ),
    ],
)  # fmt: skip
def test_explains_stages(mistakes: MistakesOf, lines: str, messages: list[str]) -> None:
    assert mistakes(lines) == [f"spec.yaml:{message}" for message in messages]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("wieght: 2", "3:60: {}: A grader entry has no `wieght`. Did you mean `weight`?"),
        ("as: ''", "3:64: {}: `as` must have at least 1 character."),
        ("weight: 0", "3:68: {}: `weight` must be above 0, not 0."),
        ("weight: -1", "3:68: {}: `weight` must be above 0, not -1."),
        ("weight: '2'", "3:68: {}: `weight` must be a number, not the text `2`."),
        (
            "optional: yes",
            (
                "3:70: {}: `optional` must be true or false, not the text `yes`. In YAML 1.2 only "
                "`true` and `false` are."
            ),
        ),
        ("when: 1", "3:66: {}: `when` must be text, not 1."),
        ("options: [a]", "3:69: {}: `options` must be a mapping, not a list."),
        ("bind: {sandbox: 1}", "3:76: {}: `bind.sandbox` must be text or a list, not 1."),
        ("limits: {cpu_seconds: 0}", "3:82: {}: `limits.cpu_seconds` must be above 0, not 0."),
        (
            "limits: {memory_mb: 1.5}",
            "3:80: {}: `limits.memory_mb` must be a whole number, not 1.5.",
        ),
    ],
)
def test_explains_grader_entries(mistakes: MistakesOf, field: str, message: str) -> None:
    where = "Stage `outcome`, grader `same_number`"
    found = [text for text in mistakes(STAGES % field) if ": `bind`:" not in text]
    assert found == [f"spec.yaml:{message.format(where)}"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("bugdet: 3", "8:11: {}: `cost/steps` has no option `bugdet`. Did you mean `budget`?"),
        (
            "zzz: 3",
            (
                "8:11: {}: `cost/steps` has no option `zzz`. Known: `budget`, `unit`, `strict`, "
                "`weights`."
            ),
        ),
        ('budget: "3"', "8:19: {}: `budget` must be a whole number, not the text `3`."),
        ("budget: 3.5", "8:19: {}: `budget` must be a whole number, not 3.5."),
        ("budget: null", "8:19: {}: `budget` must be a whole number, not null."),
        (
            "unit: step",
            (
                "8:17: {}: `unit` must be `steps` or `turns`, not the text `step`. Did you mean "
                "`steps`?"
            ),
        ),
        ("strict: 1", "8:19: {}: `strict` must be true or false, not 1."),
        ("weights: [1, two]", "8:24: {}: `weights.1` must be a number, not the text `two`."),
    ],
)
def test_explains_options_at_their_own_line(
    mistakes: MistakesOf, options: str, message: str
) -> None:
    text = f"""
        stages:
          - name: outcome
            graders:
              - use: cost/steps
                options:
                  {options}
    """
    where = "Stage `outcome`, grader `steps`"
    assert mistakes(text) == [f"spec.yaml:{message.format(where)}"]


def test_says_which_option_is_missing(mistakes: MistakesOf) -> None:
    assert mistakes("stages: [{name: outcome, graders: [{use: prm/steps}]}]") == [
        "spec.yaml:3:36: Stage `outcome`, grader `steps`: `prm/steps` needs the option `preset`."
    ]


def test_says_that_a_grader_has_no_options_at_all(mistakes: MistakesOf) -> None:
    assert mistakes(STAGES % "options: {limit: 1}") == [
        (
            "spec.yaml:3:70: Stage `outcome`, grader `same_number`: `math/same-number` has no "
            "option `limit`. It has no option at all."
        )
    ]


class Colour(Enum):
    RED = "red"


class Odd(Options):
    either: int | str = 0
    nested: dict[str, tuple[int, ...]] = Field(default_factory=dict[str, tuple[int, ...]])
    colour: Colour = Colour.RED
    short: Annotated[str, Field(min_length=2)] = "ab"
    even: int = 0

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value == 13:
            raise KeyError("a bug of the author")
        if value % 2:
            raise ValueError("an odd number is not even")
        return value


def explained(options: dict[str, object]) -> list[str]:
    mistakes = Mistakes()
    validated(Odd, node_of(options), Subject("", "`odd/one`", "option "), mistakes)
    return [str(mistake) for mistake in mistakes.found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"either": [1]}, "`either` must be a whole number or text, not a list."),
        ({"nested": {"a": [1, "b"]}}, "`nested.a.1` must be a whole number, not the text `b`."),
        ({"colour": "blue"}, "`colour` must be `red`, not the text `blue`."),
        ({"short": "a"}, "`short` must have at least 2 characters."),
        ({"even": 3}, "`even`: an odd number is not even"),
        ({"even": 13}, "`odd/one` refuses its options: KeyError: 'a bug of the author'"),
        ({"either": "x" * 99, "short": 5}, "`short` must be text, not 5."),
    ],
)
def test_explains_what_authors_ask_of_their_options(
    options: dict[str, object], message: str
) -> None:
    assert explained(options) == [message]


def test_shortens_long_text() -> None:
    assert explained({"even": "x" * 99}) == [
        f"`even` must be a whole number, not the text `{'x' * 37}...`."
    ]


def test_takes_what_json_holds_in_strict_types() -> None:
    mistakes = Mistakes()
    options = {"nested": {"a": [1, 2]}, "colour": "red"}
    odd = validated(Odd, node_of(options), Subject("", "`odd/one`"), mistakes)
    assert odd is not None
    assert odd.nested == {"a": (1, 2)}
    assert odd.colour is Colour.RED
