from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.contracts import Limits
from rewardhub.host import Registry, registry_of
from rewardhub.spec import Spec, Training, check

MistakesOf = Callable[..., list[str]]

# The shape of the sample in the design, with stand-in graders.
STAGED = """
version: 3
range: [-1, 1]
success: passed == 1
resources:
  sandbox: {use: local}
  judge: {use: openai, model: any, api_key: {env: JUDGE_KEY}, max_calls: 20000}
stages:
  - name: format
    gate: {below: 1.0, reward: -1.0}
    graders: [{use: rules/code-block}]
  - name: process
    weight: 0.2
    steps: mean
    graders:
      - {use: agent/valid-calls}
      - {use: prm/steps, weight: 2, options: {preset: shepherd}}
  - name: outcome
    weight: 0.7
    graders:
      - {use: code/unit-tests, as: passed, options: {timeout: 10}}
      - {use: judge/criteria, as: style, weight: 0.3, when: passed == 1}
  - name: robustness
    weight: 0.1
    graders: [{use: code/hidden-variants}]
  - name: cost
    weight: -0.1
    graders: [{use: cost/steps, as: spent, options: {budget: 20}}]
credit: spread
training: {unscored_reward: 0.1, stop_above: 0.25}
"""


@pytest.fixture
def staged(parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv("JUDGE_KEY", "k")
    return parsed(STAGED)


def test_a_spec_like_the_one_in_the_design_has_no_mistake(
    mistakes: MistakesOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k")
    assert mistakes(STAGED) == []


def test_keeps_what_the_file_says(staged: Spec) -> None:
    assert (staged.name, staged.version, staged.range) == ("own/spec", "3", (-1.0, 1.0))
    assert (staged.credit, staged.file) == ("spread", "spec.yaml")
    assert staged.training == Training(unscored_reward=0.1, stop_above=0.25)
    assert [stage.weight for stage in staged.stages] == [0.0, 0.2, 0.7, 0.1, -0.1]
    assert [entry.weight for entry in staged.entries] == [1, 1, 2, 1, 0.3, 1, 1]


def test_keeps_a_form_that_can_be_loaded_again(staged: Spec, registry: Registry) -> None:
    again = check(staged.raw, registry)
    assert again.spec is not None
    assert again.spec.digest == staged.digest


def test_an_id_is_the_last_part_of_the_name_with_underscores(staged: Spec) -> None:
    assert [entry.id for entry in staged.entries] == [
        "code_block", "valid_calls", "steps", "passed", "style", "hidden_variants", "spent"
    ]  # fmt: skip


def test_every_entry_knows_its_line(staged: Spec) -> None:
    assert [entry.line for entry in staged.entries] == [12, 17, 18, 22, 23, 26, 29]
    assert [stage.line for stage in staged.stages] == [10, 13, 19, 24, 27]


def test_the_limits_of_an_entry_are_those_of_its_card_unless_said(
    parsed: Callable[[str], Spec],
) -> None:
    spec = parsed(
        "stages: [{name: outcome, graders: "
        "[{use: judge/rank, limits: {cpu_seconds: 2, memory_mb: null}}]}]"
    )
    (entry,) = spec.entries
    assert entry.limits == Limits(cpu_seconds=2, wall_seconds=60, memory_mb=None)


def test_limits_are_part_of_the_digest(parsed: Callable[[str], Spec]) -> None:
    text = "stages: [{name: outcome, graders: [{use: judge/rank, limits: {cpu_seconds: %d}}]}]"
    assert parsed(text % 1).digest != parsed(text % 2).digest


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "use: math/same-nmber",
            (
                "3:42: No grader is called `math/same-nmber` (spec.yaml, stage `outcome`). Did you "
                "mean `math/same-number`?"
            ),
        ),
        (
            "use: math/2d",
            (
                "3:42: Stage `outcome`, grader `2d`: `2d` cannot be an id: an id is letters, "
                "digits and `_`, begins with no digit, and is no word of the language (and, or, "
                "not, true, false, min, max, abs). Say `as: part_2d`."
            ),
        ),
        (
            "use: math/same-number, as: max",
            (
                "3:64: Stage `outcome`, grader `max`: `max` cannot be an id: an id is letters, "
                "digits and `_`, begins with no digit, and is no word of the language (and, or, "
                "not, true, false, min, max, abs). Say `as: part_max`."
            ),
        ),
        (
            "use: math/same-number, as: a-b",
            (
                "3:64: Stage `outcome`, grader `a-b`: `a-b` cannot be an id: an id is letters, "
                "digits and `_`, begins with no digit, and is no word of the language (and, or, "
                "not, true, false, min, max, abs). Say `as: a_b`."
            ),
        ),
        ("as: same", "3:36: Stage `outcome`, grader `same`: A grader entry needs `use`."),
        (
            "use: [a]",
            "3:42: Stage `outcome`, grader 1: `use` must be text, not a list.",
        ),
    ],
)
def test_explains_what_an_entry_cannot_be(mistakes: MistakesOf, entry: str, message: str) -> None:
    text = f"success: other == 1\nstages: [{{name: outcome, graders: [{{{entry}}}]}}]\n"
    found = [each for each in mistakes(text.partition("\n")[2]) if "what success is" not in each]
    assert found == [f"spec.yaml:{message}"]


def test_a_mapping_names_the_stage_in_place_of_a_line(registry: Registry) -> None:
    spec = {
        "rewardhub": 1,
        "name": "own/spec",
        "stages": [{"name": "outcome", "graders": [{"use": "math/same-nmber", "weight": 0}]}],
    }
    assert [str(mistake) for mistake in check(spec, registry).mistakes] == [
        "Stage `outcome`, grader `same_nmber`: `weight` must be above 0, not 0.",
        "No grader is called `math/same-nmber` (stage `outcome`). Did you mean `math/same-number`?",
    ]


def test_names_the_broken_pack_that_may_own_a_grader(
    mistakes: MistakesOf, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    broken = replace(registry.plugins[0], name="gone", error="Traceback\nImportError: no gone")
    monkeypatch.setattr(registry, "plugins", (*registry.plugins, broken))
    found = mistakes("stages: [{name: outcome, graders: [{use: gone/away}]}]")
    assert "the plugin rewardhub-core (gone) is broken: ImportError: no gone" in found[0]


def test_finds_the_mistakes_of_every_piece_at_once(mistakes: MistakesOf) -> None:
    found = mistakes(
        """
        credit: first
        success: pased == 1
        resources:
          sandbox: {use: lcal}
        stages:
          - name: format
            gate: {below: 1, reward: none}
            graders: [{use: rules/code-blck}]
          - name: outcome
            wieght: 0.7
            graders:
              - {use: code/unit-tests, as: passed, options: {timeout: long}}
              - {use: judge/rank, when: later == 1}
          - name: cost
            weight: -2
            graders: [{use: cost/steps, as: later, optional: true}]
        """
    )
    assert [each.split(":")[1] for each in found] == [
        "3", "4", "6", "9", "10", "12", "14", "15", "18"
    ]  # fmt: skip


def test_a_registry_without_graders_is_no_crash(registry: Registry) -> None:
    spec = {"rewardhub": 1, "name": "x", "stages": [{"name": "a", "graders": [{"use": "a/b"}]}]}
    assert not check(spec, registry_of()).spec
