"""The JSON of a reply, for the backends that get a text."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["json_in"]


def json_in(text: str) -> Any:
    """Return the JSON value that ``text`` is; None where it is none. NaN is no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
