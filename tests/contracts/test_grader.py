"""Graders and their options."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr, ValidationError

from rewardhub import BatchGrader, Grader, GroupGrader, Options, Sandbox
from rewardhub.errors import GraderDefinitionError
from rewardhub.testing import make_trajectory


def define(base, name, annotation="int", value=1):
    """Define a class with one option, as if it stood in a module."""
    body = {"__annotations__": {name: annotation}, name: value, "__module__": __name__}
    return type("Odd", (base,), body)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("schema", "json_schema"),
        ("json", "as_json"),
        ("copy", "duplicate"),
        ("dict", "mapping"),
        ("validate", "check"),
        ("construct", "build"),
        ("model_fields", "fields_option"),
        ("model_dump_twice", "dump_twice_option"),
        ("open", "open_option"),
        ("close", "close_option"),
        ("grade", "grade_option"),
    ],
)
def test_refuses_an_option_that_hides_a_name_and_offers_another(name, better):
    with pytest.raises(GraderDefinitionError, match=f"option `{name}` of Odd.*`{better}`"):
        define(Grader, name)


@pytest.mark.parametrize(
    ("base", "name"),
    [(BatchGrader, "grade_batch"), (GroupGrader, "grade_group"), (Options, "open")],
)
def test_refuses_an_option_that_hides_a_method_of_its_own_base(base, name):
    with pytest.raises(GraderDefinitionError, match=f"option `{name}`"):
        define(base, name)


@pytest.mark.parametrize("name", ["run", "identity", "arun"])
def test_refuses_an_option_that_hides_a_method_of_a_resource(name):
    class Base(Options, Sandbox):
        pass

    with pytest.raises(GraderDefinitionError, match=f"option `{name}`"):
        define(Base, name)


@pytest.mark.parametrize("name", ["limit", "model_name", "model", "grade_batch", "id"])
def test_takes_any_other_name(name):
    assert getattr(define(Grader, name)(), name) == 1


def test_takes_an_inherited_option_again():
    class First(Grader):
        limit: int = 1

    class Second(First):
        limit: int = 2

    assert Second().limit == 2


def test_takes_class_variables_and_private_state():
    class Sample(Grader):
        kind: ClassVar[str] = "sample"
        copy: ClassVar[Any] = None
        _lock: Any = PrivateAttr(default_factory=threading.Lock)

    assert Sample.kind == "sample"
    assert Sample().model_dump() == {}


def test_refuses_an_unknown_and_a_wrong_option():
    class Sample(Grader):
        limit: int = 1

    with pytest.raises(ValidationError, match="Extra inputs"):
        Sample(limits=2)
    with pytest.raises(ValidationError, match="valid integer"):
        Sample(limit="many")


def test_keeps_options_frozen():
    class Sample(Grader):
        limit: int = 1

    with pytest.raises(ValidationError, match="frozen"):
        Sample().limit = 2


def test_describes_options_by_their_docstrings():
    class Sample(Grader):
        limit: int = 1
        """How many words."""

    described = Sample.model_json_schema()["properties"]["limit"]
    assert described["description"] == "How many words."


@pytest.mark.parametrize(
    ("base", "method"),
    [(Grader, "grade"), (BatchGrader, "grade_batch"), (GroupGrader, "grade_group")],
)
def test_says_what_must_be_defined(base, method):
    with pytest.raises(NotImplementedError, match=f"must define `{method}`"):
        getattr(base(), method)(make_trajectory("a"))
