"""Units that an answer may carry: what they measure and how large they are."""

import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """``size`` in the base unit of ``dimension``: a centimetre is 1/100 of a length."""

    dimension: str
    size: Fraction


PERCENT = Unit("percent", Fraction(1, 100))

# dimension: size in its base unit: names. Plurals in -s are understood.
_TABLE: dict[str, dict[Fraction, str]] = {
    "length": {
        Fraction(1): "m meter metre",
        Fraction(1000): "km kilometer kilometre",
        Fraction(1, 100): "cm centimeter centimetre",
        Fraction(1, 1000): "mm millimeter millimetre",
        Fraction(3048, 10000): "ft foot feet",
        Fraction(254, 10000): "inch inches",
        Fraction(9144, 10000): "yd yard",
        Fraction(1609344, 1000): "mi mile",
    },
    "mass": {
        Fraction(1): "kg kilogram",
        Fraction(1, 1000): "g gram",
        Fraction(1, 10**6): "mg milligram",
        Fraction(45359237, 10**8): "lb lbs pound",
        Fraction(45359237, 16 * 10**8): "oz ounce",
        Fraction(1000): "tonne",
    },
    "time": {
        Fraction(1): "s sec second",
        Fraction(60): "min minute",
        Fraction(3600): "h hr hour",
        Fraction(86400): "day",
        Fraction(604800): "week",
        Fraction(1, 1000): "ms millisecond",
    },
    "months": {Fraction(1): "month", Fraction(12): "yr year"},
    "volume": {
        Fraction(1): "L l liter litre",
        Fraction(1, 1000): "mL ml milliliter millilitre",
    },
    "angle": {Fraction(1): "degree deg", Fraction(1, 60): "arcminute"},
    "dollars": {Fraction(1): "$ dollar USD", Fraction(1, 100): "cent ¢"},
    "euros": {Fraction(1): "€ euro EUR"},
    "pounds sterling": {Fraction(1): "£ GBP"},
    "yen": {Fraction(1): "¥ yen JPY yuan"},
    "rupees": {Fraction(1): "₹ rupee INR"},
    "speed": {Fraction(1): "mph", Fraction(1609344, 10**6): "kmh kph"},
}  # fmt: skip
_UNITS = {
    name: Unit(dimension, size)
    for dimension, sizes in _TABLE.items()
    for size, names in sizes.items()
    for name in names.split()
} | dict.fromkeys(["%", "percent", "percentage", "pct", "percentage point"], PERCENT)
_MULTIPLES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12,
}  # fmt: skip
_NOT_A_LABEL = frozenset(
    [
        *("and", "or", "not", "no", "never", "nor", "neither", "either", "otherwise", "if", "when"),
        *("maybe", "perhaps", "possibly", "except", "without", "where", "unless", "wrong", "false"),
        *("incorrect", "least", "most", "more", "less", "than", "at", "to", "half", "third"),
        *("quarter", "times", "plus", "minus", "over", "divided", "squared", "cubed", "base"),
        *("pi", "sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "sqrt", "mod"),
        *"abcdeiknpqrtuvwxyz",
    ]
)
_SHAPED = re.compile(r"(?:square|sq\.?|cubic|cu\.?)\s+(\w+)|(\w+?)(?:\s+squared|\s+cubed)")
_POWER = re.compile(r"\^\{?([23])\}?$")
_WORD = re.compile(r"[A-Za-z$€£¥₹¢%]+")


@dataclass(frozen=True, slots=True)
class Label:
    """What stands after a number: ``factor`` times, of ``unit`` (None: of something)."""

    factor: int
    unit: Unit | None


def read_label(text: str, *, apart: bool, in_text: bool = False) -> Label | None:
    r"""The unit, counting word or thing in ``text``; None if it may be mathematics.

    ``apart`` says that a space or a ``\text{}`` stood between it and the number,
    so that one letter is a unit: ``5\text{ m}`` is a length, ``5m`` a product.
    ``in_text`` says that it stood in ``\text{}``, where any word is a thing.
    """
    text = text.strip().strip("()").replace("/", " per ")
    if text in (r"^\circ", r"^{\circ}"):
        return Label(1, _UNITS["degree"])
    power = _POWER.search(text)
    exponent = int(power[1]) if power else 1
    name = text[: power.start()].strip() if power else text
    if len(name) == 1 and name.isalpha() and not (apart or power):
        return None
    if name in _UNITS:
        return Label(1, _raised(_UNITS[name], exponent))
    words = _WORD.findall(name)
    if not words or " ".join(words) != " ".join(name.split()):
        return None
    if any(word.lower() in _NOT_A_LABEL for word in words):
        return None
    label = _from_words(words, exponent)
    known = label.unit is not None or label.factor != 1
    return label if known or in_text or (apart and len(words[0]) > 3) else None


def _from_words(words: list[str], power: int) -> Label:
    factor = 1
    while words and words[0].lower() in _MULTIPLES:
        factor *= _MULTIPLES[words[0].lower()]
        words = words[1:]
    if not words:
        return Label(factor, None)
    shaped = _SHAPED.fullmatch(" ".join(words).lower())
    if shaped:
        power = 3 if "cub" in " ".join(words).lower() or words[0].startswith("cu") else 2
        words = [shaped[1] or shaped[2]]
    unit = _find(words[0]) if len(words) == 1 else None
    return Label(factor, _raised(unit, power) if unit else None)


def _find(name: str) -> Unit | None:
    for spelling in (name, name.lower(), name.lower().removesuffix("s")):
        if spelling in _UNITS:
            return _UNITS[spelling]
    return None


def _raised(unit: Unit, power: int) -> Unit:
    return unit if power == 1 else Unit(f"{unit.dimension}^{power}", unit.size**power)
