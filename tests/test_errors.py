"""Errors say what, where, and what next."""

import copy
import inspect
import pickle

import pytest

from rewardhub import errors
from rewardhub.errors import (
    GradingError,
    InfrastructureError,
    LimitError,
    Mistake,
    NameClashError,
    RecordError,
    RewardhubError,
    SpecError,
    TaskError,
    UndeclaredReadError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, RewardhubError)
]
MADE = [
    RewardhubError("a"),
    UsageError("a"),
    UnknownNameError("grader", "math/sum", ["math/sums"], "x.yaml"),
    SpecError([Mistake(message="a", file="x.yaml", line=3)]),
    NameClashError("grader", "math/sum", ("first", "second")),
    RecordError("a"),
    InfrastructureError("a"),
    TaskError("a"),
    UndeclaredReadError("a"),
    LimitError("cpu", "over 2 s"),
]


def test_all_public_errors_are_listed_and_drawn():
    names = {error.__name__ for error in CLASSES}
    assert names <= set(errors.__all__)
    assert all(name in errors.__doc__ for name in names)


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_is_described(error):
    assert error.__doc__


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_crosses_to_another_process(error, copied):
    there = copied(error)
    assert type(there) is type(error)
    assert str(there) == str(error)
    assert vars(there) == vars(error)


def test_a_mistake_says_where():
    assert str(Mistake(message="odd", file="x.yaml", line=3, column=5)) == "x.yaml:3:5: odd"
    assert str(Mistake(message="odd", file="x.yaml")) == "x.yaml: odd"
    assert str(Mistake(message="odd")) == "odd"


def test_a_spec_error_lists_all_mistakes():
    error = SpecError([Mistake(message="a", line=1), Mistake(message="b", line=2)])
    assert len(error.mistakes) == 2
    assert str(error).splitlines() == ["1: a", "2: b"]


def test_an_unknown_name_lists_what_is_known():
    said = str(UnknownNameError("reader", "xyz", ["chat", "native"], "--format"))
    assert said == "No reader is called `xyz` (--format). Known: `chat`, `native`."


def test_an_unknown_name_among_none_says_so_plainly():
    assert str(UnknownNameError("reader", "xyz", [])) == "No reader is called `xyz`."


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("math/same-nmber", " Did you mean `math/same-number`?"),
        ("maths/same-number", " Did you mean `math/same-number`?"),
        ("other-domain-entirely/exact", " Did you mean `text/exact`?"),
        ("zzz", ""),
    ],
)
def test_offers_close_names(name, hint):
    assert did_you_mean(name, ["math/same-number", "text/exact"]) == hint


def test_what_graders_raise_is_one_family():
    for error in (InfrastructureError, TaskError, UndeclaredReadError, LimitError):
        assert issubclass(error, GradingError)
    assert LimitError("cpu", "x").kind == "cpu"


def test_a_record_error_is_a_value_error():
    assert issubclass(RecordError, ValueError)
