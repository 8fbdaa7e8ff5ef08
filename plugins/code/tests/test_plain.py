import math
from collections import Counter, OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_code.inside import plain

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
HASHABLE = st.recursive(
    SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner), max_leaves=5
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.sets(HASHABLE)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(HASHABLE, inner)
    ),
    max_leaves=20,
)


def types_in(value: Any) -> Any:
    """Return ``value`` with the type of all that is in it, for 1 == True == 1.0."""
    if isinstance(value, (list, tuple)):
        return (type(value), [types_in(each) for each in value])
    if isinstance(value, dict):
        return (dict, [(types_in(key), types_in(each)) for key, each in value.items()])
    if isinstance(value, (set, frozenset)):
        return (type(value), sorted(str(types_in(each)) for each in value))
    return (type(value), repr(value))


def round_trip(value: Any) -> Any:
    return plain.decode(plain.loads(plain.dumps(plain.encode(value))))


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert types_in(round_trip(value)) == types_in(value)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), range(1, 9, 2), "\ud800", -0.0])
def test_a_rare_value_comes_back_as_it_was(value: Any) -> None:
    assert types_in(round_trip(value)) == types_in(value)


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(round_trip([float("nan")])[0])


def test_a_dict_that_looks_like_a_tag_is_a_dict() -> None:
    assert round_trip({"$tuple": [1]}) == {"$tuple": [1]}


def test_an_int_of_a_million_digits_is_read_in_no_time() -> None:
    assert round_trip(1 << 2_000_000) == 1 << 2_000_000


class Text(str):
    pass


@pytest.mark.parametrize("value", [Text("a"), OrderedDict(a=1), object(), [Counter()], {1: len}])
def test_refuses_what_is_not_exactly_plain(value: Any) -> None:
    with pytest.raises(plain.NotPlainError, match="an object of type"):
        plain.encode(value)


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def test_refuses_what_is_nested_too_deeply() -> None:
    assert round_trip(deep(plain.MAX_DEPTH)) == deep(plain.MAX_DEPTH)
    for levels in (plain.MAX_DEPTH + 2, 100_000):
        with pytest.raises(plain.NotPlainError, match="nested"):
            plain.encode(deep(levels))


def test_refuses_a_list_in_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(plain.NotPlainError, match="nested"):
        plain.encode(loop)


def test_refuses_what_grows_by_sharing() -> None:
    value: Any = [0]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(plain.NotPlainError, match="larger"):
        plain.encode(value)


@pytest.mark.parametrize("value", ["x" * 3_000_000, b"x" * 3_000_000, [0] * 700_000])
def test_refuses_what_is_too_large(value: Any) -> None:
    with pytest.raises(plain.NotPlainError, match="larger"):
        plain.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b"[" * 500_000,
        b"9" * 10_000,
        b'"' + b"x" * plain.MAX_BYTES + b'"',
    ],
    ids=["nothing", "half", "no UTF-8", "NaN", "deep", "long number", "too long"],
)
def test_refuses_bytes_that_are_no_message(data: bytes) -> None:
    with pytest.raises(plain.NotPlainError):
        plain.loads(data)


@pytest.mark.parametrize(
    "data",
    [
        {"$unknown": 1},
        {"$tuple": 1},
        {"$tuple": [1], "more": 1},
        {"$set": [[1]]},
        {"$dict": [1]},
        {"$dict": [[1, 2, 3]]},
        {"$dict": [[[1], 2]]},
        {"$bytes": "x"},
        {"$bytes": 1},
        {"$int": "x"},
        {"$float": "1"},
        {"$complex": [1]},
        {"$complex": ["a", "b"]},
        {"$range": [0, 1, 0]},
        {"$range": []},
    ],
)
def test_refuses_a_tag_that_is_broken(data: Any) -> None:
    with pytest.raises(plain.NotPlainError):
        plain.decode(data)


def test_refuses_keys_that_all_have_one_hash() -> None:
    keys = [number * (2**61 - 1) for number in range(1, 1000)]
    for data in ({"$set": keys}, {"$dict": [[key, 0] for key in keys]}):
        with pytest.raises(plain.NotPlainError, match="hash"):
            plain.decode(data)


def test_refuses_json_that_is_nested_too_deeply() -> None:
    with pytest.raises(plain.NotPlainError, match="nested"):
        plain.decode(deep(plain.MAX_DEPTH + 2))


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists))
def test_any_json_is_read_or_refused(data: Any) -> None:
    plain.decode(data)
    for tag in ("$tuple", "$set", "$dict", "$range", "$complex", "$iterator", "$int", "$bytes"):
        try:
            plain.decode({tag: data})
        except plain.NotPlainError:
            continue
