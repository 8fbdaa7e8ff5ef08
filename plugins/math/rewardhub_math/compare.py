"""Comparing forms: whether two structures hold the same values, whatever decides on values."""

import re
from collections.abc import Callable, Iterator, Sequence

from rewardhub_math.exact import Number, same_number
from rewardhub_math.forms import Form, Leaf, Ordered, Unordered

SameLeaf = Callable[[Leaf, Leaf], bool | None]

_BRACES_AND_SPACES = re.compile(r"[{}\s]")


def same_inline(one: Leaf, other: Leaf, precision: int) -> bool | None:
    """Whether two leaves are the same, or None where only mathematics can tell."""
    if not same_name(one, other):
        return False if one.number and other.number else None
    if one.number and other.number:
        same = same_number(one.number, other.number, precision)
        return same or is_rounding(one, other, precision) or is_rounding(other, one, precision)
    if one.text.replace(" ", "") == other.text.replace(" ", ""):
        return True
    if one.words and other.words:
        return _same_words(one, other)
    return False if _is_prose(one) or _is_prose(other) else None


def same_name(one: Leaf, other: Leaf) -> bool:
    """Whether two leaves are values of the same thing: a name may be left out."""
    names = [_BRACES_AND_SPACES.sub("", leaf.name) for leaf in (one, other)]
    return not all(names) or names[0] == names[1]


def is_rounding(one: Leaf, other: Leaf, precision: int, value: Number | None = None) -> bool:
    r"""Whether ``other`` is what ``one`` rounds itself to, as in ``\sqrt{2} \approx 1.41``.

    ``value`` is that of ``one``, by default its number: what is about something
    else than itself says nothing.
    """
    value, rounded = value or one.number, one.rounded
    if not (value and rounded and other.number):
        return False
    return abs(value.value - rounded.value) <= (rounded.place or 1) and same_number(
        rounded, other.number, precision
    )


def _same_words(one: Leaf, other: Leaf) -> bool | None:
    if one.words == other.words:
        return True
    # "xy" and "yx" may be products, but nothing is multiplied in "east" and "west".
    return False if _is_prose(one) or _is_prose(other) else None


def _is_prose(leaf: Leaf) -> bool:
    if not leaf.words:
        return False
    return len(leaf.words) > 3 or leaf.words in ("yes", "no") or r"\text" in leaf.text


def compare(one: Form, other: Form, same: SameLeaf) -> bool | None:
    """Whether two forms say the same, by ``same`` on their leaves; None if it cannot tell.

    Symmetric as long as ``same`` is. A list or set equals only one with the same
    members, so an answer that lists alternatives is never right because of one.
    """
    if isinstance(one, Leaf) and isinstance(other, Leaf):
        return same(one, other)
    if isinstance(one, Ordered) and isinstance(other, Ordered):
        if one.brackets != other.brackets or len(one.items) != len(other.items):
            return False
        return _all(compare(a, b, same) for a, b in zip(one.items, other.items, strict=True))
    if isinstance(one, Unordered) and isinstance(other, Unordered):
        return _same_members(one, other, same)
    if isinstance(other, Unordered):
        one, other = other, one
    if isinstance(one, Unordered):
        return _same_as_list(one, other, same)
    # A leaf against brackets: only a plain number or words surely differ from them.
    leaf = one if isinstance(one, Leaf) else other
    return False if _is_closed(leaf) else None


def _all(verdicts: Iterator[bool | None]) -> bool | None:
    unknown = False
    for verdict in verdicts:
        if verdict is False:
            return False
        unknown |= verdict is None
    return None if unknown else True


def _same_members(one: Unordered, other: Unordered, same: SameLeaf) -> bool | None:
    # "15 39/40 or 639/40" is one value; a union of touching intervals may be one interval.
    items, left = _distinct(one.items, same), _distinct(other.items, same)
    closed = all(map(_is_closed, (*items, *left)))
    if len(items) != len(left):
        return False if closed else None
    unknown = False
    for item in items:
        match = _find(item, left, same)
        if match is not None:
            del left[match]
        elif closed:
            return False
        else:
            unknown = True
    return None if unknown else True


def _find(item: Form, candidates: Sequence[Form], same: SameLeaf) -> int | None:
    return next((i for i, other in enumerate(candidates) if compare(item, other, same)), None)


def _distinct(items: Sequence[Form], same: SameLeaf) -> list[Form]:
    distinct: list[Form] = []
    for item in items:
        if _find(item, distinct, same) is None:
            distinct.append(item)
    return distinct


def _is_closed(form: Form) -> bool:
    """Whether a form differs from another wherever they are not plainly the same."""
    if isinstance(form, Leaf):
        return bool(form.number or form.words)
    return not _is_interval(form) and all(map(_is_closed, form.items))


def _is_interval(form: Form) -> bool:
    return isinstance(form, Ordered) and len(form.items) == 2 and form.brackets != "matrix"


def _same_as_list(listed: Unordered, other: Form, same: SameLeaf) -> bool | None:
    """A list against what is none: one value said in several ways, or a tuple without brackets."""
    items = _distinct(listed.items, same)
    if len(items) == 1:
        return compare(items[0], other, same)
    if isinstance(other, Ordered) and other.brackets == "()" and not listed.braced:
        return compare(Ordered("()", listed.items), other, same)
    bracketed = isinstance(other, Ordered)
    return False if _is_closed(listed) and (bracketed or _is_closed(other)) else None
