import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from rewardhub_code.strategies import Strategy, apart, draw, like, varied

READ = TypeAdapter[Any](Strategy)


def drawn(strategy: dict[str, Any], count: int = 60) -> list[Any]:
    return [
        value for (value,) in draw(apart([READ.validate_python(strategy)]), count=count, seed=1)
    ]


DIGITS = {"type": "integers", "min": 0, "max": 9}


def test_draws_integers_within_bounds() -> None:
    found = drawn({"type": "integers", "min": -3, "max": 3})
    assert {*found} == {*range(-3, 4)}


def test_draws_floats_within_bounds() -> None:
    found = drawn({"type": "floats", "min": 0, "max": 1})
    assert all(type(value) is float and 0 <= value <= 1 for value in found)
    assert len(found) > 10


def test_draws_text_of_an_alphabet() -> None:
    found = drawn({"type": "text", "alphabet": "ab", "min_size": 1, "max_size": 4})
    assert all({*text} <= {"a", "b"} and 1 <= len(text) <= 4 for text in found)


def test_draws_lists() -> None:
    found = drawn({"type": "lists", "items": DIGITS, "min_size": 2, "max_size": 3})
    assert all(type(value) is list and len(value) in {2, 3} for value in found)


def test_draws_lists_of_different_items() -> None:
    found = drawn({"type": "lists", "items": DIGITS, "max_size": 9, "unique": True})
    assert all(len({*value}) == len(value) for value in found)


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [
        ({"type": "booleans"}, bool),
        ({"type": "bytes", "max_size": 3}, bytes),
        ({"type": "sets", "items": DIGITS, "max_size": 3}, set),
        ({"type": "dicts", "keys": {"type": "text"}, "values": DIGITS, "max_size": 3}, dict),
        ({"type": "tuples", "items": [DIGITS, {"type": "booleans"}]}, tuple),
        ({"type": "one_of", "options": [DIGITS, DIGITS]}, int),
        ({"type": "sampled_from", "values": [{"$tuple": [1, 2]}, {"$tuple": []}]}, tuple),
    ],
)
def test_draws_each_kind(strategy: dict[str, Any], kind: type) -> None:
    found = drawn(strategy)
    assert len(found) >= 2
    assert {type(value) for value in found} == {kind}


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ({"type": "integers", "min": 3, "max": 1}, "min (3) is above max (1)"),
        ({"type": "text", "min_size": 30}, "min_size (30) is above max_size (20)"),
        ({"type": "lists", "items": DIGITS, "max_size": 100_000}, "less than or equal to 1000"),
        ({"type": "floats", "max": float("inf")}, "finite"),
        ({"type": "numbers"}, "numbers"),
        ({"type": "integers", "minimum": 3}, "minimum"),
        ({"type": "sampled_from", "values": [{"$nothing": 1}]}, "nothing"),
        ({"type": "one_of", "options": []}, "at least 1 item"),
    ],
)
def test_refuses_what_makes_no_sense(strategy: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        READ.validate_python(strategy)
    assert said in str(caught.value)


def test_refuses_what_is_nested_too_deeply() -> None:
    strategy: dict[str, Any] = DIGITS
    for _ in range(7):
        strategy = {"type": "lists", "items": strategy}
    with pytest.raises(ValidationError, match="at most 6 deep"):
        READ.validate_python(strategy)


LISTS = READ.validate_python({"type": "lists", "items": DIGITS, "max_size": 9})


def test_the_same_seed_draws_the_same() -> None:
    assert draw(apart([LISTS]), count=30, seed=5) == draw(apart([LISTS]), count=30, seed=5)
    assert draw(apart([LISTS]), count=30, seed=5) != draw(apart([LISTS]), count=30, seed=6)


def test_another_process_draws_the_same_whatever_is_loaded_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("LIST = ['abcabc', 'fedcba', 123456, 777777]\n")
    program = (
        "from rewardhub_code.strategies import *\n"
        "text = Text(type='text', alphabet='abcdef', max_size=9)\n"
        "number = Integers(type='integers', min=0, max=1000000)\n"
        "print(draw(apart([text, number]), count=200, seed=5))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", f"{first}\n{program}"],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed, first in (("1", ""), ("2", ""), ("1", "import mine, rewardhub_code"))
    }
    assert len(runs) == 1
    assert not (tmp_path / ".hypothesis").exists()


def test_draws_nothing_twice() -> None:
    found = [tuple(values[0]) for values in draw(apart([LISTS]), count=200, seed=1)]
    assert len(found) == len({*found}) > 100


INPUTS = [([1, 2, 3], 2, "ab"), ([7], 1, "b"), ([], 5, "abab")]


def test_varies_one_place_within_the_bounds_of_all() -> None:
    found = draw(varied(INPUTS), count=60, seed=1)
    assert len(found) > 20
    for numbers, number, text in found:
        assert len(numbers) <= 3
        assert all(1 <= each <= 7 for each in numbers)
        assert 1 <= number <= 5
        assert {*text} <= {"a", "b"}
        assert 1 <= len(text) <= 4
        changed = min(
            (numbers != one) + (number != other) + (text != third) for one, other, third in INPUTS
        )
        assert changed <= 1


def test_varies_inputs_of_several_lengths() -> None:
    assert {len(args) for args in draw(varied([(1,), (9,), (1, 2), (8, 9)]), count=40, seed=1)} == {
        1,
        2,
    }


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        [1, 5],
        [0.5, 2],
        ["ab", "c"],
        [b"ab"],
        [[1], [2, 3]],
        [(1, "a"), (2, "b")],
        [{1, 2}, {3}],
        [{"a": 1}, {"b": 2}],
        [None],
        [[], []],
        ["", ""],
        [[[1]], [[2, 3], []]],
    ],
)
def test_makes_values_like_those_given(values: list[Any]) -> None:
    kinds = {float} if float in map(type, values) else {type(value) for value in values}
    found = draw(apart([like(values)]), count=20, seed=1)
    assert found
    assert {type(value) for (value,) in found} == kinds


def test_makes_values_of_mixed_types() -> None:
    found = {type(value) for (value,) in draw(apart([like([1, 2, "ab", None])]), count=60, seed=1)}
    assert found == {int, str, type(None)}


def test_makes_values_too_deep_to_describe_from_those_given() -> None:
    deep: Any = 1
    for _ in range(12):
        deep = [deep]
    assert draw(apart([like([deep])]), count=5, seed=1) == [(deep,)]
