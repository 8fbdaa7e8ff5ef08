"""The least that scoring a file can do: validate each row, call three functions, write the result.

Usage: python bare_loop.py IN OUT. It makes no Score, no reason, no order of stages, keeps nothing
to resume from, and dies with the first bad row. `file_scoring.py` runs it as the yardstick.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from trivial import has_mark, is_right, is_short


class Message(BaseModel):
    """One message of a row."""

    role: Literal["system", "user", "assistant"]
    content: str


class Row(BaseModel):
    """One row: a short chat and its reference."""

    id: str
    messages: list[Message]
    reference: str


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    with source.open("rb") as lines, target.open("w", encoding="utf-8") as out:
        for line in lines:
            row = Row.model_validate_json(line)
            text = row.messages[-1].content
            mark = has_mark(text)
            right = is_right(text, row.reference) if mark else 0.0
            short = is_short(text) if mark else 0.0
            value = 0.75 * right + 0.25 * short
            scores = {"mark": mark, "right": right, "short": short}
            out.write(f"{json.dumps({'id': row.id, 'value': value, 'scores': scores})}\n")


if __name__ == "__main__":
    main()
