r"""Questions with a known answer: sums, fractions, percentages, money, units, several steps.

Every question is made from a seed, and its reference is computed, never typed. The references are
written as a person would write them: ``17``, ``3/4``, ``$12.50``, ``x = 6``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count, islice
from typing import NamedTuple


class Question(NamedTuple):
    """One question with its answer.

    Attributes:
        kind: what has to be worked out.
        text: the question.
        reference: the answer that counts as right.
        worked: how the answer is found.
    """

    kind: str
    text: str
    reference: str
    worked: str


_NAMES = ("Ada", "Bela", "Chidi", "Dana", "Emre", "Farah", "Goro", "Hanna", "Ines", "Jonas")
_THINGS = ("apples", "books", "cards", "marbles", "pencils", "shells", "stamps", "stickers")


def questions(number: int, *, seed: int) -> list[Question]:
    """Return ``number`` different questions, the kinds in turn."""
    return list(islice(_distinct(random.Random(seed)), number))  # noqa: S311  # no secret


def _distinct(draw: random.Random) -> Iterator[Question]:
    seen: set[str] = set()
    for turn in count():
        question = KINDS[turn % len(KINDS)](draw)
        if question.text not in seen:
            seen.add(question.text)
            yield question


def _sum(draw: random.Random) -> Question:
    first, second = draw.randint(2, 60), draw.randint(2, 60)
    result = first + second
    text = f"What is {first} + {second}?"
    return Question("sum", text, str(result), f"{first} + {second} = {result}")


def _difference(draw: random.Random) -> Question:
    first, second = draw.randint(5, 50), draw.randint(2, 30)
    result = first - second
    text = f"What is {first} - {second}?"
    return Question("difference", text, str(result), f"{first} - {second} = {result}")


def _product(draw: random.Random) -> Question:
    first, second = draw.randint(2, 12), draw.randint(2, 12)
    result = first * second
    text = f"What is {first} times {second}?"
    return Question("product", text, str(result), f"{first} * {second} = {result}")


def _quotient(draw: random.Random) -> Question:
    divisor, result = draw.randint(2, 9), draw.randint(2, 12)
    whole = divisor * result
    text = f"What is {whole} divided by {divisor}?"
    return Question("quotient", text, str(result), f"{whole} / {divisor} = {result}")


def _order(draw: random.Random) -> Question:
    first, second, third = draw.randint(1, 9), draw.randint(2, 6), draw.randint(2, 6)
    product = second * third
    result = first + product
    text = f"Work out {first} + {second} * {third}."
    worked = f"{second} * {third} = {product}, and {first} + {product} = {result}"
    return Question("order of operations", text, str(result), worked)


def _fraction(draw: random.Random) -> Question:
    bottom = draw.choice((3, 4, 5, 6, 8, 10))
    first, second = draw.randint(1, bottom - 1), draw.randint(1, bottom - 1)
    result = Fraction(first + second, bottom)
    text = f"What is {first}/{bottom} + {second}/{bottom}? Give a fraction in lowest terms."
    worked = f"({first} + {second}) / {bottom} = {result}"
    return Question("fraction", text, str(result), worked)


def _share(draw: random.Random) -> Question:
    bottom, result = draw.choice((2, 3, 4, 5)), draw.randint(2, 12)
    word = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}[bottom]
    whole = bottom * result
    text = f"What is {word} of {whole}?"
    return Question("share", text, str(result), f"{whole} / {bottom} = {result}")


def _percentage(draw: random.Random) -> Question:
    percent, whole = draw.choice((10, 20, 25, 50, 75)), 20 * draw.randint(1, 10)
    result = whole * percent // 100
    text = f"What is {percent}% of {whole}?"
    return Question("percentage", text, str(result), f"{percent} / 100 * {whole} = {result}")


def _as_percentage(draw: random.Random) -> Question:
    bottom = draw.choice((2, 4, 5, 10))
    top = draw.randint(1, bottom - 1)
    result = 100 * top // bottom
    text = f"Write {top}/{bottom} as a percentage."
    worked = f"{top} / {bottom} * 100 = {result}"
    return Question("fraction as percentage", text, f"{result}%", worked)


def _price(draw: random.Random) -> Question:
    cents, items = 25 * draw.randint(1, 11), draw.randint(2, 6)
    thing, each, result = draw.choice(_THINGS), _money(cents), _money(cents * items)
    text = f"{thing.capitalize()} cost {each} each. What do {items} {thing} cost?"
    return Question("price", text, result, f"{items} * {each} = {result}")


def _change(draw: random.Random) -> Question:
    paid = draw.choice((5, 10, 20))
    cents = 50 * draw.randint(2, 2 * paid - 1)
    name, due, result = draw.choice(_NAMES), _money(cents), _money(100 * paid - cents)
    text = f"{name} pays {due} with a ${paid} note. How much change is due?"
    return Question("change", text, result, f"${paid} - {due} = {result}")


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
    result = amount * factor
    text = f"How many {smaller} are {amount} {larger}?"
    return Question("units", text, f"{result} {smaller}", f"{amount} * {factor} = {result}")


def _take_away(draw: random.Random) -> Question:
    name, thing = draw.choice(_NAMES), draw.choice(_THINGS)
    has = draw.randint(6, 20)
    gives = draw.randint(2, has - 2)
    result = has - gives
    text = f"{name} has {has} {thing} and gives away {gives}. How many {thing} are left?"
    return Question("one step", text, str(result), f"{has} - {gives} = {result}")


def _boxes(draw: random.Random) -> Question:
    name, thing = draw.choice(_NAMES), draw.choice(_THINGS)
    boxes, each, more = draw.randint(2, 5), draw.randint(2, 6), draw.randint(2, 9)
    packed, result = boxes * each, boxes * each + more
    text = (
        f"{name} has {boxes} boxes with {each} {thing} in each, and finds {more} more {thing}. "
        f"How many {thing} are there in all?"
    )
    worked = f"{boxes} * {each} = {packed}, and {packed} + {more} = {result}"
    return Question("two steps", text, str(result), worked)


def _wages(draw: random.Random) -> Question:
    name = draw.choice(_NAMES)
    hourly, hours, days = draw.randint(8, 15), draw.randint(2, 5), draw.randint(2, 4)
    spent = draw.randint(5, 15)
    earned = hourly * hours * days
    result = earned - spent
    text = (
        f"{name} earns ${hourly} an hour, works {hours} hours a day for {days} days, and spends "
        f"${spent}. How many dollars are left?"
    )
    worked = f"{hourly} * {hours} * {days} = {earned}, and {earned} - {spent} = {result}"
    return Question("three steps", text, str(result), worked)


def _equation(draw: random.Random) -> Question:
    factor, result, shift = draw.randint(2, 5), draw.randint(2, 9), draw.randint(1, 9)
    right = factor * result + shift
    text = f"Solve for x: {factor}x + {shift} = {right}."
    worked = f"{right} - {shift} = {factor * result}, and {factor * result} / {factor} = {result}"
    return Question("equation", text, f"x = {result}", worked)


def _largest(draw: random.Random) -> Question:
    numbers = draw.sample(range(2, 99), 4)
    result = max(numbers)
    text = f"Which of these is the largest: {', '.join(map(str, numbers))}?"
    return Question("comparison", text, str(result), f"None of them is larger than {result}")


def _next(draw: random.Random) -> Question:
    first, step = draw.randint(1, 9), draw.randint(2, 6)
    numbers = [first + place * step for place in range(4)]
    result = numbers[-1] + step
    text = f"What comes next: {', '.join(map(str, numbers))}, ...?"
    return Question("sequence", text, str(result), f"{numbers[-1]} + {step} = {result}")


def _money(cents: int) -> str:
    return f"${cents // 100}.{cents % 100:02}"


KINDS: tuple[Callable[[random.Random], Question], ...] = (
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
"""One function for each kind of question."""
