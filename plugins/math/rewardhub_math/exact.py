"""Plain numbers, read exactly and compared without a computer algebra system.

This stage settles most answers inline, in microseconds: integers, decimals,
fractions, mixed and repeating numbers, scientific notation, base-n numerals,
each with an optional unit, currency sign or percent sign.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from rewardhub_math.units import PERCENT, Label, Unit, read_label


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written.

    ``place`` is the value of the last decimal place shown (1/100 for ``2.50``),
    or 0 for an exact form such as ``5`` or ``1/3``. ``base`` is that of a base-n
    numeral, whose digits are ``numeral``.
    """

    value: Fraction
    place: Fraction = Fraction(0)
    unit: Unit | None = None
    base: int | None = None
    numeral: str = ""

    @property
    def is_percentage(self) -> bool:
        """Whether it is written with a percent sign."""
        return self.unit is PERCENT


_DECIMAL = r"(?:[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)|\d+)(?:\.\d*)?|\.\d+"
_SIGN = r"[+-]?\s*"
_TIMES = r"\s*(?:\*|x|\\times\s*|\\cdot\s*)\s*"
_EXPONENT = r"\{?\(?([+-]?\d{1,4})\)?\}?"
_TEXT_LABEL = re.compile(r"\s*\\text\{([^{}]*)\}(\^\{?[23]\}?)?$")
_PLAIN_LABEL = re.compile(
    r"(?<=[\d.)}])(\s*)(%|\^\{?\\circ\}?|[$€£¥₹¢]|[A-Za-z][A-Za-z ./]*(?:\^\{?[23]\}?)?)$"
)
_CURRENCY = re.compile(r"([+-]?)\s*([$€£¥₹]|USD|EUR)\s*(?=[\d.])")
_LEADING_WORDS = re.compile(
    r"(?:\\text\{)?(?:approximately|approx\.?|about|roughly|exactly|around)\}?\s*|\\approx\s*|=\s*"
)


def _decimal(digits: str) -> Number:
    digits = digits.replace(",", "").replace(" ", "")
    _, point, after = digits.partition(".")
    return Number(Fraction(digits + "0" if point else digits), _place(len(after)))


def _plain(match: re.Match[str]) -> Number:
    return _decimal(match[0])


def _place(decimals: int) -> Fraction:
    return Fraction(1, 10**decimals) if decimals else Fraction(0)


def _fraction(match: re.Match[str]) -> Number | None:
    over, under = _signed(match[1]), _signed(match[2])
    return Number(over.value / under.value) if under.value else None


def _mixed(match: re.Match[str]) -> Number | None:
    whole, over, under = (int(part) for part in match.groups())
    return Number(Fraction(whole * under + over, under)) if under > over else None


def _scientific(match: re.Match[str]) -> Number:
    number, power = _signed(match[1]), Fraction(10) ** int(match[2])
    return Number(number.value * power, (number.place or Fraction(1)) * power)


def _power_of_ten(match: re.Match[str]) -> Number:
    return Number(Fraction(10) ** int(match[1]))


def _repeating(match: re.Match[str]) -> Number:
    before, fixed, repeated = match[1] or "0", match[2], match[3]
    shift = 10 ** len(fixed)
    tail = Fraction(int(repeated), shift * (10 ** len(repeated) - 1))
    return Number(Fraction(int(before + fixed), shift) + tail)


def _based(match: re.Match[str]) -> Number | None:
    numeral, base = match[1].lstrip("0").upper() or "0", int(match[2])
    try:
        return Number(Fraction(int(numeral, base)), base=base, numeral=numeral)
    except ValueError:  # a digit that the base does not have, or no such base
        return None


def _prefixed(match: re.Match[str]) -> Number:
    base = {"x": 16, "b": 2, "o": 8}[match[1].lower()]
    numeral = match[2].lstrip("0").upper() or "0"
    return Number(Fraction(int(numeral, base)), base=base, numeral=numeral)


def _signed(text: str) -> Number:
    text = text.replace(" ", "")
    number = _decimal(text.lstrip("+-"))
    return replace(number, value=-number.value) if text.startswith("-") else number


_OPERAND = rf"({_SIGN}(?:{_DECIMAL}))"
_TABLE: tuple[tuple[str, Callable[[re.Match[str]], Number | None]], ...] = (
    (rf"{_DECIMAL}", _plain),
    (rf"{_OPERAND}/{_OPERAND}", _fraction),
    (rf"\\frac\{{{_OPERAND}\}}\{{{_OPERAND}\}}", _fraction),
    (r"(\d+) (\d+)/(\d+)", _mixed),
    (r"(\d+)\s*\\frac\{(\d+)\}\{(\d+)\}", _mixed),
    (rf"{_OPERAND}[eE]([+-]?\d{{1,4}})", _scientific),
    (rf"{_OPERAND}{_TIMES}10(?:\^|\*\*){_EXPONENT}", _scientific),
    (rf"10\^{_EXPONENT}", _power_of_ten),
    (r"(\d*)\.(\d*)\\(?:overline|bar|dot)\{(\d+)\}", _repeating),
    (r"(\d*)\.(\d*)\((\d+)\)", _repeating),
    (r"([0-9A-F]+)_\{?(\d{1,2})\}?", _based),
    (r"\(([0-9A-F]+)\)_\{?(\d{1,2})\}?", _based),
    (r"([0-9A-Fa-f]+)\s*(?:\\text\{)?\s*\(?(?:in )?base\s*-?(\d{1,2})\)?\}?", _based),
    (r"0([xbo])([0-9A-Fa-f]+)", _prefixed),
)
_FORMS = tuple((re.compile(pattern), read) for pattern, read in _TABLE)
_PARENTHESES = re.compile(r"\(([^()]*)\)|\{([^{}]*)\}")


def read_number(text: str) -> Number | None:
    r"""The plain number that a tidied ``text`` is, or None if it is anything else.

    ``read_number("-1 1/2")`` is -3/2; ``read_number("5 \\text{cm}")`` has a unit;
    ``read_number("2\\pi")`` is None, because π is not a plain number.
    """
    if text.isdecimal() and text.isascii():
        return Number(Fraction(int(text)))
    words = _LEADING_WORDS.match(text)
    text = text[words.end() :] if words else text
    currency = _CURRENCY.match(text)
    if currency:
        text = currency[1] + text[currency.end() :]
    number = _read_signed(text)
    if number is None:
        number = _read_labelled(text)
    if number is not None and currency and number.unit is None:
        label = read_label(currency[2], apart=True)
        number = replace(number, unit=label.unit if label else None)
    return number


def _read_signed(text: str) -> Number | None:
    bare = text.lstrip("+- ")
    if not bare or not (bare[0] in "0123456789.\\({" or bare[0] in "ABCDEF"):
        return None
    signs = text[: len(text) - len(bare)].replace(" ", "")
    if len(signs) > 1:
        return None
    inside = _PARENTHESES.fullmatch(bare)
    if inside:
        number = _read_signed(inside[1] or inside[2] or "")
    else:
        number = next(
            (n for p, read in _FORMS if (m := p.fullmatch(bare)) and (n := read(m))), None
        )
    if number is None or signs != "-":
        return number
    return replace(number, value=-number.value)


def _read_labelled(text: str) -> Number | None:
    match = _TEXT_LABEL.search(text)
    if match:
        label = read_label(match[1] + (match[2] or ""), apart=True, in_text=True)
    else:
        match = _PLAIN_LABEL.search(text)
        label = read_label(match[2], apart=bool(match[1])) if match else None
    if match is None or label is None:
        return None
    number = _read_signed(text[: match.start()].strip())
    return _labelled(number, label) if number else None


def _labelled(number: Number, label: Label) -> Number:
    return replace(
        number,
        value=number.value * label.factor,
        place=number.place * label.factor,
        unit=label.unit,
    )


_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(0|[1-9]\d*),(\d+)(?![\d.,])")


def read_decimal_comma(text: str) -> Number | None:
    """The number that ``text`` is if its only comma is a decimal point, as in ``2,74``."""
    if text.count(",") != 1:
        return None
    pointed = _DECIMAL_COMMA.sub(r"\1.\2", text)
    return read_number(pointed) if pointed != text else None


PercentRule = Literal["either", "share", "points"]
Agree = Callable[["Number", "Number"], bool]


def same_number(one: Number, other: Number, precision: int) -> bool:
    """Whether two numbers are the same, as written, to ``precision`` significant digits.

    Exact forms must be equal. A decimal equals what it is a rounding of: both
    agree to ``precision`` significant digits, and to the last place that is
    shown (so cents count in large amounts) or to ``precision`` decimal places.
    """
    return match_numbers(one, other, lambda a, b: _agree(a, b, precision))


def match_numbers(
    one: Number, other: Number, agree: Agree, percent: PercentRule = "either"
) -> bool:
    """Whether two numbers match: their values by ``agree``, their units by these rules.

    A unit may be missing on one side; two must measure the same thing, and then
    sizes count. A plain number matches a percentage as its ``share`` (0.5 for
    50%), as its ``points`` (50 for 50%), or ``either``, where points are at
    least 1: 0.5 is not 0.5%. Numerals in two bases differ even where their
    values agree, else copying the question would do.
    """
    if one.base != other.base:
        return _same_without_base(one, other) or _same_without_base(other, one)
    if one.unit == other.unit:
        return agree(one, other)
    if one.unit and other.unit:
        same_dimension = one.unit.dimension == other.unit.dimension
        return same_dimension and agree(in_base_unit(one), in_base_unit(other))
    plain, labelled = (one, other) if one.unit is None else (other, one)
    if not labelled.is_percentage:
        return agree(plain, labelled)
    as_points = percent == "points" or (percent == "either" and abs(plain.value) >= 1)
    as_share = percent != "points"
    return (as_points and agree(plain, labelled)) or (
        as_share and agree(plain, in_base_unit(labelled))
    )


def _same_without_base(based: Number, plain: Number) -> bool:
    """``204`` for ``204_5``: the base may be left out, as a unit may."""
    return plain.base is None and based.numeral.isdecimal() and plain.value == int(based.numeral)


def in_base_unit(number: Number) -> Number:
    """``number`` without its unit: a percentage as a share, centimetres as metres."""
    size = number.unit.size if number.unit else Fraction(1)
    return replace(number, value=number.value * size, place=number.place * size)


def _agree(one: Number, other: Number, precision: int) -> bool:
    if one.value == other.value:
        return True
    place = max(one.place, other.place)
    if not place:
        return False
    difference = abs(one.value - other.value)
    if difference >= place and difference > Fraction(1, 10**precision):
        return False
    return agree_to(one.value, other.value, precision)


def agree_to(one: Fraction, other: Fraction, precision: int) -> bool:
    """Whether two values differ by at most half a unit of the last of ``precision`` digits."""
    if one == other:
        return True
    larger = max(abs(one), abs(other))
    return abs(one - other) * 2 <= Fraction(10) ** (magnitude(larger) - precision + 1)


def magnitude(value: Fraction) -> int:
    """The power of ten of the first digit of a positive ``value``: 0 for 1 up to 10."""
    # Not by the digits as text: Python refuses to write integers of more than 4300.
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    power = math.floor(bits * math.log10(2))
    while Fraction(10) ** power > value:
        power -= 1
    while Fraction(10) ** (power + 1) <= value:
        power += 1
    return power
