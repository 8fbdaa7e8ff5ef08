"""The tests of a task, whatever their form, run more than once or measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import PrivateAttr

from rewardhub import Sandbox, TaskError
from rewardhub_code.calls import run_calls
from rewardhub_code.checks import CodeCheck
from rewardhub_code.running import CodeGrader, TestsRun, environment, total_of
from rewardhub_code.stdio import run_programs
from rewardhub_code.unit_tests import Mode, UnitTests


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What may differ between two runs of the same tests.

    Attributes:
        order: of the tests; 0 is the order as written, others shuffle.
        seed: of Python's hashes.
        ahead: by how many seconds the clocks are ahead.
    """

    order: int = 0
    seed: int = 0
    ahead: float = 0.0


AS_USUAL = Setting()


class Again(CodeGrader):
    """The base of graders that run whatever tests a task has: unit tests, calls and programs."""

    mode: Mode = "split"
    """Where unit tests run, as for `code/unit-tests`."""
    otherwise: Literal["abstain", "in-process"] = "abstain"
    """What becomes of a task whose unit tests cannot be split."""

    _unit_tests: UnitTests = PrivateAttr()

    def model_post_init(self, _context: object) -> None:
        """Prepare what finds out how unit tests can be run."""
        self._unit_tests = UnitTests(
            timeout=self.timeout,
            memory_mb=self.memory_mb,
            mode=self.mode,
            otherwise=self.otherwise,
        )

    def look_at(self, sandbox: Sandbox, check: CodeCheck, reference: str | None) -> None:
        """Make sure that the task has tests, and that they can be run.

        Raises:
            TaskError: if not.
        """
        calls, stdio = check.calls, check.stdio
        if check.unit_tests is not None:
            self._unit_tests.finding_of(sandbox, check, reference)
        elif not (calls and calls.tests) and not (stdio and stdio.tests):
            raise TaskError("the task has no test: no `unit_tests`, `calls` or `stdio`")
        if calls and calls.tests and check.entry_point is None:
            raise TaskError("calls need a function: `checks.code.entry_point` is missing")

    def run(
        self,
        sandbox: Sandbox,
        source: str,
        check: CodeCheck,
        reference: str | None,
        setting: Setting = AS_USUAL,
    ) -> TestsRun:
        """Return what comes of all tests of a task with a solution, as one run.

        The task is one that `look_at` found nothing wrong with.
        """
        runs = list(self._runs(sandbox, source, check, reference, setting))
        return replace(
            runs[0],
            results=tuple(result for run in runs for result in run.results),
            outcome=total_of([run.outcome for run in runs]),
            tampered=tuple(dict.fromkeys(sign for run in runs for sign in run.tampered)),
            ended=next((run.ended for run in runs if run.ended), ""),
            broke=next((run.broke for run in runs if run.broke), ""),
        )

    def _runs(
        self,
        sandbox: Sandbox,
        source: str,
        check: CodeCheck,
        reference: str | None,
        setting: Setting,
    ) -> Iterator[TestsRun]:
        limits = self.limits_of(check)
        env = environment(seed=setting.seed, ahead=setting.ahead)
        if check.unit_tests is not None:
            finding = self._unit_tests.finding_of(sandbox, check, reference)
            yield self._unit_tests.run(
                sandbox,
                source,
                check,
                reference,
                finding,
                order=setting.order,
                seed=setting.seed,
                ahead=setting.ahead,
            )
        if check.calls is not None and check.calls.tests:
            yield run_calls(sandbox, source, check, limits, env=env)
        if check.stdio is not None and check.stdio.tests:
            yield run_programs(sandbox, source, check.stdio, limits, all_runs=True, env=env)
