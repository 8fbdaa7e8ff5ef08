from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rewardhub.errors import SpecError
from rewardhub.host import Card, Registry, SpecCard, registry_of
from rewardhub.spec import Spec, check, load
from rewardhub.spec.extends import read_source
from rewardhub.spec.marks import Mistakes

Write = Callable[..., str]

PARENT = """
rewardhub: 1
name: base/spec
success: same == 1
training: {unscored_reward: -0.5, stop_above: 0.1}
resources:
  sandbox: {use: local, level: 2}
stages:
  - name: format
    gate: {below: 1, reward: -1}
    graders: [{use: rules/code-block}]
  - name: answer
    weight: 0.8
    graders:
      - {use: math/same-number, as: same}
      - {use: code/unit-tests, as: tests, weight: 2, options: {timeout: 5}}
  - name: cost
    weight: -0.1
    graders: [{use: cost/steps, options: {budget: 9, unit: turns}}]
"""


@pytest.fixture
def parent(write: Write) -> str:
    return write(PARENT, "parent.yaml")


@pytest.fixture
def child(write: Write, parent: str, registry: Registry) -> Callable[[str], Spec]:
    def load_child(text: str) -> Spec:
        spec = load(write(f"rewardhub: 1\nextends: {parent}\n{text}", "child.yaml"), registry)
        assert isinstance(spec, Spec)
        return spec

    return load_child


@pytest.fixture
def refusals(write: Write, parent: str, registry: Registry) -> Callable[[str], list[str]]:
    def mistakes_of(text: str) -> list[str]:
        name = write(f"rewardhub: 1\nextends: {parent}\n{text}", "child.yaml")
        return [str(mistake) for mistake in check(name, registry).errors]

    return mistakes_of


def names(spec: Spec) -> list[str]:
    return [stage.name for stage in spec.stages]


def test_a_child_without_changes_is_its_parent(
    child: Callable[[str], Spec], parent: str, registry: Registry
) -> None:
    base = load(parent, registry)
    assert child("").digest == base.digest


def test_mappings_merge(child: Callable[[str], Spec]) -> None:
    spec = child("name: own/spec\ntraining: {stop_above: 0.3}\n")
    assert (spec.name, spec.training.unscored_reward, spec.training.stop_above) == (
        "own/spec", -0.5, 0.3
    )  # fmt: skip


def test_stages_merge_by_name_and_graders_by_id(child: Callable[[str], Spec]) -> None:
    spec = child(
        "stages: [{name: answer, weight: 0.5, graders: [{as: tests, options: {timeout: 9}}]}]"
    )
    answer = spec.stages[1]
    assert answer.weight == 0.5
    assert [(entry.id, entry.weight) for entry in answer.entries] == [("same", 1), ("tests", 2)]
    assert answer.entries[1].grader.model_dump() == {"timeout": 9.0}


def test_a_grader_without_as_merges_by_the_last_part_of_its_name(
    child: Callable[[str], Spec],
) -> None:
    spec = child("stages: [{name: cost, graders: [{use: cost/steps, options: {budget: 4}}]}]")
    (entry,) = spec.stages[2].entries
    assert entry.grader.model_dump(include={"budget", "unit"}) == {"budget": 4, "unit": "turns"}


def test_null_takes_out_a_key(child: Callable[[str], Spec]) -> None:
    spec = child("stages: [{name: format, gate: null, weight: 0.2}]\ntraining: null\n")
    assert spec.stages[0].gate is None
    assert spec.training.stop_above == 0.2


def test_null_takes_out_an_option_so_that_its_default_holds(child: Callable[[str], Spec]) -> None:
    spec = child("stages: [{name: cost, graders: [{as: steps, options: {budget: null}}]}]")
    assert spec.stages[2].entries[0].grader.model_dump()["budget"] == 20


def test_null_takes_out_a_stage_and_a_grader(child: Callable[[str], Spec]) -> None:
    spec = child("stages: [cost: null, {name: answer, graders: [tests: null]}]\nresources: null\n")
    assert names(spec) == ["format", "answer"]
    assert [entry.id for entry in spec.stages[1].entries] == ["same"]


def test_new_stages_go_to_the_end(child: Callable[[str], Spec]) -> None:
    spec = child("stages: [{name: more, weight: 0.1, graders: [{use: judge/rank}]}]")
    assert names(spec) == ["format", "answer", "cost", "more"]


def test_before_finds_a_place_for_new_and_known_stages(child: Callable[[str], Spec]) -> None:
    spec = child(
        "stages:\n"
        "  - {name: more, before: answer, weight: 0.1, graders: [{use: judge/rank}]}\n"
        "  - {name: cost, before: format}\n"
    )
    assert names(spec) == ["cost", "format", "more", "answer"]


def test_another_grader_does_not_take_over_the_options_of_the_one_it_replaces(
    child: Callable[[str], Spec],
) -> None:
    spec = child("stages: [{name: answer, graders: [{as: tests, use: math/same-number}]}]")
    tests = spec.stages[1].entries[1]
    assert (tests.use, tests.weight) == ("math/same-number", 2)


def test_another_resource_does_not_take_over_the_options_of_the_one_it_replaces(
    child: Callable[[str], Spec],
) -> None:
    changed = child("resources: {sandbox: {use: docker}}")
    assert changed.resources["sandbox"].options == {"level": 1}


def test_the_same_resource_keeps_its_other_options(child: Callable[[str], Spec]) -> None:
    changed = child("resources: {sandbox: {max_concurrency: 3}}").resources["sandbox"]
    assert (changed.use, changed.options, changed.max_concurrency) == ("local", {"level": 2}, 3)


def test_a_parent_is_found_from_the_folder_of_its_child(write: Write, registry: Registry) -> None:
    write(PARENT, "shared/base.yaml")
    write("rewardhub: 1\nextends: ../shared/base.yaml\n", "deep/middle.yaml")
    name = write("rewardhub: 1\nextends: deep/middle.yaml\nname: own/spec\n")
    assert load(name, registry).digest != ""


def test_a_parent_may_be_a_shipped_spec(write: Write, parent: str, cards: tuple[Card, ...]) -> None:
    registry = registry_of(*cards, SpecCard(name="base/spec", path=Path(parent)))
    name = write("rewardhub: 1\nextends: base/spec\nname: own/spec\n")
    spec = load(name, registry)
    assert isinstance(spec, Spec)
    assert names(spec) == ["format", "answer", "cost"]


def test_a_mapping_may_extend_a_file(parent: str, registry: Registry) -> None:
    spec = load({"rewardhub": 1, "extends": parent, "credit": "spread"}, registry)
    assert isinstance(spec, Spec)
    assert spec.credit == "spread"


def test_a_mistake_of_the_parent_points_into_the_parent(write: Write, registry: Registry) -> None:
    write(PARENT.replace("weight: 0.8", "weight: high"), "parent.yaml")
    name = write("rewardhub: 1\nextends: parent.yaml\ncredit: first\n", "child.yaml")
    assert [str(mistake) for mistake in check(name, registry).errors] == [
        "child.yaml:3:9: `credit` must be `last` or `spread`, not the text `first`.",
        "parent.yaml:12:13: Stage `answer`: `weight` must be a number, not the text `high`.",
    ]


def test_refuses_to_take_out_what_is_not_there(refusals: Callable[[str], list[str]]) -> None:
    assert refusals("stages: [costs: null, {name: answer, graders: [test: null]}]\n") == [
        "child.yaml:3:10: There is no stage `costs` to take out. Did you mean `cost`?",
        "child.yaml:3:48: There is no grader `test` to take out. Did you mean `tests`?",
    ]


def test_refuses_a_place_before_nothing(refusals: Callable[[str], list[str]]) -> None:
    assert refusals("stages: [{name: cost, before: answr}, {name: answer, before: answer}]\n") == [
        (
            "child.yaml:3:31: `before` names another stage, and none is called `answr`. Did you "
            "mean `answer`?"
        ),
        "child.yaml:3:62: `before` names another stage, and none is called `answer`.",
    ]


def test_refuses_before_in_a_file_without_a_parent(
    mistakes: Callable[..., list[str]],
) -> None:
    found = mistakes("stages: [{name: outcome, before: x, graders: [{use: math/same-number}]}]")
    assert found == [
        (
            "spec.yaml:3:26: `before` finds a place among the stages of a parent, and this file "
            "extends none. Move the stage to its place."
        )
    ]


def test_refuses_a_parent_that_is_missing(write: Write, registry: Registry, parent: str) -> None:
    name = write("rewardhub: 1\nextends: parnt.yaml\n", "child.yaml")
    assert [str(mistake) for mistake in check(name, registry).mistakes] == [
        "child.yaml:2:10: `extends: parnt.yaml`: There is no such file. Did you mean `parent.yaml`?"
    ]


def test_refuses_a_parent_that_is_no_shipped_spec(write: Write, registry: Registry) -> None:
    name = write("rewardhub: 1\nextends: base/spec\n")
    assert [str(mistake) for mistake in check(name, registry).mistakes] == [
        (
            "spec.yaml:2:10: `extends: base/spec`: No spec is called `base/spec`. A file is named "
            "with its ending: `base/spec.yaml`."
        )
    ]


def test_shows_a_parent_that_is_no_yaml_where_it_is_none(write: Write, registry: Registry) -> None:
    write("a: b: c\n", "parent.yaml")
    name = write("rewardhub: 1\nextends: parent.yaml\n")
    assert [str(mistake) for mistake in check(name, registry).mistakes] == [
        (
            "parent.yaml:1:5: This is no YAML: mapping values are not allowed here. Text with `: ` "
            "in it needs quotes."
        )
    ]


def test_refuses_several_parents(write: Write, registry: Registry) -> None:
    name = write("rewardhub: 1\nextends: [a.yaml, b.yaml]\n")
    assert [str(mistake) for mistake in check(name, registry).mistakes] == [
        "spec.yaml:2:10: `extends` names one parent, a file or a shipped spec, not a list."
    ]


def test_refuses_parents_in_a_circle(write: Write, registry: Registry) -> None:
    write("rewardhub: 1\nextends: b.yaml\n", "a.yaml")
    write("rewardhub: 1\nextends: a.yaml\n", "b.yaml")
    assert [str(mistake) for mistake in check("a.yaml", registry).mistakes] == [
        "b.yaml:2:10: `extends` goes in a circle: a.yaml -> b.yaml -> a.yaml. Take one of them out."
    ]


def test_refuses_to_extend_a_route(write: Write, registry: Registry) -> None:
    write("rewardhub: 1\nroute: {by: task.domain, default: x.yaml}\n", "route.yaml")
    name = write("rewardhub: 1\nextends: route.yaml\nname: own/spec\n")
    assert "spec.yaml:2:1: A route neither extends nor is extended; its specs may." in [
        str(mistake) for mistake in check(name, registry).mistakes
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "rewardhub: 2",
            (
                "spec.yaml:1:12: The file is in format 2, and this rewardhub reads format 1. "
                "Install a newer one: `pip install --upgrade rewardhub-core`."
            ),
        ),
        ("rewardhub: 0", "spec.yaml:1:12: There is no format 0: `rewardhub: 1`."),
        (
            "rewardhub: '1'",
            "spec.yaml:1:12: `rewardhub` must be the version of the format, 1, not the text `1`.",
        ),
        (
            "credit: last",
            "spec.yaml:1:1: The version of the format is missing. Begin with `rewardhub: 1`.",
        ),
    ],
)
def test_refuses_another_format(
    mistakes: Callable[..., list[str]], line: str, message: str
) -> None:
    body = "name: own/spec\nstages: [{name: outcome, graders: [{use: math/same-number}]}]\n"
    assert mistakes(body, head=f"{line}\n") == [message]


def test_reads_nothing_of_a_newer_format(registry: Registry) -> None:
    with pytest.raises(SpecError, match="reads format 1"):
        read_source({"rewardhub": 7, "unheard": "of"}, registry, Mistakes())


def test_refuses_a_name_that_is_neither_file_nor_spec(registry: Registry) -> None:
    assert str(check("math/strict", registry).mistakes[0]) == (
        "No spec is called `math/strict`. A file is named with its ending: `math/strict.yaml`."
    )
