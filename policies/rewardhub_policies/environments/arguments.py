"""Arguments of calls, held against the schema of their tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rewardhub import ToolCall

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def read_arguments(call: ToolCall, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return what a call asks for, and how it breaks the tool's schema: empty if it does not."""
    try:
        found = call.parsed
        if found is None:
            found = json.loads(call.arguments or "{}")
        plain = json.loads(json.dumps(found))
        errors = _validator(json.dumps(schema)).iter_errors(plain)
        first = min(errors, key=lambda each: [str(part) for part in each.path], default=None)
    except ValueError as error:
        return {}, f"the arguments are no JSON: {error}"
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    if first is None:
        return plain, ""
    place = "".join(f"[{each!r}]" for each in first.absolute_path)
    return {}, f"the arguments{place} are not as the tool's schema says: {first.message[:500]}"


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
