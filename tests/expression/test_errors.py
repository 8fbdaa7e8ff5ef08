from __future__ import annotations

import pickle

import pytest

from rewardhub.errors import RewardhubError
from rewardhub.expression import ExpressionError


def caret_column(error: ExpressionError) -> int:
    return len(str(error).splitlines()[-1]) - 1


def test_is_an_error_of_rewardhub_and_a_value_error() -> None:
    assert issubclass(ExpressionError, RewardhubError)
    assert issubclass(ExpressionError, ValueError)


def test_points_at_the_mistake() -> None:
    error = ExpressionError("Wrong.", "tests = 1", 6)
    assert str(error) == "Wrong.\n    tests = 1\n          ^"


def test_points_behind_the_end() -> None:
    error = ExpressionError("More.", "a +", 3)
    assert str(error).splitlines()[1:] == ["    a +", "       ^"]


def test_shows_only_the_line_of_the_mistake() -> None:
    error = ExpressionError("Wrong.", "a > 1 and\nb = 1\nor c", 12)
    assert str(error).splitlines()[1:] == ["    b = 1", "      ^"]


@pytest.mark.parametrize("position", [0, 40, 500, 999, 1000])
def test_points_right_in_a_long_line(position: int) -> None:
    text = "a" * 1000
    text = text[:position] + "!" + text[position + 1 :]
    error = ExpressionError("Wrong.", text, position)
    shown = str(error).splitlines()[-2]
    assert shown[caret_column(error)] == "!"
    assert len(shown) < 100


def test_a_tab_does_not_move_the_caret() -> None:
    error = ExpressionError("Wrong.", "a\t= 1", 2)
    assert str(error).splitlines()[-2][caret_column(error)] == "="


def test_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ExpressionError("Wrong.", "a = 1", 2)))
    assert (error.problem, error.text, error.position) == ("Wrong.", "a = 1", 2)
    assert str(error) == str(ExpressionError("Wrong.", "a = 1", 2))
