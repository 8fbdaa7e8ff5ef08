"""Plain functions as tools: described by signature and docstring, called with JSON."""

from __future__ import annotations

import collections.abc
import inspect
import json
import signal
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

STATE = "state"
"""A parameter of this name is given the attempt's own state, and is no argument of the tool."""

LISTED = "REWARDHUB_TOOLS"
"""What a module calls the names of its tools."""

_SIMPLE: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class DefinitionError(Exception):
    """A function that cannot be a tool, with the reason."""


def load(source: str, name: str = "tools") -> dict[str, Callable[..., Any]]:
    """Return the public functions of a source text, by name.

    Raises:
        DefinitionError: if it cannot be run, or defines none.
    """
    module = types.ModuleType(name)
    try:
        exec(compile(source, f"{name}.py", "exec"), vars(module))  # noqa: S102
    except Exception as error:  # noqa: BLE001  # whatever a source raises, it is no tool
        raise DefinitionError(f"the source of the tools: {type(error).__name__}: {error}") from None
    return functions_of(module)


def functions_of(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that a module lists as its tools, or else its own public ones.

    Raises:
        DefinitionError: if there are none.
    """
    listed = getattr(module, LISTED, None)
    found: dict[str, Callable[..., Any]] = {
        name: each
        for name, each in vars(module).items()
        if inspect.isfunction(each)
        and (
            name in listed
            if listed is not None
            else not name.startswith("_") and each.__module__ == module.__name__
        )
    }
    if not found:
        raise DefinitionError(f"`{module.__name__}` defines no public function")
    return found


def described(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the function as a tool, in the form of OpenAI's chat API.

    Raises:
        DefinitionError: if a parameter has no type, or one that JSON has no schema for.
    """
    summary, told = _docstring(function)
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == STATE:
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise DefinitionError(f"`{name}`: the parameter `{parameter.name}` has no own name")
        if parameter.name not in hints:
            raise DefinitionError(f"`{name}`: the parameter `{parameter.name}` has no type")
        schema = _schema(hints[parameter.name], f"`{name}`: the parameter `{parameter.name}`")
        if parameter.name in told:
            schema["description"] = told[parameter.name]
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        properties[parameter.name] = schema
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    function_part = {"name": name, "description": summary, "parameters": parameters}
    return {"type": "function", "function": function_part}


def _schema(hint: Any, where: str) -> dict[str, Any]:
    if hint is Any:
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in {typing.Union, types.UnionType}:
        return {"anyOf": [_schema(each, where) for each in arguments]}
    if origin is typing.Annotated:
        return _schema(arguments[0], where)
    if hint is list or origin in {list, collections.abc.Sequence}:
        return {"type": "array"} | ({"items": _schema(arguments[0], where)} if arguments else {})
    if hint is dict or origin in {dict, collections.abc.Mapping}:
        values = {"additionalProperties": _schema(arguments[1], where)} if arguments else {}
        return {"type": "object"} | values
    if typing.is_typeddict(hint):
        return _of_typed_dict(hint, where)
    raise DefinitionError(f"{where} has the type {hint}, which no JSON Schema is made for")


def _of_typed_dict(hint: Any, where: str) -> dict[str, Any]:
    hints = typing.get_type_hints(hint)
    return {
        "type": "object",
        "properties": {key: _schema(each, where) for key, each in hints.items()},
        "required": sorted(hint.__required_keys__),
        "additionalProperties": False,
    }


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the text before ``Args:``, and what is said of each argument there."""
    text = inspect.getdoc(function) or ""
    before, _, after = text.partition("\nArgs:\n")
    told: dict[str, str] = {}
    last = ""
    for line in after.splitlines():
        if not line.strip():
            continue
        if not line.startswith(" "):
            break  # the next section
        name, colon, words = line.strip().partition(":")
        if colon and name.isidentifier() and len(line) - len(line.lstrip()) <= 4:
            last = name
            told[name] = words.strip()
        elif last:
            told[last] += f" {line.strip()}"
    for section in ("\nReturns:\n", "\nRaises:\n"):
        before = before.partition(section)[0]
    return " ".join(before.split()), told


def call(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    state: dict[str, Any],
    seconds: float | None = None,
) -> dict[str, Any]:
    """Call a function; return its value as JSON text, or what it raised.

    Args:
        function: the tool.
        arguments: checked already.
        state: given to a parameter of that name.
        seconds: after which it is interrupted; only where signals can be had.
    """
    own = {STATE: state} if STATE in inspect.signature(function).parameters else {}
    try:
        with _limited(seconds):
            value = function(**arguments, **own)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        json.dumps(state)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # what a tool raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    return {"output": text}


class _limited:  # noqa: N801  # reads as the verb that it is
    """Interrupts what is inside after some seconds, by the timer of the main thread."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if self._seconds is not None:
            signal.signal(signal.SIGALRM, self._interrupt)
            signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *error: object) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _interrupt(self, *_: object) -> None:
        raise TimeoutError(f"it took more than {self._seconds:g} seconds")


def copied(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON ``value`` as plain dicts and lists of its own."""
    made: dict[str, Any] = json.loads(json.dumps(value))
    return made
