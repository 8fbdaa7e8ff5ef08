"""``code/unit-tests``: tests in Python, apart from the solution or, by choice, beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import PrivateAttr

from rewardhub import Sandbox, Score, TaskError, Trajectory
from rewardhub_code.checks import CodeCheck
from rewardhub_code.running import (
    CHEAP_SOLUTIONS,
    STUB_SOLUTION,
    CodeGrader,
    TaskBook,
    TestsRun,
    environment,
    key_of,
    no_code,
    score_of,
)
from rewardhub_code.solution import RunLimits, TestResult, solution_job
from rewardhub_code.split import run_apart, run_together
from rewardhub_code.test_files import plan_of, with_canaries

Mode = Literal["split", "in-process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFinding:
    """What was found out about a task: how it can be graded, or why it cannot.

    Attributes:
        mode: where its tests run.
        names: of its tests; a test that is not among the results has not passed.
        objects: whether its tests get objects of the solution.
        fault: why it cannot be graded; else empty.
    """

    mode: Mode = "split"
    names: tuple[str, ...] = ()
    objects: bool = True
    fault: str = ""


class UnitTests(CodeGrader):
    """Full marks for a solution that passes the tests of its task.

    By default the tests run in one sandbox and the solution in another, with plain values between
    them, so that nothing of the tests is within the solution's reach. Whether a task can be graded
    so is found out from the task and its reference, once, never from an attempt.
    """

    mode: Mode = "split"
    """``split``, or ``in-process``: tests and solution in one process, which is weaker."""
    otherwise: Literal["abstain", "in-process"] = "abstain"
    """What becomes of a task that cannot be split."""
    partial: bool = False
    """Whether the value is the share of tests that passed, instead of all or nothing."""
    check_task: bool = True
    """Whether a task is first tried with its reference, which must pass, and with an empty
    solution and a stub, which must not; once per task."""

    _findings: TaskBook[TaskFinding] = PrivateAttr(default_factory=TaskBook)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return the verdict on the code in the final answer."""
        check = self.check_of(trajectory)
        reference = self.reference_of(trajectory, check)
        finding = self.finding_of(sandbox, check, reference)
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        run = self.run(sandbox, answer.code, check, reference, finding)
        return score_of(run, partial=self.partial, evidence=answer.evidence())

    def finding_of(self, sandbox: Sandbox, check: CodeCheck, reference: str | None) -> TaskFinding:
        """Return how a task is graded.

        Raises:
            TaskError: if it cannot be graded.
        """
        tests = check.unit_tests
        if tests is None or not (tests.asserts or tests.check or tests.script or tests.pytest):
            raise TaskError("the task has no test: `checks.code.unit_tests` is missing or empty")
        finding = self._findings.get(
            key_of(check, reference), lambda: self._find(sandbox, check, reference)
        )
        if finding.fault:
            raise TaskError(finding.fault)
        return finding

    def run(
        self,
        sandbox: Sandbox,
        source: str,
        check: CodeCheck,
        reference: str | None,
        finding: TaskFinding,
        *,
        order: int = 0,
        seed: int = 0,
        ahead: float = 0.0,
    ) -> TestsRun:
        """Return what comes of the tests with a solution, one result for each known test.

        ``order``, ``seed`` and ``ahead`` are those of `run_tests`.
        """
        run = run_tests(
            sandbox,
            source,
            check,
            reference=reference,
            mode=finding.mode,
            limits=self.limits_of(check),
            objects=finding.objects,
            order=order,
            seed=seed,
            ahead=ahead,
        )
        return replace(run, results=expected(run, finding.names))

    def _find(self, sandbox: Sandbox, check: CodeCheck, reference: str | None) -> TaskFinding:
        modes: list[Mode] = [self.mode]
        if self.mode == "split" and self.otherwise == "in-process":
            modes.append("in-process")
        if reference is None or not self.check_task:
            finding = self._collected(sandbox, check, reference, modes[0])
        else:
            finding = self._by_reference(sandbox, check, reference, modes)
        for name, source in CHEAP_SOLUTIONS if self.check_task and not finding.fault else ():
            if self.run(sandbox, source, check, reference, finding).passed:
                return replace(finding, fault=f"{name} passes all tests")
        return finding

    def _by_reference(
        self, sandbox: Sandbox, check: CodeCheck, reference: str, modes: Sequence[Mode]
    ) -> TaskFinding:
        failures: dict[Mode, str] = {}
        for mode in ("split", "in-process") if "split" in modes else modes:
            run = run_tests(
                sandbox,
                reference,
                check,
                reference=reference,
                mode=mode,
                limits=self.limits_of(check),
            )
            if run.passed and mode in modes:
                names = tuple(result.name for result in run.results)
                return TaskFinding(mode=mode, names=names, objects=run.objects)
            if run.passed:
                fault = f"the tests cannot be run apart from the solution: {failures['split']}"
                return TaskFinding(fault=fault)
            failures[mode] = run.first_failure
        told = failures.get("in-process", "")
        return TaskFinding(fault=f"the reference fails its own tests: {told}")

    def _collected(
        self, sandbox: Sandbox, check: CodeCheck, reference: str | None, mode: Mode
    ) -> TaskFinding:
        """Return the tests of a task that has no right solution to find them with."""
        run = run_tests(
            sandbox,
            STUB_SOLUTION,
            check,
            reference=reference,
            mode="split",
            limits=self.limits_of(check),
            collect=True,
        )
        names = tuple(result.name for result in run.results)
        broken = next((r for r in run.results if r.reason != ONLY_COLLECTED), None)
        if check.unit_tests is not None and check.unit_tests.pytest and broken is not None:
            return TaskFinding(fault=f"the tests cannot be read: {broken.reason}")
        if not names or run.broke:
            return TaskFinding(fault=f"no tests were found: {run.first_failure}")
        return TaskFinding(mode=mode, names=names)


ONLY_COLLECTED = "only collected"


def run_tests(
    sandbox: Sandbox,
    source: str,
    check: CodeCheck,
    *,
    reference: str | None,
    mode: Mode,
    limits: RunLimits,
    objects: bool = True,
    collect: bool = False,
    order: int = 0,
    seed: int = 0,
    ahead: float = 0.0,
) -> TestsRun:
    """Run the tests of a task with a solution.

    Args:
        sandbox: where they run.
        source: the solution.
        check: the task's tests.
        reference: the right solution, where the task has one: tests may lean on its imports.
        mode: apart from the solution, or beside it.
        limits: of each program.
        objects: whether objects of the solution may get to the tests, in ``split``.
        collect: whether the tests are only named.
        order: 0 for the order as written; any other number shuffles the tests.
        seed: of Python's hashes.
        ahead: by how many seconds the clocks are ahead.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
        TaskError: if the tests are too large to be sent.
    """
    plan = plan_of(check, reference, order=order)
    env = environment(seed=seed, ahead=ahead)
    if mode == "split":
        request = replace(plan, request={**plan.request, "collect": collect})
        jobs = (plan.job(limits, env), solution_job(source, limits, env))
        return run_apart(sandbox, *jobs, request.message(), objects=objects)
    plan = with_canaries(plan, check, source)
    run = run_together(sandbox, plan.job(limits, env), plan.message())
    return _without_canaries(run, plan.canaries, dict(plan.names or {}))


def _without_canaries(run: TestsRun, canaries: Sequence[str], names: dict[str, str]) -> TestsRun:
    """Return a run without its canaries; one that passed, or was not run, spoils all results."""
    passed = {result.name: result.passed for result in run.results}
    signs: list[str] = []
    if any(passed.get(name) for name in canaries):
        signs.append("a test that must fail passed")
    elif not run.broke and any(name not in passed for name in canaries):
        signs.append("a test that must fail was left out")
    results = [
        replace(result, name=names.get(result.name, result.name))
        for result in run.results
        if result.name not in canaries
    ]
    if signs:
        results = [replace(r, passed=False, reason=r.reason or signs[0]) for r in results]
    order = {name: number for number, name in enumerate(names.values())}
    results.sort(key=lambda result: order.get(result.name, len(order)))
    return replace(run, results=tuple(results), tampered=(*run.tampered, *signs))


def expected(run: TestsRun, names: Sequence[str]) -> tuple[TestResult, ...]:
    """Return one result for each of ``names``: a test counts if it was reported exactly once."""
    counts = Counter(result.name for result in run.results)
    found = {result.name: result for result in run.results}
    missing = run.ended or run.broke or "it was not run"
    results: list[TestResult] = []
    for name in names:
        if counts[name] == 1:
            results.append(found[name])
        else:
            reason = missing if not counts[name] else f"it was reported {counts[name]} times"
            results.append(TestResult(name=name, passed=False, reason=reason))
    return tuple(results)
