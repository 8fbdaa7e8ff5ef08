"""Pydantic's errors as mistakes in a reward file, each at its line and in plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from rewardhub.errors import did_you_mean
from rewardhub.spec.marks import Mistakes, Node, shown

M = TypeVar("M", bound=BaseModel)

_WANTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "mapping_type": "a mapping",
    "none_required": "null",
}
_BOUNDS = {
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "string_pattern_mismatch": "text that matches `{pattern}`",
}
_NOT_YAML_1_2 = {"yes", "no", "on", "off", "Yes", "No", "On", "Off", "y", "n"}


class Subject(NamedTuple):
    """Whom the messages speak of.

    Attributes:
        where: begins each message: "Stage `outcome`"; empty for the file itself.
        owner: who has the keys: "A stage", or "`style/brevity`".
        key: what a key is to the owner: "option " for options, else empty.
    """

    where: str
    owner: str
    key: str = ""

    def say(self, message: str) -> str:
        """Return ``message`` with where it belongs."""
        return f"{self.where}: {message}" if self.where else message


def validated(
    model: type[M],
    node: Node,
    subject: Subject,
    mistakes: Mistakes,
    *,
    data: Any = None,
) -> M | None:
    """Return ``node`` as a ``model``, or None where it has mistakes, which are noted.

    Args:
        model: what the node should be.
        node: where the data was written.
        subject: whom the messages speak of.
        mistakes: takes what is wrong.
        data: what to validate where it differs from what was written.
    """
    # As JSON, because strict means there what it means in YAML: a list is fine for a tuple.
    plain = json.dumps(node.plain if data is None else data)
    try:
        return model.model_validate_json(plain, strict=True)
    except ValidationError as error:
        _note(error, model, node, subject, mistakes)
    except Exception as error:  # noqa: BLE001  # a plugin's validator may raise anything
        problem = f"{subject.owner} refuses its options: {type(error).__name__}: {error}"
        mistakes.add(node.mark, subject.say(problem))
    return None


def _note(
    error: ValidationError, model: type[BaseModel], node: Node, subject: Subject, mistakes: Mistakes
) -> None:
    wanted: dict[tuple[str, ...], list[str]] = {}
    for entry in error.errors(include_url=False, include_input=False):
        target, path = _reach(node, entry["loc"])
        if entry["type"] == "extra_forbidden":
            mistakes.add(target.key, subject.say(_unknown(path, model, subject)))
        elif entry["type"] == "missing":
            mistakes.add(target.mark, subject.say(_missing(path, entry["loc"][-1], subject)))
        else:
            kind = _wanted(entry["type"], entry.get("ctx", {}))
            if kind is None:
                mistakes.add(target.mark, subject.say(_other(path, entry)))
            else:
                wanted.setdefault(path, []).append(kind)
    for path, kinds in wanted.items():
        target, _ = _reach(node, path)
        mistakes.add(target.mark, _must_be(path, kinds, target, subject))


def _reach(node: Node, location: Sequence[int | str]) -> tuple[Node, tuple[str, ...]]:
    """Return the deepest node on the way to ``location``, and the way.

    Pydantic's locations go on past the data: with a key that is missing, or a union's branch.
    """
    path: list[str] = []
    for part in location:
        below = _below(node, part)
        if below is None:
            break
        node = below
        path.append(str(part))
    return node, tuple(path)


def _below(node: Node, part: int | str) -> Node | None:
    index = int(part) if str(part).isdecimal() else None
    if node.items and index is not None:
        return node.items[index] if index < len(node.items) else None
    return node.fields.get(str(part))


def _missing(path: tuple[str, ...], name: int | str, subject: Subject) -> str:
    if isinstance(name, int):
        return f"`{'.'.join(path)}` must have more than {name} item{'' if name == 1 else 's'}."
    article = f"the {subject.key}" if subject.key else ""
    return f"{subject.owner} needs {article}`{'.'.join((*path, name))}`."


def _unknown(path: tuple[str, ...], model: type[BaseModel], subject: Subject) -> str:
    name = path[-1]
    if name == "<<":
        return "`<<` is not in YAML 1.2. Repeat the lines, or use `extends`."
    names = names_of(model) if len(path) == 1 else []
    owner = subject.owner if len(path) == 1 else f"`{'.'.join(path[:-1])}`"
    known = f" Known: {', '.join(f'`{other}`' for other in names)}." if names else ""
    none = f" It has no {subject.key}at all." if subject.key and len(path) == 1 else ""
    hint = did_you_mean(name, names) or known or none
    return f"{owner} has no {subject.key}`{name}`.{hint}"


def names_of(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model, as they are written."""
    return [info.alias or name for name, info in model.model_fields.items()]


def _wanted(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind in {"literal_error", "enum"}:
        return str(context["expected"]).replace("'", "`")
    if kind in _BOUNDS:
        return _BOUNDS[kind].format_map(
            {
                name: f"{value:g}" if isinstance(value, float) else value
                for name, value in context.items()
            }
        )
    return _WANTED.get(kind)


def _must_be(path: tuple[str, ...], kinds: Sequence[str], node: Node, subject: Subject) -> str:
    """Return what a value must be; several kinds come from the branches of a union."""
    wanted = " or ".join(dict.fromkeys(kinds))
    if not path:
        return f"{subject.where or subject.owner} must be {wanted}, not {shown(node.value)}."
    hint = ""
    if isinstance(node.value, str):
        hint = did_you_mean(node.value, re.findall("`([^`]+)`", wanted))
        if "true or false" in kinds and node.value in _NOT_YAML_1_2:
            hint = " In YAML 1.2 only `true` and `false` are."
    name = ".".join(path)
    return subject.say(f"`{name}` must be {wanted}, not {shown(node.value)}.{hint}")


def _other(path: tuple[str, ...], entry: Mapping[str, Any]) -> str:
    context = entry.get("ctx", {})
    name = f"`{'.'.join(path)}`" if path else ""
    if entry["type"] in {"too_short", "too_long", "string_too_short", "string_too_long"}:
        most = "max_length" in context
        count = context["max_length"] if most else context["min_length"]
        unit = "character" if entry["type"].startswith("string") else "item"
        plural = "" if count == 1 else "s"
        return f"{name} must have at {'most' if most else 'least'} {count} {unit}{plural}."
    message = str(entry["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{name}: {message}" if name else message
