import types
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import pytest
from rewardhub_policies.environments.inside.functions import (
    DefinitionError,
    call,
    described,
    functions_of,
    load,
)


class Place(TypedDict):
    city: str
    number: int


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = described("f", function)["function"]["parameters"]
    return found


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (
            Place,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "number": {"type": "integer"}},
                "required": ["city", "number"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_types_become_json_schema(hint: Any, schema: dict[str, Any]) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = hint
    assert parameters(f)["properties"]["x"] == schema


def test_a_parameter_without_a_default_is_required() -> None:
    def f(a: int, b: int = 1, *, c: int) -> None: ...

    assert parameters(f)["required"] == ["a", "c"]


def test_the_docstring_describes_tool_and_arguments() -> None:
    def f(a: int, b: str = "") -> None:
        """Do it,
        whatever it is.

        Args:
            a: the first,
                and best.
            b: the second.

        Returns:
            nothing: at all.
        """

    made = described("f", f)["function"]
    assert made["description"] == "Do it, whatever it is."
    told = {name: each["description"] for name, each in made["parameters"]["properties"].items()}
    assert told == {"a": "the first, and best.", "b": "the second."}


def test_the_state_is_no_argument() -> None:
    def f(a: int, state: dict[str, Any]) -> None: ...

    assert list(parameters(f)["properties"]) == ["a"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(x): ...", "has no type"),
        ("def f(*x: int): ...", "no own name"),
        ("def f(x: set): ...", "no JSON Schema"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(source: str, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        described("f", load(source)["f"])


def test_only_own_public_functions_are_tools() -> None:
    source = "from os.path import join\nimport os\ndef a(): ...\ndef _b(): ...\nc = 3\n"
    assert list(load(source)) == ["a"]


def test_listed_functions_are_the_tools() -> None:
    module = types.ModuleType("m")
    exec("REWARDHUB_TOOLS = ['b']\ndef a(): ...\ndef b(): ...\n", vars(module))
    assert list(functions_of(module)) == ["b"]


def test_what_a_function_returns_is_json_and_text_is_as_it_is() -> None:
    assert call(lambda: "ü", {}, {}) == {"output": "ü"}
    assert call(lambda: {"ü": [1, None]}, {}, {}) == {"output": '{"ü": [1, null]}'}


def test_what_is_no_json_is_an_error() -> None:
    assert "TypeError" in call(lambda: {1, 2}, {}, {})["error"]


def test_a_state_that_is_no_json_is_an_error() -> None:
    def f(state: dict[str, Any]) -> None:
        state["x"] = {1}

    assert "TypeError" in call(f, {}, {})["error"]
