"""Do two answers say the same? First by what is cheap, then by what may be slow."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from rewardhub_math.compare import SameLeaf, compare, same_inline
from rewardhub_math.exact import read_decimal_comma, read_number, same_number
from rewardhub_math.forms import Form, Leaf, Unordered, has_relation, leaves, read_form
from rewardhub_math.limits import MAX_DIGITS_IN_A_ROW, over_limit
from rewardhub_math.tidy import tidy

Verdict = Literal["same", "different", "answer_unreadable", "reference_unreadable"]

_LONE_LETTER = re.compile(r"\(?([A-Za-z])\)?")
_OPTION = re.compile(r"(?<![A-Za-z])(?:\(([A-J])\)|([A-J])[).:])\s*(?=\S)")
_CHOICES = "ABCDE"


class Settings(NamedTuple):
    """How two answers are compared.

    ``precision`` counts significant digits of decimals. With ``allow_set_relation``
    off, an inequality does not answer a question whose reference is an interval.
    With ``strict`` off, the names of variables do not matter: f(x) is f(y).
    """

    precision: int = 6
    allow_set_relation: bool = True
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer in the one spelling (``text``) and what it was read as.

    ``problem`` says why it cannot be compared at all: it is empty or over a limit.
    ``is_plain`` says that it is made of plain numbers and words only.
    """

    text: str
    form: Form
    problem: str = ""
    is_plain: bool = True


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """Read one answer or reference. Never fails and never calls a parser."""
    if len(text) <= MAX_DIGITS_IN_A_ROW and text.isdecimal() and text.isascii():  # most answers
        return Reading(text, Leaf(text, number=read_number(text)))
    problem = over_limit(text)
    tidied = "" if problem else tidy(text)
    problem = problem or over_limit(tidied)
    if problem:
        return Reading("", Leaf(""), problem)
    if not tidied:
        return Reading("", Leaf(""), "it is empty")
    if not _balanced(tidied):
        return Reading("", Leaf(""), "its braces are not balanced")
    form = read_form(tidied)
    return Reading(tidied, form, is_plain=all(leaf.number or leaf.words for leaf in leaves(form)))


def _balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


def settle(answer: Reading, reference: Reading, settings: Settings) -> Verdict | None:
    """The verdict where strings, numbers and words decide it; None where they do not.

    Against a reference that only computer algebra can read, nothing but the same
    spelling is decided here: whether it can be read at all must not depend on the
    answer.
    """
    if reference.problem:
        return "reference_unreadable"
    same = None if answer.problem else _is_same(answer, reference, settings)
    if same:
        return "same"
    if not reference.is_plain:
        return None
    if answer.problem:
        return "answer_unreadable"
    return None if same is None else "different"


def _is_same(answer: Reading, reference: Reading, settings: Settings) -> bool | None:
    if answer.text == reference.text:
        return True
    same = _same_option(answer.text, reference.text)
    if same is None:
        same = _same_decimal_comma(answer, reference, settings.precision)
    if same is None:
        same = compare_forms(
            answer, reference, settings, lambda a, b: same_inline(a, b, settings.precision)
        )
    return same


def compare_forms(
    answer: Reading, reference: Reading, settings: Settings, same: SameLeaf
) -> bool | None:
    """Whether the forms are the same, by ``same`` on their leaves; None if it cannot tell."""
    if not settings.allow_set_relation and _is_relation_for_set(answer, reference):
        return False
    return compare(answer.form, reference.form, same)


def _same_option(one: str, other: str) -> bool | None:
    """``B``, ``(b)``, ``B. with its text``: options of a choice; None if one is no option."""
    a, b = _option(one), _option(other)
    if a is None or b is None:
        return None
    if len(one) == len(other) == 1 and one.upper() not in _CHOICES:
        return one == other  # two variables
    same_text = not a[1] or not b[1] or a[1] == b[1]
    return a[0] == b[0] and same_text


def _option(text: str) -> tuple[str, str] | None:
    if not (text[0].isalpha() or text[0] == "("):
        return None
    alone = _LONE_LETTER.fullmatch(text)
    if alone:
        return alone[1].upper(), ""
    options = list(_OPTION.finditer(text))
    if len(options) != 1 or options[0].start():
        return None
    return options[0][1] or options[0][2], text[options[0].end() :]


def _is_relation_for_set(answer: Reading, reference: Reading) -> bool:
    return has_relation(answer.text) and not (
        has_relation(reference.text) or isinstance(reference.form, Leaf)
    )


def _same_decimal_comma(one: Reading, other: Reading, precision: int) -> bool | None:
    """``2,74`` for ``2.74``: a comma is a decimal point only if the other side says so."""
    for plain, comma in ((one, other), (other, one)):
        if isinstance(plain.form, Leaf) and isinstance(comma.form, Unordered):
            decimal = read_decimal_comma(comma.text)
            if plain.form.number and decimal:
                return same_number(plain.form.number, decimal, precision)
    return None
