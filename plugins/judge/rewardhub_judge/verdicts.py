"""A judge's verdict: one JSON object of a declared shape, read strictly or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["JudgeVerdict", "MalformedVerdictError", "parse_verdict", "schema_of"]

V = TypeVar("V", bound="JudgeVerdict")

_FENCED = re.compile(r"```(?:json)?[^\S\n]*\n(.*)\n```", re.DOTALL)
_MISTAKES_TOLD = 5


class JudgeVerdict(BaseModel):
    """The base of all shapes: what is not declared is refused, and no type is converted."""

    # Every command imports every pack, and asks few judges.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )


class MalformedVerdictError(Exception):
    """A reply is no verdict; the text says why, for the judge to mend it."""


def parse_verdict(text: str, shape: type[V]) -> V:
    """Return the verdict that the whole of ``text`` is.

    The text is one JSON object that fits ``shape``; one code fence around the whole is allowed.
    No key twice, no key too many, no number in a string, no NaN or Infinity, no value off the
    menu: nothing is converted, and nothing is looked for inside of other text.

    Raises:
        MalformedVerdictError: if it is not; the message names each mistake.
    """
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    body = fenced[1] if fenced else body
    try:
        json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_each_once)
    except RecursionError:
        raise MalformedVerdictError("it is nested too deeply") from None
    except ValueError as error:
        raise MalformedVerdictError(
            f"it is not one JSON object and nothing else: {error}"
        ) from None
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise MalformedVerdictError(_told(error)) from None


@cache
def schema_of(shape: type[JudgeVerdict]) -> Mapping[str, Any]:
    """Return the JSON Schema of a shape."""
    return shape.model_json_schema()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{twice}` stands there twice")
    return found


def _told(error: ValidationError) -> str:
    mistakes = error.errors(include_url=False, include_input=False)
    told = [
        f"`{'.'.join(str(part) for part in each['loc'])}`: "
        f"{each['msg'].removeprefix('Value error, ')}"
        if each["loc"]
        else each["msg"].removeprefix("Value error, ")
        for each in mistakes[:_MISTAKES_TOLD]
    ]
    if len(mistakes) > _MISTAKES_TOLD:
        told.append(f"{len(mistakes) - _MISTAKES_TOLD} more mistakes")
    return "; ".join(told)
