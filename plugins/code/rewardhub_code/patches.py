"""Changes of a tree of files: a unified diff, or whole files; read and made outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rewardhub_code.fences import blocks_of

if TYPE_CHECKING:
    from unidiff.patch import Hunk, PatchedFile

Tree: TypeAlias = Mapping[str, str]
"""Path -> content."""
Change: TypeAlias = Mapping[str, str | None]
"""Path -> the new content; None for a file that is gone."""

LONGEST_PATCH = 1_000_000
"""Characters of a patch."""

_BEGINS = re.compile(r"^(diff --git |--- (?:a/|/dev/null|\S+\n\+\+\+ ))", re.MULTILINE)
_LANGUAGES = frozenset({"diff", "patch", "udiff"})
_FUNNY = re.compile(r"[\x00-\x1f\x7f\\]")


class PatchError(Exception):
    """The change cannot be made; the text says which file and which hunk."""


def patch_in(answer: str) -> str:
    """Return the patch of a final answer: its fenced diffs, one after the other, or its bare one.

    A block without a language counts if it begins like a diff. A bare diff reaches from its first
    line to the end of the answer. Empty if there is none.
    """
    whole = answer.replace("\r\n", "\n")
    text = whole if answer.count("\r\n") == whole.count("\n") else answer
    blocks = blocks_of(text)
    diffs = [
        block.text
        for block in blocks
        if block.language in _LANGUAGES or (not block.language and _BEGINS.match(block.text))
    ]
    if diffs or blocks:
        return "".join(diffs)
    found = _BEGINS.search(text)
    return text[found.start() :] if found else ""


def changed(tree: Tree, patch: str) -> Change:
    """Return what ``patch`` makes of ``tree``.

    As ``git apply``: the lines of each hunk must be there exactly, but may have moved, and the
    place next to where the patch says counts.

    Raises:
        PatchError: if it is no patch, or does not apply.
    """
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    if len(patch) > LONGEST_PATCH:
        raise PatchError(f"the patch has {len(patch)} characters, and {LONGEST_PATCH} are read")
    try:
        files = PatchSet(patch if patch.endswith("\n") else f"{patch}\n")
    except (UnidiffParseError, ValueError) as error:
        raise PatchError(f"the patch cannot be read: {error}"[:500]) from None
    change: dict[str, str | None] = {}
    for file in files:
        _change_file({**tree, **change}, file, change)
    return change


def _change_file(
    tree: Mapping[str, str | None], file: PatchedFile, change: dict[str, str | None]
) -> None:
    path, source = _plain_path(file.target_file), _plain_path(file.source_file)
    if file.is_binary_file:
        raise PatchError(f"`{path or source}`: binary files cannot be changed")
    before = tree.get(source or path)
    if source and before is None:
        raise PatchError(f"`{source}`: there is no such file")
    if not source and before is not None:
        raise PatchError(f"`{path}`: it is there already, and the patch makes it new")
    after = _applied(before or "", file, source or path)
    if not path and after:
        raise PatchError(f"`{source}`: the patch removes it, and leaves some of it")
    copied = any(line.startswith("copy from") for line in file.patch_info or ())
    if not path or (file.is_rename and not copied):
        change[source] = None
    if path:
        change[path] = after


def _plain_path(path: str) -> str:
    path = path.split("\t", 1)[0].strip()
    if path == "/dev/null":
        return ""
    return check_path(path[2:] if path[:2] in {"a/", "b/"} else path)


def check_path(path: str) -> str:
    """Return ``path`` if it lies inside the tree.

    Raises:
        PatchError: if it does not.
    """
    parts = path.split("/")
    if not path or len(path) > 1000 or _FUNNY.search(path) or {"", ".", "..", ".git"} & {*parts}:
        raise PatchError(f"`{path[:200]!r}` is no path inside the tree")
    return path


def _applied(text: str, file: PatchedFile, path: str) -> str:
    lines: list[str] = re.findall(r".*\n|.+", text)  # `splitlines` knows more ends than diffs do
    offset = 0
    for number, hunk in enumerate(file, 1):
        old, new = _sides(hunk)
        # A hunk without old lines stands behind the line that it names.
        wanted = hunk.source_start - (1 if hunk.source_length else 0) + offset
        place = _place(lines, old, wanted)
        if place is None:
            shown = "".join(old)[:300]
            raise PatchError(f"`{path}`, hunk {number} ({_header(hunk)}) does not apply: {shown}")
        lines[place : place + len(old)] = new
        offset += len(new) - len(old) + place - wanted
    return "".join(lines)


def _header(hunk: Hunk) -> str:
    old, new = (hunk.source_start, hunk.source_length), (hunk.target_start, hunk.target_length)
    return f"@@ -{old[0]},{old[1]} +{new[0]},{new[1]} @@"


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """Return the lines that a hunk looks for, and those that it puts there."""
    old: list[str] = []
    new: list[str] = []
    sides: tuple[list[str], ...] = ()
    for line in hunk:
        value = str(line.value)
        if line.line_type == "\\":  # "No newline at end of file" speaks of the line before
            for side in sides:
                side[-1] = side[-1].removesuffix("\n")
            continue
        sides = {"-": (old,), "+": (new,)}.get(line.line_type, (old, new))
        for side in sides:
            side.append(value)
    return old, new


def _place(lines: list[str], old: list[str], wanted: int) -> int | None:
    """Return where ``old`` stands in ``lines``, next to ``wanted``."""
    last = len(lines) - len(old)
    if not old:
        return min(max(wanted, 0), len(lines))
    fits = (
        place
        for place, line in enumerate(lines[: last + 1])
        if line == old[0] and lines[place : place + len(old)] == old
    )
    return min(fits, key=lambda place: abs(place - wanted), default=None)


def change_of(value: Any, tree: Tree) -> Change:
    """Return the change that JSON says: a patch as text, or path -> content (null: gone).

    Raises:
        PatchError: if it is neither, or the patch does not apply.
    """
    if isinstance(value, str):
        return changed(tree, value)
    if not isinstance(value, Mapping):
        raise PatchError("a change is a patch as text, or a mapping of paths to contents")
    change: dict[str, str | None] = {}
    for path, content in value.items():
        if content is not None and not isinstance(content, str):
            raise PatchError(f"the content of `{path}` is no text")
        change[check_path(path)] = content
    return change
