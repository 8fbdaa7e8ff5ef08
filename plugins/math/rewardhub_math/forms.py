r"""The structure of an answer: lists, sets, tuples, intervals, matrices, and their leaves.

An inequality is read as the interval it describes and ``\pm`` as two values,
so that one comparison serves every way of writing. Leaves that are not plain
numbers or words are left to the symbolic stage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from rewardhub_math.exact import Number, read_number
from rewardhub_math.tidy import unwrap
from rewardhub_math.units import Unit, read_label


@dataclass(frozen=True, slots=True)
class Leaf:
    r"""One value: its text, the name it was assigned to, and what it was read as.

    ``words`` is the normalised text of an answer in words; ``unit`` is that of an
    expression which is no plain number (a Number has its own); ``rounded`` is what
    the same answer says that its value is about, as in ``\sqrt{2} \approx 1.41``.
    """

    text: str
    name: str = ""
    number: Number | None = None
    words: str = ""
    unit: Unit | None = None
    rounded: Number | None = None


@dataclass(frozen=True, slots=True)
class Ordered:
    """Items in brackets whose order counts: a tuple, an interval, a matrix or its row."""

    brackets: str
    items: tuple["Form", ...]


@dataclass(frozen=True, slots=True)
class Unordered:
    """Items whose order does not count: a set, a union, or (not ``braced``) a plain list."""

    items: tuple["Form", ...]
    braced: bool = True


Form = Leaf | Ordered | Unordered

_OPENING = "([{"
_CLOSING = ")]}"
_MEMBER = re.compile(r"[A-Za-z](?:_\{?\w+\}?)?\s*\\in\s*(?=[\[({\\])")
_MATRIX = re.compile(
    r"\\begin\{([pbBvV]?)(?:small)?matrix\}((?:(?!\\begin).)*)\\end\{\1(?:small)?matrix\}",
    re.DOTALL,
)
_VARIABLE = r"([A-Za-z](?:_\{?\w+\}?)?|\\[a-z]+(?=\s*(?:[<>]|\\[lg]e)))"
_RELATION = r"\s*(<|>|\\le(?![a-z])|\\ge(?![a-z]))\s*"
_RELATIONS = re.compile(r"<|>|\\[lg]e(?![a-z])")
_END = r"([^<>=,;]+?)"
_BETWEEN = re.compile(rf"{_END}{_RELATION}{_VARIABLE}{_RELATION}{_END}")
_BOUND_RIGHT = re.compile(rf"{_VARIABLE}{_RELATION}{_END}")
_BOUND_LEFT = re.compile(rf"{_END}{_RELATION}{_VARIABLE}")
_UP = {"<": "(", r"\le": "["}  # a < x: the bracket at a
_DOWN = {">": ")", r"\ge": "]"}  # a > x: the bracket at a
_EQUALITY = re.compile(r"(?<![\\<>!:=])=(?!=)")
# Possessive, so that a hostile name cannot make it backtrack.
_NAME = re.compile(
    r"(?:\(\d++\)|[A-Za-z|()',:\s/{}]"
    r"|\\text\{[^{}]*\}"
    r"|\\(?!(?:pm|mp|cdot|times|div|sqrt|pi|le|ge|neq|in|cup|cap|infty|log|ln|sin|cos|tan|begin)"
    r"(?![A-Za-z]))[A-Za-z]++"
    r"|_(?:\{\w++\}|\w))++"
)
_LETTER = re.compile(r"[A-Za-z\\]")
_UNIT = re.compile(r"(?<=[\d)}\w])\s*(?:\\text\{([^{}]*)\}|(?<=[})]) ([A-Za-z]+))$")
_WORDS = re.compile(r"(?:\\text\{)?\s*([A-Za-z][A-Za-z' -]*[A-Za-z])\s*\}?\.?")
_INFINITY = re.compile(r"[+-]?\\infty")
_VARIABLE_NAME = re.compile(r"[A-DF-HJ-Za-df-hj-z]")  # but not the numbers e and i
_ARTICLE = re.compile(r"(?:the|an?)\s+")
_MATHEMATICAL_WORDS = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "sqrt", "pi", "infty", "det"]
)


def read_form(text: str) -> Form:
    """The structure of a tidied ``text``. Never fails: what has none is a leaf."""
    number = read_number(text)
    if number is not None:
        return Leaf(text, number=number)
    text = _MEMBER.sub("", text, count=1) if _MEMBER.match(text) else text
    for pieces, braced in ((_split(text, r"\cup"), True), (_split_list(text), False)):
        if len(pieces) > 1:
            return _unordered([read_form(unwrap(piece)) for piece in pieces], braced=braced)
    matrix = _MATRIX.fullmatch(text.strip("()"))
    if matrix:
        rows = [_row(row) for row in matrix[2].split(r"\\") if row.strip()]
        return Ordered("||" if matrix[1] in ("v", "V") else "matrix", tuple(rows))
    return _bracketed(text) or _inequality(text) or _two_values(text) or _leaf(text)


def _row(row: str) -> Ordered:
    return Ordered("row", tuple(read_form(unwrap(cell)) for cell in row.split("&")))


def _unordered(forms: Sequence[Form], *, braced: bool) -> Form:
    items: list[Form] = []
    for form in forms:
        items.extend(form.items if isinstance(form, Unordered) else (form,))
    return items[0] if len(items) == 1 else Unordered(tuple(items), braced)


def _split_list(text: str) -> list[str]:
    return _split(text, ";") if ";" in text and len(_split(text, ";")) > 1 else _split(text, ",")


def _split(text: str, separator: str) -> list[str]:
    if separator not in text:
        return [text]
    pieces: list[str] = []
    start = depth = 0
    for position, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0 and text.startswith(separator, position):
            pieces.append(text[start:position])
            start = position + len(separator)
    return [piece for piece in (*pieces, text[start:]) if piece.strip()]


def _bracketed(text: str) -> Form | None:
    opening = text[:2] if text.startswith(r"\{") else text[:1]
    closing = text[-2:] if text.endswith(r"\}") else text[-1:]
    if opening not in ("(", "[", "{", r"\{") or closing not in (")", "]", "}", r"\}"):
        return None
    inside = text[len(opening) : -len(closing)]
    if not _is_one_piece(inside):
        return None
    if opening[-1] == "{" or closing[-1] == "}":
        items = [read_form(unwrap(piece)) for piece in _split_list(inside)]
        if not items or opening[-1] + closing[-1] != "{}":
            return None
        # In LaTeX a bare brace only groups: {1,2} is printed as 1,2.
        return _unordered(items, braced=opening == r"\{")
    pieces = _split_list(inside)
    if len(pieces) < 2:
        return read_form(unwrap(inside)) if opening + closing in ("()", "[]") and pieces else None
    brackets = opening + closing if len(pieces) == 2 else "()"
    return Ordered(brackets, tuple(read_form(unwrap(piece)) for piece in pieces))


def _is_one_piece(inside: str) -> bool:
    depth = 0
    for character in inside:
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth < 0:
            return False
    return depth == 0


def _inequality(text: str) -> Form | None:
    if not 1 <= len(_RELATIONS.findall(text)) <= 2:
        return None
    between = _BETWEEN.fullmatch(text)
    if between:
        low, left, _, right, high = between.groups()
        if left in _DOWN and right in _DOWN:
            low, left, right, high = high, _flip(right), _flip(left), low
        if left in _UP and right in _UP:
            return _interval(_UP[left], low, high, _DOWN[_flip(right)])
        return None
    bound = _BOUND_RIGHT.fullmatch(text)
    if bound:
        return _half_line(bound[2], bound[3])
    bound = _BOUND_LEFT.fullmatch(text)
    return _half_line(_flip(bound[2]), bound[1]) if bound else None


def _flip(relation: str) -> str:
    return {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le"}[relation]


def _half_line(relation: str, bound: str) -> Ordered | None:
    """The values of x where ``x relation bound``."""
    if relation in _DOWN:
        return _interval(_UP[_flip(relation)], bound, r"\infty", ")")
    return _interval("(", r"-\infty", bound, _DOWN[_flip(relation)])


def _interval(opening: str, low: str, high: str, closing: str) -> Ordered:
    return Ordered(opening + closing, (read_form(unwrap(low)), read_form(unwrap(high))))


def _two_values(text: str) -> Form | None:
    if r"\pm" not in text or "=" in text:
        return None
    upper = text.replace(r"\pm", "+").replace(r"\mp", "-")
    lower = text.replace(r"\pm", "-").replace(r"\mp", "+")
    return Unordered((read_form(unwrap(upper.lstrip("+"))), read_form(unwrap(lower))))


def _leaf(text: str) -> Form:
    exact, *about = text.split(r"\approx")
    if about and exact.strip() and not _is_name(exact):
        form = read_form(unwrap(exact))
        return replace(form, rounded=read_number(unwrap(about[-1]))) if _is_leaf(form) else form
    text = "=".join([exact, *about])
    parts = [part.strip() for part in _EQUALITY.split(text)]
    if len(parts) > 1 and all(parts):
        first, last = parts[0], parts[-1]
        if len(parts) == 2 and not _is_name(first) and _is_name(last):
            first, last = last, first  # "5 = x"
        if _is_name(first) or len(parts) > 2 or not _LETTER.search(first + last):
            form = read_form(unwrap(last))
            return replace(form, name=first) if _is_name(first) and _is_leaf(form) else form
    if _INFINITY.fullmatch(text) or _VARIABLE_NAME.fullmatch(text):
        return Leaf(text, words=text.lstrip("+"))
    words = _WORDS.fullmatch(text)
    if words and not _MATHEMATICAL_WORDS.intersection(words[1].lower().split()):
        return Leaf(text, words=_ARTICLE.sub("", " ".join(words[1].lower().split()), count=1))
    return _without_unit(text)


def _is_leaf(form: Form) -> TypeGuard[Leaf]:
    return isinstance(form, Leaf)


def _without_unit(text: str) -> Leaf:
    match = _UNIT.search(text)
    label = read_label(match[1] or match[2], apart=True) if match else None
    if match is None or label is None or label.unit is None or label.factor != 1:
        return Leaf(text)
    return Leaf(text[: match.start()].strip(), unit=label.unit)


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) and bool(_LETTER.search(text))


def has_relation(text: str) -> bool:
    """Whether a tidied text holds an inequality."""
    return bool(_RELATIONS.search(text))


def leaves(form: Form) -> Iterator[Leaf]:
    """Every leaf of a form, from left to right."""
    if isinstance(form, Leaf):
        yield form
    else:
        for item in form.items:
            yield from leaves(item)
