"""`rules/expression`: a formula or a condition over figures of the attempt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Self

from pydantic import model_validator

from rewardhub import Expression as Parsed
from rewardhub import ExpressionError, Grader, Score, Trajectory, UnknownNameError, parse_expression
from rewardhub_rules.measures import UNITS

__all__ = ["NAMES", "Expression"]

Figure = Callable[[Trajectory], float | None]


def _of_answer(unit: str) -> Figure:
    count = UNITS[unit]
    return lambda trajectory: count(trajectory.final_text.strip())


def _total(field: str) -> Figure:
    """Return the recorded total, or the sum over all steps where each has its share."""

    def total(trajectory: Trajectory) -> float | None:
        whole: float | None = getattr(trajectory, field)
        return _sum(getattr(step, field) for step in trajectory.steps) if whole is None else whole

    return total


def _sum(amounts: Iterable[float | None]) -> float | None:
    known: list[float] = []
    for amount in amounts:
        if amount is None:
            return None
        known.append(amount)
    return math.fsum(known)


def _reasoning_words(trajectory: Trajectory) -> float:
    count = UNITS["words"]
    return sum(count(step.reasoning) for step in trajectory.steps if step.reasoning)


def _errors(trajectory: Trajectory) -> float:
    seen = (each for step in trajectory.steps for each in step.observations)
    return sum(1 for each in seen if each.error is not None or each.exit_code not in {None, 0})


NAMES: dict[str, Figure] = {
    **{unit: _of_answer(unit) for unit in UNITS},
    "reasoning_words": _reasoning_words,
    "steps": lambda trajectory: len(trajectory.steps),
    "tool_calls": lambda trajectory: sum(len(step.tool_calls) for step in trajectory.steps),
    "observations": lambda trajectory: sum(len(step.observations) for step in trajectory.steps),
    "errors": _errors,
    "truncated": lambda trajectory: float(trajectory.status == "truncated"),
    "tokens": _total("tokens"),
    "seconds": _total("seconds"),
    "cost": _total("cost"),
}
"""Name -> the figure it stands for."""


class Expression(Grader):
    """The value of an expression over figures of the attempt: ``words <= 200 and steps < 5``.

    The language is that of conditions in a spec. A condition is worth 1 or 0. A number is the
    value, kept in [0, 1]: ``1 - words / 200``. The names:

    - of the final text: ``words``, ``characters``, ``sentences``, ``paragraphs``, ``lines``
    - of all steps: ``steps``, ``tool_calls``, ``observations``, ``errors`` (observations with an
      error or an exit code that is not 0), ``reasoning_words``
    - ``truncated``: 1 if the attempt was cut off, else 0
    - recorded by the rollout, in total or for every step: ``tokens``, ``seconds`` and ``cost`` (US
      dollars). Where they are read and not recorded, the Score is failed, fault infrastructure.
    """

    expression: str
    """The condition or formula."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        try:
            parsed = self._parsed
            unknown = next((name for name in parsed.names if name not in NAMES), None)
            if unknown is not None:
                raise ValueError(str(UnknownNameError("figure of an attempt", unknown, NAMES)))
            # What divides by 0 for an attempt that says and does nothing is found here already.
            parsed.evaluate(dict.fromkeys(parsed.names, 0.0))
        except ExpressionError as error:
            raise ValueError(str(error)) from None
        return self

    @cached_property
    def _parsed(self) -> Parsed:
        return parse_expression(self.expression)

    @cached_property
    def _figures(self) -> tuple[tuple[str, Figure], ...]:
        return tuple((name, NAMES[name]) for name in self._parsed.names)

    @cached_property
    def _told(self) -> str:
        return ", ".join(f"{name} = {{:g}}" for name in self._parsed.names)

    def grade(self, trajectory: Trajectory) -> Score:
        """Evaluate the expression."""
        values: dict[str, float] = {}
        for name, figure in self._figures:
            value = figure(trajectory)
            if value is None:
                return Score.fail(
                    f"the trajectory records no {name}, neither in total nor for each step: "
                    "record them in the rollout",
                    fault="infrastructure",
                )
            values[name] = value
        result = self._parsed.evaluate(values)
        told = self._told.format(*values.values())
        if result is True or result is False:
            return Score.of(result, f"{'true' if result else 'false'}: {told}")
        return Score.of(min(1.0, max(0.0, result)), f"{result:.6g}: {told}")
