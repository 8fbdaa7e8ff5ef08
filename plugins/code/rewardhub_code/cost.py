"""``code/runtime`` and ``code/memory``: what a right solution uses up of a budget."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import Outcome, Sandbox, Score, TaskError, Trajectory
from rewardhub_code.again import Again
from rewardhub_code.checks import CodeCheck
from rewardhub_code.running import TaskBook, key_of, no_code


class Budget(Again):
    """The base of both: 1 is free, 0 is a budget that is used up.

    With the amount x, ``free`` f and ``budget`` b, and t = (x - f) / (b - f) kept in [0, 1]:
    ``linear`` 1 - t; ``cosine`` (1 + cos(pi t)) / 2; ``step`` 1 up to the budget, 0 above it.

    The amount is that of the solution's program in the tests of the task: the least of `runs`, for
    whatever else the machine does only adds to it. A solution that does not pass all tests, in
    each run, is a 0: nothing is quicker than a wrong answer.
    """

    unit: ClassVar[str]
    least: ClassVar[float]

    budget: float = Field(gt=0, allow_inf_nan=False)
    """The amount that uses everything up; with `relative`, a multiple of the reference's."""
    free: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """The amount that costs nothing; below the budget."""
    shape: Literal["linear", "step", "cosine"] = "linear"
    """How the value falls from `free` to `budget`."""
    relative: bool = False
    """Whether amounts are multiples of what the task's reference uses, measured once."""
    runs: int = Field(default=1, ge=1, le=20)
    """How often the tests are run."""

    _of_references: TaskBook[tuple[float, str]] = PrivateAttr(default_factory=TaskBook)

    @model_validator(mode="after")
    def _free_is_below_budget(self) -> Self:
        if self.free >= self.budget:
            raise ValueError(f"free ({self.free:g}) must be below budget ({self.budget:g})")
        return self

    def amount_of(self, outcome: Outcome) -> float:
        """Return what a run used."""
        raise NotImplementedError(f"{type(self).__name__} must define `amount_of`")

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return what is left of the budget."""
        check = self.check_of(trajectory)
        reference = self.reference_of(trajectory, check)
        self.look_at(sandbox, check, reference)
        scale = self._scale(sandbox, check, reference)
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        amount, failure = self._least(sandbox, answer.code, check, reference)
        evidence = {"extraction": answer.evidence()}
        if failure:
            return Score.of(0.0, f"not all tests passed: {failure}", evidence=evidence)
        used = max(amount, self.least) / scale
        words = f"times the reference's {scale:.3g} {self.unit}" if self.relative else self.unit
        return Score.of(
            self.value_of(used),
            f"{used:.3g} of {self.budget:g} {words}",
            metrics={self.unit.replace(" ", "_"): amount},
            evidence=evidence,
        )

    def _scale(self, sandbox: Sandbox, check: CodeCheck, reference: str | None) -> float:
        """Return the amount that counts as 1, once it is known that the reference is right."""
        if reference is None and not self.relative:
            return 1.0
        if reference is None:
            raise TaskError("a relative budget needs a reference: `reference` is missing")
        amount, failure = self._of_references.get(
            key_of(check, reference), lambda: self._least(sandbox, reference, check, reference)
        )
        if failure:
            raise TaskError(f"the reference fails its own tests: {failure}")
        return max(amount, self.least) if self.relative else 1.0

    def _least(
        self, sandbox: Sandbox, source: str, check: CodeCheck, reference: str | None
    ) -> tuple[float, str]:
        """Return the least amount of all runs, and the first failure of a test."""
        least = math.inf
        for _ in range(self.runs):
            run = self.run(sandbox, source, check, reference)
            if not run.passed:
                return 0.0, run.first_failure
            least = min(least, self.amount_of(run.outcome))
        return least, ""

    def value_of(self, amount: float) -> float:
        """Return what is left when ``amount`` is used, in units of the budget."""
        if self.shape == "step":
            return 1.0 if amount <= self.budget else 0.0
        used = min(1.0, max(0.0, (amount - self.free) / (self.budget - self.free)))
        return 1.0 - used if self.shape == "linear" else (1.0 + math.cos(math.pi * used)) / 2.0


class Runtime(Budget):
    """CPU seconds of a right solution in the tests of its task, held against a budget.

    What is below 0.05 s counts as 0.05 s: it is the start of a program, not the solution.
    """

    unit = "CPU seconds"
    least = 0.05

    def amount_of(self, outcome: Outcome) -> float:
        """Return the CPU seconds of its program, with all that it started."""
        return outcome.cpu_seconds


class Memory(Budget):
    """MiB of memory of a right solution in the tests of its task, held against a budget.

    The peak of its program, interpreter included. What is below 16 MiB counts as 16 MiB.
    """

    unit = "MiB"
    least = 16.0

    def amount_of(self, outcome: Outcome) -> float:
        """Return the peak of its memory, in MiB."""
        return outcome.memory_mb
