"""``code/stable``: do the same tests give the same verdicts when chance and time are others?"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, PrivateAttr

from rewardhub import Sandbox, Score, Trajectory
from rewardhub_code.again import AS_USUAL, Again, Setting
from rewardhub_code.checks import CodeCheck
from rewardhub_code.running import TaskFaults, TestsRun, key_of, no_code

_DAYS = 86_400.0


class Stable(Again):
    """1 if each test has the same verdict in all runs.

    The first run is as usual. In each further one Python's hashes have another seed, the tests
    another order (unit tests: each file and assert is one), and the clocks are days ahead. Whether
    the verdicts are right is the matter of other graders, but a solution that passes no test is a
    0: what does nothing is stable, too. A task whose reference is not stable is the task's fault.
    """

    runs: int = Field(default=3, ge=2, le=20)
    """How many runs are compared."""

    _faults: TaskFaults = PrivateAttr(default_factory=TaskFaults)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return whether the verdicts stay; tests whose verdict changes are in the evidence."""
        check = self.check_of(trajectory)
        reference = self.reference_of(trajectory, check)
        self.look_at(sandbox, check, reference)
        if reference is not None:
            self._faults.refuse(
                key_of(check, reference), lambda: self._fault(sandbox, check, reference)
            )
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        runs = self._all(sandbox, answer.code, check, reference)
        flaky = flaky_tests(runs)
        evidence = {
            "trust": runs[0].trust,
            "flaky": {name: list(verdicts) for name, verdicts in flaky.items()},
            "extraction": answer.evidence(),
        }
        if flaky:
            names = ", ".join(f"`{name}`" for name in list(flaky)[:5])
            said = f"{len(flaky)} tests change their verdicts in {self.runs} runs: {names}"
            return Score.of(0.0, said, evidence=evidence)
        if not any(result.passed for result in runs[0].results):
            return Score.of(0.0, f"no test passes: {runs[0].first_failure}", evidence=evidence)
        return Score.of(1.0, f"the same verdicts in {self.runs} runs", evidence=evidence)

    def _all(
        self, sandbox: Sandbox, source: str, check: CodeCheck, reference: str | None
    ) -> list[TestsRun]:
        others = [
            Setting(order=number, seed=number, ahead=number * _DAYS)
            for number in range(1, self.runs)
        ]
        return [
            self.run(sandbox, source, check, reference, setting) for setting in (AS_USUAL, *others)
        ]

    def _fault(self, sandbox: Sandbox, check: CodeCheck, reference: str) -> str:
        runs = self._all(sandbox, reference, check, reference)
        failed = next((run for run in runs if not run.passed), None)
        if failed is None:
            return ""
        where = "" if failed is runs[0] else " under another seed, order or clock"
        return f"the reference fails its own tests{where}: {failed.first_failure}"


def flaky_tests(runs: Sequence[TestsRun]) -> dict[str, tuple[bool, ...]]:
    """Return the tests whose verdicts are not the same in all ``runs``, with their verdicts."""
    verdicts: dict[str, list[bool]] = {}
    for run in runs:
        for result in run.results:
            verdicts.setdefault(result.name, []).append(result.passed)
    return {name: tuple(found) for name, found in verdicts.items() if len({*found}) > 1}
