"""Files of the working folder: read, written, edited, listed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

_MOST = 512 << 10
_LISTED = 1000


class ToolError(Exception):
    """What a call did wrong, in words."""


def read(path: str, start: int, lines: int) -> str:
    """Return ``lines`` lines of a text file, from line ``start`` on (the first is 1)."""
    text = _text_of(path)
    found = text.splitlines(keepends=True)
    if start > max(1, len(found)):
        raise ToolError(f"{path} has {len(found)} lines, and none is line {start}")
    shown = found[start - 1 : start - 1 + lines]
    left = len(found) - (start - 1) - len(shown)
    return "".join(shown) + (f"\n[{left} more lines]" if left > 0 else "")


def write(path: str, content: str) -> str:
    """Write a file, and the folders above it."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _refuse_special(path)
        Path(path).write_text(content, encoding="utf-8", newline="")
    except (OSError, ValueError) as error:
        raise ToolError(_told(path, error)) from None
    return f"{len(content)} characters written to {path}"


def edit(path: str, old: str, new: str) -> str:
    """Replace the one place where ``old`` stands."""
    text = _text_of(path)
    count = text.count(old) if old else 0
    if count != 1:
        what = "does not occur" if count == 0 else f"occurs {count} times"
        raise ToolError(f"the old text {what} in {path}: give a text that occurs once")
    write(path, text.replace(old, new))
    return f"{path} was edited"


def listing(path: str) -> str:
    """Return the files below a folder, one a line; folders that are empty end in a slash."""
    top = Path(path)
    if not top.is_dir():
        raise ToolError(f"{path} is no folder" if top.exists() else f"{path} does not exist")
    found: list[str] = []
    for folder, below, names in os.walk(top):
        below.sort()
        here = [os.path.relpath(os.path.join(folder, name), top) for name in sorted(names)]  # noqa: PTH118
        found += here if here or below else [os.path.relpath(folder, top) + "/"]
        if len(found) > _LISTED:
            return "\n".join(found[:_LISTED]) + "\n[and more]"
    return "\n".join(each for each in found if each != "./")


def _text_of(path: str) -> str:
    try:
        _refuse_special(path)
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise ToolError(f"{path} has more than {_MOST} bytes: use a command to see parts of it")
        return data.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{path} is no text in UTF-8") from None
    except (OSError, ValueError) as error:
        raise ToolError(_told(path, error)) from None


def _refuse_special(path: str) -> None:
    """Refuse what would block: a FIFO, a device."""
    if os.path.exists(path):  # noqa: PTH110
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode):
            raise ToolError(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no plain file'}")


def _told(path: str, error: Exception) -> str:
    return f"{path}: {getattr(error, 'strerror', None) or error}"


OPERATIONS: dict[str, Any] = {
    "read_file": read,
    "write_file": write,
    "edit_file": edit,
    "list_files": listing,
}
