"""Limits on an answer before any parser sees it.

Model text is written by an optimiser that is paid for making graders slow, so
these checks are linear scans of the text. What passes them may still be slow
to simplify; that is what the killable worker is for.
"""

import re

MAX_CHARS = 2_000
MAX_NESTING = 32
MAX_COMMANDS = 200
MAX_SEPARATORS = 256
MAX_DIGITS_IN_A_ROW = 400
MAX_EXPONENT = 9_999
MAX_FACTORIAL = 9_999
MAX_NODES = 512

_COMMAND = re.compile(r"\\[A-Za-z]+")
_SEPARATOR = re.compile(r"[,;&]|\\\\")
_DIGITS = re.compile(rf"\d{{{MAX_DIGITS_IN_A_ROW + 1}}}")
_LARGE_EXPONENT = re.compile(r"(?:\^|\*\*|(?<=[\d.])[eE])\s*[{(]?\s*[+-]?\s*(\d{4,})")
_LARGE_FACTORIAL = re.compile(r"(\d{4,})\s*[)}]?\s*!")
_POWER = r"(?:\^|\*\*)\s*[{(]?\s*"
_TOWER = re.compile(rf"{_POWER}(\d+)\s*{_POWER}(\d+)\s*[)}}]?\s*(\^|\*\*)?")
_REPEATED_FACTORIAL = re.compile(r"!\s*[)}]?\s*!")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


def over_limit(text: str) -> str | None:
    """Why ``text`` is too large to be handed to a parser, or None if it is not."""
    if len(text) > MAX_CHARS:
        return f"it has {len(text)} characters, more than {MAX_CHARS}"
    if len(text) <= MAX_NESTING:  # too short to be too deep or to have too many of anything
        return _too_large_a_number(text)
    return _too_deep(text) or _too_many(text) or _too_large_a_number(text)


def _too_deep(text: str) -> str | None:
    depth = deepest = 0
    for character in text:
        if character in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSING:
            depth -= 1
    return f"it is nested more than {MAX_NESTING} deep" if deepest > MAX_NESTING else None


def _too_many(text: str) -> str | None:
    if len(_COMMAND.findall(text)) > MAX_COMMANDS:
        return f"it has more than {MAX_COMMANDS} LaTeX commands"
    if len(_SEPARATOR.findall(text)) > MAX_SEPARATORS:
        return f"it has more than {MAX_SEPARATORS} elements"
    return None


def _too_large_a_number(text: str) -> str | None:
    if _DIGITS.search(text):
        return f"it has a number of more than {MAX_DIGITS_IN_A_ROW} digits"
    if any(int(m[1][:9]) > MAX_EXPONENT for m in _LARGE_EXPONENT.finditer(text)):
        return f"it has an exponent above {MAX_EXPONENT}"
    if any(int(m[1][:9]) > MAX_FACTORIAL for m in _LARGE_FACTORIAL.finditer(text)):
        return f"it has a factorial of more than {MAX_FACTORIAL}"
    if any(_is_huge(*m.groups()) for m in _TOWER.finditer(text)):
        return f"it has a tower of powers above an exponent of {MAX_EXPONENT}"
    if _REPEATED_FACTORIAL.search(text):
        return "it has a factorial of a factorial"
    return None


def _is_huge(base: str, exponent: str, higher: str | None) -> bool:
    return higher is not None or len(base) * int(exponent[:9]) > len(str(MAX_EXPONENT))
