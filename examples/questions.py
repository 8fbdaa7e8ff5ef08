r"""Questions with a known answer: sums, fractions, percentages, money, units, several steps.

Every question is made from a seed, and its reference is computed, never typed. The references are
written as a person would write them: ``17``, ``3/4``, ``12.50``, ``x = 6``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count, islice
from typing import NamedTuple


class Question(NamedTuple):
    """One question: what kind it is, its text, and the answer that counts as right."""

    kind: str
    text: str
    reference: str


_NAMES = ("Ada", "Bela", "Chidi", "Dana", "Emre", "Farah", "Goro", "Hanna", "Ines", "Jonas")
_THINGS = ("apples", "books", "cards", "marbles", "pencils", "shells", "stamps", "stickers")


def questions(number: int, *, seed: int) -> list[Question]:
    """Return ``number`` different questions, the kinds in turn."""
    return list(islice(_distinct(random.Random(seed)), number))  # noqa: S311  # no secret


def _distinct(draw: random.Random) -> Iterator[Question]:
    seen: set[str] = set()
    for turn in count():
        question = _KINDS[turn % len(_KINDS)](draw)
        if question.text not in seen:
            seen.add(question.text)
            yield question


def _sum(draw: random.Random) -> Question:
    first, second = draw.randint(2, 60), draw.randint(2, 60)
    return Question("sum", f"What is {first} + {second}?", str(first + second))


def _difference(draw: random.Random) -> Question:
    first, second = draw.randint(5, 50), draw.randint(2, 30)
    return Question("difference", f"What is {first} - {second}?", str(first - second))


def _product(draw: random.Random) -> Question:
    first, second = draw.randint(2, 12), draw.randint(2, 12)
    return Question("product", f"What is {first} times {second}?", str(first * second))


def _quotient(draw: random.Random) -> Question:
    divisor, result = draw.randint(2, 9), draw.randint(2, 12)
    return Question("quotient", f"What is {divisor * result} divided by {divisor}?", str(result))


def _order(draw: random.Random) -> Question:
    first, second, third = draw.randint(1, 9), draw.randint(2, 6), draw.randint(2, 6)
    text = f"Work out {first} + {second} * {third}."
    return Question("order of operations", text, str(first + second * third))


def _fraction(draw: random.Random) -> Question:
    bottom = draw.choice((3, 4, 5, 6, 8, 10))
    first, second = draw.randint(1, bottom - 1), draw.randint(1, bottom - 1)
    text = f"What is {first}/{bottom} + {second}/{bottom}? Give a fraction in lowest terms."
    return Question("fraction", text, str(Fraction(first + second, bottom)))


def _share(draw: random.Random) -> Question:
    bottom, times = draw.choice((2, 3, 4, 5)), draw.randint(2, 12)
    word = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}[bottom]
    return Question("fraction", f"What is {word} of {bottom * times}?", str(times))


def _percentage(draw: random.Random) -> Question:
    percent, whole = draw.choice((10, 20, 25, 50, 75)), 20 * draw.randint(1, 10)
    return Question("percentage", f"What is {percent}% of {whole}?", str(whole * percent // 100))


def _as_percentage(draw: random.Random) -> Question:
    bottom = draw.choice((2, 4, 5, 10))
    top = draw.randint(1, bottom - 1)
    text = f"Write {top}/{bottom} as a percentage."
    return Question("percentage", text, f"{100 * top // bottom}%")


def _price(draw: random.Random) -> Question:
    cents, items = 25 * draw.randint(1, 11), draw.randint(2, 6)
    thing = draw.choice(_THINGS)
    text = f"{thing.capitalize()} cost ${_money(cents)} each. What do {items} {thing} cost?"
    return Question("money", text, f"${_money(cents * items)}")


def _change(draw: random.Random) -> Question:
    paid = draw.choice((5, 10, 20))
    cents = 50 * draw.randint(2, 2 * paid - 1)
    name = draw.choice(_NAMES)
    text = f"{name} pays ${_money(cents)} with a ${paid} note. How much change is due?"
    return Question("money", text, f"${_money(100 * paid - cents)}")


def _unit(draw: random.Random) -> Question:
    larger, smaller, factor = draw.choice(
        (
            ("hours", "minutes", 60),
            ("metres", "centimetres", 100),
            ("kilograms", "grams", 1000),
            ("days", "hours", 24),
            ("feet", "inches", 12),
            ("weeks", "days", 7),
        )
    )
    amount = draw.randint(2, 6)
    text = f"How many {smaller} are {amount} {larger}?"
    return Question("units", text, f"{amount * factor} {smaller}")


def _take_away(draw: random.Random) -> Question:
    name, thing = draw.choice(_NAMES), draw.choice(_THINGS)
    has = draw.randint(6, 20)
    gives = draw.randint(2, has - 2)
    text = f"{name} has {has} {thing} and gives away {gives}. How many {thing} are left?"
    return Question("one step", text, str(has - gives))


def _boxes(draw: random.Random) -> Question:
    name, thing = draw.choice(_NAMES), draw.choice(_THINGS)
    boxes, each, more = draw.randint(2, 5), draw.randint(2, 6), draw.randint(1, 9)
    text = (
        f"{name} has {boxes} boxes with {each} {thing} in each, and finds {more} more {thing}. "
        f"How many {thing} are there in all?"
    )
    return Question("two steps", text, str(boxes * each + more))


def _wages(draw: random.Random) -> Question:
    name = draw.choice(_NAMES)
    hourly, hours, days, spent = (
        draw.randint(8, 15),
        draw.randint(2, 5),
        draw.randint(2, 4),
        draw.randint(5, 15),
    )
    text = (
        f"{name} earns ${hourly} an hour, works {hours} hours a day for {days} days, and spends "
        f"${spent}. How many dollars are left?"
    )
    return Question("three steps", text, str(hourly * hours * days - spent))


def _equation(draw: random.Random) -> Question:
    factor, solution, shift = draw.randint(2, 5), draw.randint(2, 9), draw.randint(1, 9)
    text = f"Solve for x: {factor}x + {shift} = {factor * solution + shift}."
    return Question("equation", text, f"x = {solution}")


def _largest(draw: random.Random) -> Question:
    numbers = draw.sample(range(2, 99), 4)
    listed = ", ".join(map(str, numbers))
    return Question("comparison", f"Which of these is the largest: {listed}?", str(max(numbers)))


def _next(draw: random.Random) -> Question:
    first, step = draw.randint(1, 9), draw.randint(2, 6)
    listed = ", ".join(str(first + place * step) for place in range(4))
    return Question("sequence", f"What comes next: {listed}, ...?", str(first + 4 * step))


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


_KINDS: tuple[Callable[[random.Random], Question], ...] = (
    _sum,
    _difference,
    _product,
    _quotient,
    _order,
    _fraction,
    _share,
    _percentage,
    _as_percentage,
    _price,
    _change,
    _unit,
    _take_away,
    _boxes,
    _wages,
    _equation,
    _largest,
    _next,
)
