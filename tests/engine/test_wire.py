"""What crosses between a run and its workers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.compose import Skipped, Standing
from rewardhub.engine import wire
from rewardhub.records import Score, StepValue


@given(blobs=st.lists(st.binary(max_size=300), max_size=8))
def test_blobs_come_back_as_they_were(blobs: list[bytes]) -> None:
    assert wire.unpack(wire.pack(blobs)) == blobs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(value=st.lists(JSON, max_size=3))
def test_json_comes_back_as_it_was(value: object) -> None:
    assert wire.from_bytes(wire.to_bytes(value)) == value


def test_nothing_is_null() -> None:
    assert wire.from_bytes(b"") is None


STANDINGS: dict[str, Standing] = {
    "graded": Score.of(0.1, "why", step_values=[StepValue(0, 0.5, 1, 3)], evidence={"a": [1]}),
    "abstained": Score.abstain('with "quotes" and {braces}'),
    "failed": Score.fail("it broke", fault="infrastructure", cost=0.5),
    "skipped": Skipped("`a == 1` is false"),
    'an "odd" name': Skipped(""),
}


@pytest.mark.parametrize("names", [list(STANDINGS), []])
def test_standings_come_back_as_they_were(names: list[str]) -> None:
    standings = {name: STANDINGS[name] for name in names}
    assert wire.standings_from_bytes(wire.standings_to_bytes(standings)) == standings
