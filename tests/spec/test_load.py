from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardhub.errors import SpecError
from rewardhub.host import Card, Registry, SpecCard, registry_of
from rewardhub.spec import Spec, check, load

TEXT = "rewardhub: 1\nname: own/spec\nstages: [{name: outcome, graders: [{use: judge/rank}]}]\n"
MAPPING = {
    "rewardhub": 1,
    "name": "own/spec",
    "stages": [{"name": "outcome", "graders": [{"use": "judge/rank"}]}],
}


def test_a_file_and_the_same_mapping_are_the_same_spec(
    write: Callable[..., str], registry: Registry
) -> None:
    name = write(TEXT)
    digests = {load(source, registry).digest for source in (name, Path(name), MAPPING)}
    assert len(digests) == 1


def test_a_shipped_spec_is_loaded_by_name(
    write: Callable[..., str], cards: tuple[Card, ...]
) -> None:
    registry = registry_of(*cards, SpecCard(name="own/spec", path=Path(write(TEXT)).resolve()))
    spec = load("own/spec", registry)
    assert isinstance(spec, Spec)
    assert spec.name == "own/spec"


def test_raises_every_mistake_and_no_warning(write: Callable[..., str], registry: Registry) -> None:
    name = write(TEXT.replace("judge/rank", "judge/rnk, optional: true, weight: 0"))
    with pytest.raises(SpecError) as caught:
        load(name, registry)
    assert str(caught.value) == (
        "spec.yaml:3:42: No grader is called `judge/rnk` (spec.yaml, stage `outcome`). Did you "
        "mean `judge/rank` or `judge/criteria`?\n"
        "spec.yaml:3:77: Stage `outcome`, grader `rnk`: `weight` must be above 0, not 0."
    )
    assert {mistake.level for mistake in caught.value.mistakes} == {"error"}


def test_a_spec_with_mistakes_is_none(write: Callable[..., str], registry: Registry) -> None:
    assert check(write(TEXT + "credit: first\n"), registry).spec is None
    assert check(write(TEXT.replace("rewardhub: 1\n", "")), registry).spec is None


def test_a_spec_with_warnings_is_ready(write: Callable[..., str], registry: Registry) -> None:
    checked = check(write(TEXT + "resources: {x: {use: local}}\n"), registry)
    assert checked.spec is not None
    assert [mistake.level for mistake in checked.mistakes] == ["warning"]
    assert checked.errors == ()


def test_mistakes_are_sorted_by_line(write: Callable[..., str], registry: Registry) -> None:
    found = check(write("rewardhub: 1\nzzz: 1\nname: 5\nstages: []\ncredit: x\n"), registry)
    assert [mistake.line for mistake in found.mistakes] == [2, 3, 4, 5]


def test_errors_cross_to_other_processes(write: Callable[..., str], registry: Registry) -> None:
    with pytest.raises(SpecError) as caught:
        load(write(TEXT + "credit: x\n"), registry)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.mistakes == caught.value.mistakes


def test_no_ruamel_is_imported_for_a_mapping(registry: Registry) -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from rewardhub.host import registry_of\n"
        "from rewardhub.spec import check\n"
        "check({'rewardhub': 1}, registry_of())\n"
        "print([name for name in sys.modules if name.startswith('ruamel')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FULL: dict[str, Any] = {
    "rewardhub": 1,
    "name": "own/spec",
    "range": [-1, 0.5],
    "success": "tests == 1",
    "resources": {
        "sandbox": {"use": "local", "level": 2},
        "judge": {"use": "openai", "model": "m"},
    },
    "stages": [
        {
            "name": "gate",
            "gate": {"below": 0.5, "reward": -1},
            "graders": [{"use": "rules/code-block", "as": "first"}],
        },
        {
            "name": "outcome",
            "weight": 0.5,
            "formula": "min(tests, style)",
            "graders": [
                {"use": "code/unit-tests", "as": "tests", "options": {"timeout": 3}},
                {
                    "use": "judge/criteria",
                    "as": "style",
                    "when": "first == 1",
                    "bind": {"judge": "judge"},
                },
            ],
        },
    ],
    "training": {"unscored_reward": 0.0},
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "tests", "tests == 1", "1 / tests", "local", "a/b", "task.domain"]),
    st.just([]),
    st.just({}),
    st.just([{}, [], None]),
    st.just({"env": "NOT_SET_HERE"}),
    st.just({"x": None}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value below ``value``."""
    keys: list[Any] = [*cast("dict[str, object]", value)] if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = [*range(len(cast("list[object]", value)))]
    below = [place for key in keys for place in places(value[key], (*path, key))]
    return [path, *below] if path else below


def changed(path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    spec = copy.deepcopy(FULL)
    target: Any = spec
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = odd
    return spec


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(path=st.sampled_from(places(FULL)), odd=ODD)
def test_anything_anywhere_is_a_spec_or_a_mistake(
    registry: Registry, path: tuple[Any, ...], odd: Any
) -> None:
    checked = check(changed(path, odd), registry, tasks=[], fills=["task"])
    assert (checked.spec is None) == bool(check(changed(path, odd), registry).errors)
    assert all(mistake.message for mistake in checked.mistakes)


def test_the_full_spec_has_no_mistake(registry: Registry) -> None:
    assert check(FULL, registry).mistakes == ()
