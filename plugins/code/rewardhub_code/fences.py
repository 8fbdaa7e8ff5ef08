"""Fenced blocks of Markdown: where each begins, which language it says, and whether it closes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_LANGUAGE = re.compile(r"[A-Za-z][\w+#.-]*")
_MARKDOWN = frozenset({"markdown", "md", "mdx"})
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
"""Characters that nobody sees, and that Python refuses outside of texts."""

_DEPTH = 3
"""How deep blocks of Markdown inside blocks of Markdown are followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        language: the first word after the fence, in lower case; empty if there is none.
        info: all that stands after the fence.
        text: the lines between, without the indentation of the fence, each with its newline.
        closed: whether the fence is closed; one that is not reaches to the next or to the end.
    """

    language: str
    info: str
    text: str
    closed: bool


@dataclass(slots=True)
class _Open:
    character: str
    length: int
    indent: int
    info: str
    lines: list[str]

    def block(self, *, closed: bool) -> Block:
        said = _LANGUAGE.match(self.info.strip().lstrip("{.").strip())
        return Block(
            language=said[0].lower() if said else "",
            info=self.info.strip(),
            text="".join(f"{_dedented(line, self.indent)}\n" for line in self.lines),
            closed=closed,
        )


def _dedented(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]


def blocks_of(text: str, *, depth: int = _DEPTH) -> list[Block]:
    """Return the fenced blocks of ``text``, in order.

    As CommonMark has them, but for what models write: a fence may be indented at any depth (as in
    lists); one that names a language inside an open block of the same kind begins a new block; and
    the blocks inside a block of Markdown count in its place. Blocks in HTML comments do not count.
    Time grows with the length of ``text``.
    """
    blocks: list[Block] = []
    for block in _outer_blocks(text):
        if block.language in _MARKDOWN and depth:
            blocks.extend(blocks_of(block.text, depth=depth - 1))
        else:
            blocks.append(block)
    return blocks


def visible(text: str) -> str:
    """Return a text that has no fences without its HTML comments that begin a line."""
    kept: list[str] = []
    hidden = False
    for line in text.split("\n"):
        hidden, was_hidden = _hides(line, hidden=hidden), hidden
        if not hidden and not was_hidden:
            kept.append(line)
    return "\n".join(kept)


def _outer_blocks(text: str) -> Iterator[Block]:
    opened: _Open | None = None
    hidden = False
    for line in text.split("\n"):
        if opened is None:
            hidden, was_hidden = _hides(line, hidden=hidden), hidden
            if hidden or was_hidden:
                continue
        fence = _fence_in(line)
        if fence is not None and (opened is None or _begins_anew(opened, fence)):
            if opened is not None:
                yield opened.block(closed=False)
            opened = fence
        elif fence is not None and opened is not None and _closes(opened, fence):
            yield opened.block(closed=True)
            opened = None
        elif opened is not None:
            opened.lines.append(line)
    if opened is not None:
        yield opened.block(closed=False)


def _hides(line: str, *, hidden: bool) -> bool:
    """Whether the text after ``line`` is inside an HTML comment."""
    if not hidden and not line.lstrip().startswith("<!--"):
        return False
    return line.rfind("-->") < max(0, line.rfind("<!--"))


def _fence_in(line: str) -> _Open | None:
    found = _FENCE.fullmatch(INVISIBLE.sub("", line) if not line.isascii() else line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return None
    indent = len(line) - len(line.lstrip(" \t"))
    return _Open(found[1][0], len(found[1]), indent, found[2], [])


def _closes(opened: _Open, fence: _Open) -> bool:
    # Deeper than that it is text of the block, as in a docstring that shows an example.
    return (
        fence.character == opened.character
        and fence.length >= opened.length
        and not fence.info.strip()
        and fence.indent < opened.indent + 4
    )


def _begins_anew(opened: _Open, fence: _Open) -> bool:
    return (
        fence.character == opened.character
        and fence.length == opened.length
        and bool(_LANGUAGE.match(fence.info.strip().lstrip("{.").strip()))
        and fence.indent < opened.indent + 4
    )
