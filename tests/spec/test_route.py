from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.host import Card, Registry, SpecCard, registry_of
from rewardhub.records import Message, Task
from rewardhub.spec import Route, check, load

Write = Callable[..., str]

STRICT = """
rewardhub: 1
name: math/strict
stages: [{name: outcome, graders: [{use: math/same-number}]}]
"""
LOOSE = STRICT.replace("math/strict", "math/loose").replace("same-number", "same-number, as: s")


@pytest.fixture(autouse=True)
def specs(write: Write) -> None:
    write(STRICT, "specs/strict.yaml")
    write(LOOSE, "specs/loose.yaml")


@pytest.fixture
def routed(write: Write, registry: Registry) -> Callable[[str], Route]:
    def route_of(text: str) -> Route:
        route = load(write(f"rewardhub: 1\nroute: {text}\n", "route.yaml"), registry)
        assert isinstance(route, Route)
        return route

    return route_of


@pytest.fixture
def refusals(write: Write, registry: Registry) -> Callable[[str], list[str]]:
    def mistakes_of(text: str) -> list[str]:
        name = write(f"rewardhub: 1\nroute: {text}\n", "route.yaml")
        return [str(mistake) for mistake in check(name, registry).errors]

    return mistakes_of


def task(**fields: Any) -> Task:
    return Task(messages=(Message(role="user", content="2+2?"),), **fields)


def test_a_task_goes_where_its_field_leads(routed: Callable[[str], Route]) -> None:
    route = routed("{by: task.domain, math: specs/strict.yaml, default: specs/loose.yaml}")
    math, other = route.spec_for(task(domain="math")), route.spec_for(task(domain="art"))
    assert math is not None
    assert other is not None
    assert (math.name, other.name) == ("math/strict", "math/loose")


def test_a_field_may_stand_inside_of_metadata(routed: Callable[[str], Route]) -> None:
    route = routed("{by: task.metadata.level, 1: specs/strict.yaml, default: specs/loose.yaml}")
    first = route.spec_for(task(metadata={"level": 1}))
    assert first is not None
    assert first.name == "math/strict"


def test_a_spec_that_is_named_twice_is_loaded_once(routed: Callable[[str], Route]) -> None:
    route = routed(
        "{by: task.domain, math: specs/strict.yaml, art: ./specs/strict.yaml, "
        "default: specs/strict.yaml}"
    )
    assert len(route.all_specs) == 1


def test_a_route_may_lead_to_shipped_specs(write: Write, cards: tuple[Card, ...]) -> None:
    registry = registry_of(*cards, SpecCard(name="math/strict", path=Path("specs/strict.yaml")))
    name = write("rewardhub: 1\nroute: {by: task.domain, default: math/strict}\n", "route.yaml")
    route = load(name, registry)
    assert isinstance(route, Route)
    assert route.default is not None
    assert route.default.name == "math/strict"


def test_paths_are_relative_to_the_route(write: Write, registry: Registry) -> None:
    name = write("rewardhub: 1\nroute: {by: task.domain, default: strict.yaml}\n", "specs/r.yaml")
    assert isinstance(load(name, registry), Route)


def test_keeps_a_form_that_can_be_loaded_again(
    routed: Callable[[str], Route], registry: Registry
) -> None:
    route = routed("{by: task.domain, math: specs/strict.yaml, default: specs/loose.yaml}")
    assert load(route.raw, registry).digest == route.digest


def test_a_spec_may_stand_in_place_of_its_name(routed: Callable[[str], Route]) -> None:
    inline = "{rewardhub: 1, extends: specs/strict.yaml, name: own/one}"
    route = routed(f"{{by: task.domain, math: {inline}, default: specs/loose.yaml}}")
    assert route.specs["math"].name == "own/one"


def test_a_mistake_of_a_spec_points_into_the_spec(
    write: Write, refusals: Callable[[str], list[str]]
) -> None:
    write(STRICT.replace("same-number", "same-nmber"), "specs/strict.yaml")
    assert refusals("{by: task.domain, math: specs/strict.yaml, default: specs/strict.yaml}") == [
        (
            "specs/strict.yaml:3:42: No grader is called `math/same-nmber` (strict.yaml, stage "
            "`outcome`). Did you mean `math/same-number`?"
        )
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[math]", "2:8: `route` must be a mapping, not a list."),
        (
            "{math: specs/strict.yaml, default: specs/strict.yaml}",
            "2:8: `route` needs `by`, the field that decides: `by: task.domain`.",
        ),
        (
            "{by: task.domian, default: specs/strict.yaml}",
            (
                "2:13: `by` names a field of the task, as `task.domain` or `task.metadata.level`, "
                "not the text `task.domian`. Did you mean `domain`?"
            ),
        ),
        (
            "{by: task.domain.x, default: specs/strict.yaml}",
            (
                "2:13: `by` names a field of the task, as `task.domain` or `task.metadata.level`, "
                "not the text `task.domain.x`."
            ),
        ),
        (
            "{by: 1, default: specs/strict.yaml}",
            (
                "2:13: `by` names a field of the task, as `task.domain` or `task.metadata.level`, "
                "not 1."
            ),
        ),
        (
            "{by: task.domain, math: 1, default: specs/strict.yaml}",
            "2:32: `math` leads to a spec, a file or a shipped one, not to 1.",
        ),
        (
            "{by: task.domain, math: specs/strct.yaml, default: specs/strict.yaml}",
            (
                "2:32: `math: specs/strct.yaml`: There is no such file. Did you mean `strict.yaml` "
                "or `loose.yaml`?"
            ),
        ),
        (
            "{by: task.domain, math: math/strct, default: specs/strict.yaml}",
            (
                "2:32: `math: math/strct`: No spec is called `math/strct`. A file is named with "
                "its ending: `math/strct.yaml`."
            ),
        ),
        (
            "{by: task.domain, default: route.yaml}",
            "2:35: `default` leads to a route, and a route leads to specs only.",
        ),
    ],
)
def test_explains_routes(refusals: Callable[[str], list[str]], text: str, message: str) -> None:
    assert refusals(text) == [f"route.yaml:{message}"]


def test_refuses_further_keys_beside_the_route(write: Write, registry: Registry) -> None:
    name = write(
        "rewardhub: 1\nname: x\nroute: {by: task.domain, default: specs/strict.yaml}\n",
        "route.yaml",
    )
    assert [str(mistake) for mistake in check(name, registry).errors] == [
        "route.yaml:2:1: A route has no `name`. Known: `rewardhub`, `route`."
    ]


def test_warns_of_a_route_without_a_default(write: Write, registry: Registry) -> None:
    name = write("rewardhub: 1\nroute: {by: task.domain, math: specs/strict.yaml}\n", "route.yaml")
    checked = check(name, registry)
    assert checked.spec is not None
    assert [(mistake.level, str(mistake)) for mistake in checked.mistakes] == [
        (
            "warning",
            (
                "route.yaml:2:8: The route has no `default`: tasks of other values get no reward. "
                "Add one, or check it with the tasks."
            ),
        )
    ]
