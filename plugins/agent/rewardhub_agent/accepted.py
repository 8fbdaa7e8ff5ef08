"""Does a call agree with the values that are accepted for it, as BFCL's AST checker decides it?

The rules are those of the Berkeley Function-Calling Leaderboard (Patil et al. 2025; the checker
of its version 4), written anew from its behaviour:

- per argument there is a list of accepted values; ``""`` in it means that it may be left out;
- an argument that is not listed, or lacks although the schema requires it, is wrong;
- the declared type decides: 1 and 1.0 are a number, only 1 an integer, only "1" a string, and
  true is neither. An accepted value of another type than the declared one (a variable's name, or
  null) is accepted as it stands, compared exactly;
- texts are compared without case, spaces and ``,./-_*^``, and with one kind of quotes.

Four things go beyond BFCL, which looks one level deep: objects and arrays are compared to any
depth by the schema of their parts; true never counts as 1 inside of them; an array for which no
value is listed is the empty one (there is such a row, which BFCL lets nothing pass); and a dot in
a tool's name may come back as the underscore that some servers make of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from rewardhub_agent.values import Json, is_array, is_number, same_leaf, short

Texts: TypeAlias = Literal["bfcl", "exact"]
"""How texts are compared: as BFCL does, or character by character."""

Schema: TypeAlias = Mapping[str, Json]

_LEFT_OUT = re.compile(r"[ ,./\-_*^]")


def misfit(
    arguments: Mapping[str, Json],
    accepted: Mapping[str, Sequence[Json]],
    schema: Schema,
    *,
    texts: Texts = "bfcl",
    rest: bool = False,
) -> str:
    """Return why ``arguments`` are not among the accepted ones; empty if they are.

    Args:
        arguments: of the call.
        accepted: argument -> accepted values.
        schema: JSON Schema of the arguments; its types decide how values are compared.
        texts: how texts are compared.
        rest: whether arguments that ``accepted`` does not name are free.
    """
    declared = properties_of(schema)
    required = schema.get("required")
    for name in required if is_array(required) and not rest else ():
        if name not in arguments:
            return f"the required argument `{name}` is missing"
    for name, value in arguments.items():
        if name not in accepted:
            if rest:
                continue
            return f"the argument `{name[:80]}` is not expected"
        if not _among(value, accepted[name], declared.get(name, {}), texts):
            wanted = " or ".join(short(each) for each in accepted[name] if each != "") or "none"
            return f"`{name}` is {short(value)}, not {wanted}"
    for name, values in accepted.items():
        if name not in arguments and "" not in values:
            return f"the argument `{name}` is missing"
    return ""


def properties_of(schema: Json) -> Mapping[str, Schema]:
    """Return the arguments or fields that a schema names, each with its own schema."""
    found: Any = schema.get("properties") if isinstance(schema, Mapping) else None
    return cast("Mapping[str, Schema]", found) if isinstance(found, Mapping) else {}


def _among(value: Json, accepted: Sequence[Json], schema: Json, texts: Texts) -> bool:
    return any(_fits(value, each, schema, texts) for each in accepted or ((),))


def _fits(value: Json, wanted: Json, schema: Json, texts: Texts) -> bool:
    declared = declared_types(schema)
    if declared and not _is_of(value, declared):
        # The exception: what is accepted is itself not of the declared type.
        return (
            not _is_of(wanted, declared)
            and type(value) is type(wanted)
            and _equal(value, wanted, {}, "exact")
        )
    return _equal(value, wanted, schema, texts)


def _equal(value: Json, wanted: Json, schema: Json, texts: Texts) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or (texts == "bfcl" and bare(value) == bare(wanted))
    if is_array(value) and is_array(wanted):
        items = schema.get("items", {}) if isinstance(schema, Mapping) else {}
        return len(value) == len(wanted) and all(
            _fits(one, other, items, texts) for one, other in zip(value, wanted, strict=True)
        )
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        return _same_object(value, wanted, schema, texts)
    return same_leaf(value, wanted)


def _same_object(
    value: Mapping[str, Json], wanted: Mapping[str, Json], schema: Json, texts: Texts
) -> bool:
    """Compare an object field by field; each field has a list of accepted values, or one."""
    properties = properties_of(schema)
    for name, item in value.items():
        if name not in wanted:
            return False
        accepted, declared = wanted[name], properties.get(name, {})
        literal = not is_array(accepted) or declared_types(declared) == {"array"}
        if is_array(accepted) and _among(item, accepted, declared, texts):
            continue
        if not (literal and _fits(item, accepted, declared, texts)):
            return False
    return all(
        name in value or (is_array(accepted) and "" in accepted)
        for name, accepted in wanted.items()
    )


def declared_types(schema: Json) -> set[str]:
    """Return the types that a schema declares; none means that it allows any."""
    kinds: Any = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kinds, str):
        return {kinds}
    return {kind for kind in kinds if isinstance(kind, str)} if is_array(kinds) else set()


def _is_of(value: Json, declared: set[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in declared
    if is_number(value):
        return "number" in declared or (isinstance(value, int) and "integer" in declared)
    if isinstance(value, str):
        return "string" in declared
    if value is None:
        return "null" in declared
    return ("object" if isinstance(value, Mapping) else "array") in declared


def bare(text: str) -> str:
    """Return ``text`` as BFCL compares it: no case, no spaces, none of ``,./-_*^``, one quote."""
    return _LEFT_OUT.sub("", text).lower().replace("'", '"')
