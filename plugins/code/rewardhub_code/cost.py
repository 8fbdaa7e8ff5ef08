"""``code/runtime`` and ``code/memory``: what a right solution uses up of a budget."""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field, PrivateAttr

from rewardhub import Budgeted, Outcome, Sandbox, Score, TaskError, Trajectory
from rewardhub_code.again import Again
from rewardhub_code.checks import CodeCheck
from rewardhub_code.running import TaskBook, key_of, no_code


class Cost(Budgeted, Again):
    """The base of both: what a right solution used, held against a budget.

    The amount is that of the solution's program in the tests of the task: the least of `runs`, for
    whatever else the machine does only adds to it. A solution that does not pass all tests, in
    each run, is a 0: nothing is quicker than a wrong answer.
    """

    unit: ClassVar[str]
    least: ClassVar[float]

    relative: bool = False
    """Whether amounts, `budget` and `free` too, are multiples of what the task's reference uses."""
    runs: int = Field(default=1, ge=1, le=20)
    """How often the tests are run."""

    _of_references: TaskBook[tuple[float, str]] = PrivateAttr(default_factory=TaskBook)

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
            self.left_of(used),
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


class Runtime(Cost):
    """CPU seconds of a right solution in the tests of its task, held against a budget.

    What is below 0.05 s counts as 0.05 s: it is the start of a program, not the solution.
    """

    unit = "CPU seconds"
    least = 0.05

    def amount_of(self, outcome: Outcome) -> float:
        """Return the CPU seconds of its program, with all that it started."""
        return outcome.cpu_seconds


class Memory(Cost):
    """MiB of memory of a right solution in the tests of its task, held against a budget.

    The peak of its program, interpreter included. What is below 16 MiB counts as 16 MiB.
    """

    unit = "MiB"
    least = 16.0

    def amount_of(self, outcome: Outcome) -> float:
        """Return the peak of its memory, in MiB."""
        return outcome.memory_mb
