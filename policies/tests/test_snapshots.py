from typing import Any

import pytest
from rewardhub_policies.snapshots import LISTED, Difference, differences, digest_of, snapshot

FILES = {"a": "1", "b": "2"}


def test_equal_contents_give_equal_snapshots() -> None:
    assert snapshot(files=FILES) == snapshot(files=dict(reversed(FILES.items())))


@pytest.mark.parametrize(
    "other",
    [
        {"files": {**FILES, "a": "9"}},
        {"files": FILES, "folder": "deep"},
        {"files": FILES, "values": {"n": 1}},
    ],
)
def test_anything_else_gives_another_digest(other: dict[str, Any]) -> None:
    assert snapshot(**other)["digest"] != snapshot(files=FILES)["digest"]


def test_more_files_than_are_listed_are_counted() -> None:
    many = {str(n): "x" for n in range(LISTED + 1)}
    made = snapshot(files=many)
    assert (made["count"], "files" in made) == (LISTED + 1, False)
    assert made["digest"] != snapshot(files={**many, "0": "y"})["digest"]


def test_differences_are_told_by_place() -> None:
    old = snapshot(files={"a": "1", "b": "2"}, folder=".", values={"n": 1})
    new = snapshot(files={"b": "3", "c": "4"}, folder="x", values={"n": 2})
    assert list(map(str, differences(old, new))) == [
        "a was there, and is not now",
        "b was 2, and is 3 now",
        "c was not there, and is now",
        "folder was ., and is x now",
        "n was 1, and is 2 now",
    ]


def test_equal_states_have_no_difference() -> None:
    assert differences(snapshot(files=FILES), snapshot(files=FILES)) == []


def test_states_that_list_no_files_differ_by_their_digest() -> None:
    many = {str(n): "x" for n in range(LISTED + 1)}
    (found,) = differences(snapshot(files=many), snapshot(files={**many, "0": "y"}))
    assert found.place == "the digest of all files"


def test_states_of_other_kinds_are_compared_whole() -> None:
    assert differences(1, 1) == []
    assert differences([1], [2]) == [Difference(place="the state", recorded=[1], now=[2])]
    assert differences({"a": (1, 2)}, {"a": [1, 2]}) == []


def test_a_long_value_is_told_short() -> None:
    assert len(str(Difference(place="a", recorded="x" * 1000, now="y"))) < 300


def test_a_digest_does_not_hang_on_the_order_of_fields() -> None:
    assert digest_of({"a": 1, "b": [1]}) == digest_of({"b": (1,), "a": 1})
    with pytest.raises(TypeError, match="set is not JSON"):
        digest_of({1})
