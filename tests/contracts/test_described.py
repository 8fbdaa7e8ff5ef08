"""Options are described by the docstrings below them, read when the schema is asked for."""

from __future__ import annotations

from pydantic import Field

from rewardhub.contracts import Options
from rewardhub.contracts.described import Described, descriptions


class Base(Options):
    size: int = 1
    """How large it is."""

    plain: int = 2
    other: int = Field(default=3, description="said in the field itself")
    """Not this."""


class Derived(Base):
    """A class docstring is no description of a field."""

    colour: str = "red"
    """Which colour
    it has."""

    size: int = 5
    """How large this one is."""


class Inner(Described):
    depth: int = 0
    """How deep."""


class Outer(Described):
    inner: Inner = Inner()
    """What is inside."""

    renamed: int = Field(default=0, alias="other-name")
    """What has another name."""


def test_the_docstring_below_a_field_describes_it() -> None:
    told = Base.model_json_schema()["properties"]
    assert told["size"]["description"] == "How large it is."
    assert "description" not in told["plain"]


def test_a_description_of_the_field_itself_comes_first() -> None:
    assert Base.model_json_schema()["properties"]["other"]["description"].startswith("said in")


def test_a_derived_class_keeps_and_replaces_descriptions() -> None:
    told = Derived.model_json_schema()["properties"]
    assert told["colour"]["description"] == "Which colour\nit has."
    assert told["size"]["description"] == "How large this one is."
    assert told["other"]["description"].startswith("said in")


def test_models_inside_models_and_aliases_are_described() -> None:
    schema = Outer.model_json_schema()
    assert schema["properties"]["inner"]["description"] == "What is inside."
    assert schema["properties"]["other-name"]["description"] == "What has another name."
    assert schema["$defs"]["Inner"]["properties"]["depth"]["description"] == "How deep."


def test_a_class_without_source_has_no_descriptions() -> None:
    scope: dict[str, type[Options]] = {"Options": Options}  # type: ignore[dict-item]
    exec('class Made(Options):\n    size: int = 1\n    """Lost."""', scope)
    assert descriptions(scope["Made"]) == {}
