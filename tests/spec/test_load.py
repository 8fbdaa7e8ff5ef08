from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

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
