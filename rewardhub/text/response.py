"""Where the prompt ends and the response starts."""

from __future__ import annotations

__all__ = ["response_of"]


def response_of(query: str, prompt: str) -> str:
    """Return what follows the prompt in ``query``, which is the prompt and then the response.

    The trainer may have cut the prompt at its left to fit a length limit, so the response starts
    after the longest suffix of ``prompt`` that is a prefix of ``query``. Nothing inside the
    response can move that place by looking like a prompt. Where no end of the prompt is found at
    all, everything is response. Linear in the length of both.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    return query[_overlap(query[: len(prompt)], prompt) :]


def _overlap(pattern: str, text: str) -> int:
    """Return the length of the longest prefix of ``pattern`` that ends ``text``.

    Source: Knuth, Morris and Pratt (1977), Fast Pattern Matching in Strings.
    """
    if not pattern:
        return 0
    borders = _borders(pattern)
    matched = 0
    for character in text:
        while matched and (matched == len(pattern) or pattern[matched] != character):
            matched = borders[matched - 1]
        if pattern[matched] == character:
            matched += 1
    return matched


def _borders(pattern: str) -> list[int]:
    """Return for each prefix of ``pattern`` the length of its longest proper border.

    A border is both a prefix and a suffix.
    """
    borders = [0] * len(pattern)
    border = 0
    for index in range(1, len(pattern)):
        character = pattern[index]
        while border and pattern[border] != character:
            border = borders[border - 1]
        if pattern[border] == character:
            border += 1
        borders[index] = border
    return borders
