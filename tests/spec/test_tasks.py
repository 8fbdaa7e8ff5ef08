from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from rewardhub.doors import FILLS
from rewardhub.host import Registry
from rewardhub.records import EMPTY, Message, Task
from rewardhub.spec import check

MistakesOf = Callable[..., list[str]]

TESTED = """
resources: {sandbox: {use: local}}
stages:
  - name: outcome
    graders: [{use: code/unit-tests}]
"""
WHERE = "Stage `outcome`, grader `unit_tests`"


def tasks(*checks: Mapping[str, object], domain: str = "") -> list[Task]:
    asked = (Message(role="user", content="write it"),)
    return [
        Task(id=f"t{number}", messages=asked, checks=check, domain=domain)
        for number, check in enumerate(checks, start=1)
    ]


def test_says_nothing_of_tasks_that_have_what_the_graders_need(mistakes: MistakesOf) -> None:
    assert mistakes(TESTED, tasks=tasks({"code": {"tests": ["assert f()"]}})) == []


def test_counts_the_tasks_that_lack_a_check(mistakes: MistakesOf) -> None:
    fine = {"code": {"tests": ["assert f()"]}}
    assert mistakes(TESTED, tasks=tasks(fine, {}, {})) == [
        (
            f"spec.yaml:6:21: {WHERE}: 2 tasks have no `checks.code` (of 3): `t2`, `t3`. "
            "`code/unit-tests` grades by it: add it, or route them elsewhere."
        )
    ]


def test_shows_three_of_many_tasks_that_lack_a_check(mistakes: MistakesOf) -> None:
    (found,) = mistakes(TESTED, tasks=tasks(*[EMPTY] * 9))
    assert "9 tasks have no `checks.code` (of 9): `t1`, `t2`, `t3`, .... " in found


def test_lacking_a_check_is_a_warning_in_an_optional_stage(mistakes: MistakesOf) -> None:
    text = TESTED.replace("outcome\n", "outcome\n    optional: true\n")
    assert mistakes(text, tasks=tasks({})) == [
        (
            f"warning: spec.yaml:7:21: {WHERE}: 1 task has no `checks.code` (of 1): `t1`. The "
            "stage, which is optional, adds 0 to their rewards."
        )
    ]


def test_says_what_is_wrong_with_a_check(mistakes: MistakesOf) -> None:
    malformed = tasks({"code": {"tests": "one"}}, {"code": {"test": []}}, {"code": 5})
    assert mistakes(TESTED, tasks=malformed) == [
        "`checks.code` of the task `t1`: `tests`: Input should be a valid list.",
        "`checks.code` of the task `t2`: `tests` is missing.",
        (
            "`checks.code` of the task `t3`: Input should be a valid dictionary or instance of "
            "CodeCheck."
        ),
    ]


def test_counts_malformed_checks_past_the_third(mistakes: MistakesOf) -> None:
    assert mistakes(TESTED, tasks=tasks(*[{"code": EMPTY}] * 5))[-1] == (
        "`checks.code` is malformed in 2 more tasks."
    )


def test_a_check_that_two_graders_read_is_malformed_once(mistakes: MistakesOf) -> None:
    text = TESTED + "  - {name: more, weight: 0, graders: [{use: code/hidden-variants}]}\n"
    assert len(mistakes(text, tasks=tasks({"code": {}}))) == 1


@pytest.fixture
def route(write: Callable[..., str]) -> str:
    head = "rewardhub: 1\nname: own/spec\n"
    write(head + TESTED.lstrip(), "tested.yaml")
    write(head + "stages: [{name: outcome, graders: [{use: judge/rank}]}]\n", "plain.yaml")
    return write(
        "rewardhub: 1\nroute: {by: task.domain, code: tested.yaml, math: plain.yaml}\n",
        "route.yaml",
    )


def test_each_task_is_checked_by_the_spec_that_it_is_routed_to(
    route: str, registry: Registry
) -> None:
    every = [*tasks({}, domain="math"), *tasks({}, domain="code")]
    assert [str(mistake) for mistake in check(route, registry, tasks=every).mistakes] == [
        (
            f"tested.yaml:6:21: {WHERE}: 1 task has no `checks.code` (of 2): `t1`. "
            "`code/unit-tests` grades by it: add it, or route them elsewhere."
        )
    ]


def test_refuses_a_route_without_a_default_that_some_tasks_do_not_find(
    route: str, registry: Registry
) -> None:
    every = [*tasks({}, domain="math"), *tasks({}, {}, domain="art")]
    assert [str(mistake) for mistake in check(route, registry, tasks=every).errors] == [
        (
            "route.yaml:2:8: 2 tasks have `task.domain` `art`, which the route does not list "
            "(`t1`, `t2`). Add a line for it, or a `default`."
        )
    ]


def test_a_route_without_a_default_is_fine_if_every_task_finds_its_spec(
    route: str, registry: Registry
) -> None:
    assert check(route, registry, tasks=tasks({}, domain="math")).mistakes == ()


def test_a_route_to_a_broken_spec_is_not_also_missing(
    route: str, registry: Registry, write: Callable[..., str]
) -> None:
    write("rewardhub: 1\n", "plain.yaml")
    found = check(route, registry, tasks=tasks({}, domain="math")).errors
    assert {mistake.file for mistake in found} == {"plain.yaml"}


CALLS = "stages: [{name: outcome, graders: [{use: agent/valid-calls}]}]\n"


@pytest.mark.parametrize("door", ["http", "function"])
def test_refuses_a_grader_that_reads_what_the_door_does_not_fill(
    mistakes: MistakesOf, door: str
) -> None:
    assert mistakes(CALLS, fills=FILLS[door]) == [
        (
            "spec.yaml:3:42: Stage `outcome`, grader `valid_calls`: `agent/valid-calls` reads "
            "`steps.tool_calls`, which this door does not fill. Use another door, or a grader that "
            "does without."
        )
    ]


@pytest.mark.parametrize("door", ["offline", "agent"])
def test_takes_any_grader_where_the_door_fills_everything(mistakes: MistakesOf, door: str) -> None:
    assert mistakes(CALLS, fills=FILLS[door]) == []


def test_checks_tasks_and_door_also_where_the_file_has_mistakes(mistakes: MistakesOf) -> None:
    found = mistakes(
        TESTED + "  - {name: more, graders: [{use: agent/valid-calls}], weight: x}\n",
        tasks=tasks({}),
        fills=FILLS["http"],
    )
    assert [each.split(":")[1] for each in found] == ["6", "7", "7"]
