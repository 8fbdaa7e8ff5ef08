"""Budgeted: an amount that was used, held against a budget."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from rewardhub.contracts.grader import Options

BudgetShape = Literal["linear", "step", "cosine"]


class Budgeted(Options):
    """Options of graders that grade what was used: 1 is free, 0 is a budget that is used up.

    With the amount x, ``free`` f and ``budget`` b, and t = (x - f) / (b - f) kept in [0, 1]:

    - ``linear``: 1 - t
    - ``cosine``: (1 + cos(pi t)) / 2, which forgives small amounts and falls fastest halfway
    - ``step``: 1 up to the budget itself, 0 above it

    No value rises with the amount. A grader takes it beside its own base::

        class Words(Budgeted, Grader):
            def grade(self, trajectory: Trajectory) -> Score:
                return Score.of(self.left_of(len(trajectory.final_text.split())))
    """

    budget: float = Field(gt=0, allow_inf_nan=False)
    """The amount that uses everything up."""
    free: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """The amount that costs nothing; below the budget."""
    shape: BudgetShape = "linear"
    """How the value falls from `free` to `budget`: `linear`, `cosine` or `step`."""

    @model_validator(mode="after")
    def _free_is_below_budget(self) -> Self:
        if self.free >= self.budget:
            raise ValueError(f"free ({self.free:g}) must be below budget ({self.budget:g})")
        return self

    def left_of(self, amount: float) -> float:
        """Return what is left of the budget once ``amount`` is used: a number in [0, 1]."""
        if self.shape == "step":
            return 1.0 if amount <= self.budget else 0.0
        used = min(1.0, max(0.0, (amount - self.free) / (self.budget - self.free)))
        return 1.0 - used if self.shape == "linear" else (1.0 + math.cos(math.pi * used)) / 2.0
