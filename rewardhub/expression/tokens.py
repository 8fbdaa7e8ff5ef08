"""Text to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rewardhub.expression.errors import ExpressionError

__all__ = ["FUNCTIONS", "MAX_LENGTH", "RESERVED", "Token", "is_name", "tokens_of"]

MAX_LENGTH = 4000
"""The longest expression that is read, in characters."""

FUNCTIONS = frozenset({"abs", "max", "min"})
RESERVED = FUNCTIONS | {"and", "false", "not", "or", "true"}
"""The words that cannot be names."""

# A mark is a symbol or a reserved word: what the grammar itself is made of.
TokenKind = Literal["number", "name", "string", "mark", "end"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>{_NAME}(?:\.{_NAME})*)
    | (?P<string>'[^']*'|"[^"]*")
    | (?P<mark>[=!<>]=|[<>()+\-*/,])
    """,
    re.VERBOSE,
)
_INSTEAD = {
    "=": "Say `==` to compare.",
    "&": "Say `and`.",
    "|": "Say `or`.",
    "!": "Say `not`.",
    "'": "The quote is never closed.",
    '"': "The quote is never closed.",
}


class Token(NamedTuple):
    """A word of the language and its 0-based offset. The last token of a text is its ``end``."""

    kind: TokenKind
    text: str
    position: int


def is_name(text: str) -> bool:
    """Return whether ``text`` can stand in an expression as the id of a part."""
    return re.fullmatch(_NAME, text) is not None and text not in RESERVED


def tokens_of(text: str, *, dotted: bool) -> Iterator[Token]:
    """Yield the tokens of ``text``, then its end; strings and dots only where ``dotted``.

    Raises:
        ExpressionError: at a character that begins no token, or when ``text`` is too long.
    """
    if len(text) > MAX_LENGTH:
        problem = f"The expression has {len(text)} characters; at most {MAX_LENGTH} are read."
        raise ExpressionError(problem, text, MAX_LENGTH)
    position = 0
    while match := _TOKEN.match(text, position):
        token = Token(_kind_of(match), match[0], position)
        position = match.end()
        if match.lastgroup == "space":
            continue
        if not dotted:
            _refuse_fields(token, text)
        yield token
    if position < len(text):
        character = text[position]
        hint = _INSTEAD.get(character, "Use numbers, names, comparisons, and + - * /.")
        raise ExpressionError(f"`{character}` cannot be read here. {hint}", text, position)
    yield Token("end", "", position)


def _kind_of(match: re.Match[str]) -> TokenKind:
    if match.lastgroup == "number":
        return "number"
    if match.lastgroup == "string":
        return "string"
    if match.lastgroup == "name" and match[0] not in RESERVED:
        return "name"
    return "mark"


def _refuse_fields(token: Token, text: str) -> None:
    if token.kind == "string":
        problem = f"{token.text} is text, and everything here is a number. Compare with a number."
        raise ExpressionError(problem, text, token.position)
    if token.kind == "name" and "." in token.text:
        problem = f"`{token.text}` has a dot, and the id of a part has none."
        raise ExpressionError(problem, text, token.position + token.text.index("."))
