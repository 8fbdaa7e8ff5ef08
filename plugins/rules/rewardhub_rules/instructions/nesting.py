"""How deep brackets and quotation marks are nested; only what is closed counts."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["depth_of_brackets", "depth_of_quotes"]

_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_BRACKET: Final = re.compile(r"[()\[\]{}]")
# An apostrophe stands between two letters or digits; a quotation mark never does.
_QUOTE: Final = re.compile("[\"\u201c\u201d]|(?<!\\w)['\u2018\u2019]|['\u2018\u2019](?!\\w)")
_PLAIN: Final = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")


def depth_of_brackets(text: str) -> int:
    """Return how many pairs of brackets of any kind stand inside each other, at most.

    A bracket that closes another kind than the last open one closes nothing, and forgets what is
    open. A bracket that is never closed is no pair, and hides none inside of it.
    """
    # Of each open bracket: which it is, and how deep the pairs inside of it go.
    opened: list[tuple[str, int]] = []
    deepest = 0
    for mark in _BRACKET.findall(text):
        if mark not in _CLOSES:
            opened.append((mark, 0))
        elif opened and opened[-1][0] == _CLOSES[mark]:
            deepest = max(deepest, _close(opened))
        else:
            opened.clear()
    return deepest


def depth_of_quotes(text: str) -> int:
    """Return how many quotations, by turns in double and single marks, stand inside each other.

    A mark that is the last open one closes it, and any other opens a quotation. Typographic marks
    count as plain ones; apostrophes inside of words count for nothing.
    """
    opened: list[tuple[str, int]] = []
    deepest = 0
    for mark in _QUOTE.findall(text):
        plain = mark.translate(_PLAIN)
        if opened and opened[-1][0] == plain:
            deepest = max(deepest, _close(opened))
        else:
            opened.append((plain, 0))
    return deepest


def _close(opened: list[tuple[str, int]]) -> int:
    """Close the last pair, and return how deep it goes."""
    depth = opened.pop()[1] + 1
    if opened:
        mark, inside = opened[-1]
        opened[-1] = (mark, max(inside, depth))
    return depth
