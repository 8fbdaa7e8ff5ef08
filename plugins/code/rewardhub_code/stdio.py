"""``code/stdio``: a program reads stdin, and what it prints is compared outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import PrivateAttr

from rewardhub import Job, Outcome, ProgramEndedError, Sandbox, Score, TaskError, Trajectory
from rewardhub_code.checks import Program, StdioCheck
from rewardhub_code.compare import exact_difference, token_difference
from rewardhub_code.inside import plain
from rewardhub_code.preloads import preload, starter
from rewardhub_code.running import (
    EMPTY_SOLUTION,
    CodeGrader,
    TaskFaults,
    TestsRun,
    environment,
    key_of,
    no_code,
    score_of,
    task_fault,
    total_of,
)
from rewardhub_code.solution import RunLimits, TestResult, ended

_CHEAP = (("an empty program", EMPTY_SOLUTION),)
_MOST_TIMEOUTS = 3
_MOST_OUTPUT = 16 << 20


class Stdio(CodeGrader):
    """Full marks for a program that prints what is expected, run by run.

    Each run is a program of its own, which sees its stdin and nothing else. Its stdout is compared
    outside, or by a checker in another sandbox.
    """

    partial: bool = False
    """Whether the value is the share of runs that passed. Without it the runs stop at the first
    that did not; with it, at the third that ran out of time."""
    check_task: bool = True
    """Whether a task is first tried with its reference, which must pass, and with an empty
    program, which must not; once per task."""

    _faults: TaskFaults = PrivateAttr(default_factory=TaskFaults)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return the verdict on the program in the final answer."""
        check = self.check_of(trajectory)
        section = check.stdio
        if section is None or not section.tests:
            raise TaskError("the task has no test: `checks.code.stdio.tests` is missing or empty")
        reference = self.reference_of(trajectory, check)
        limits = self.limits_of(check)
        if self.check_task:

            def find() -> str:
                return task_fault(
                    lambda source: run_programs(sandbox, source, section, limits), reference, _CHEAP
                ) or _checker_fault(sandbox, section, reference, limits)

            self._faults.refuse(key_of(check, reference), find)
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        run = run_programs(sandbox, answer.code, section, limits, all_runs=self.partial)
        return score_of(run, partial=self.partial, evidence=answer.evidence())


def run_programs(
    sandbox: Sandbox,
    source: str,
    section: StdioCheck,
    limits: RunLimits,
    *,
    all_runs: bool = False,
    env: Mapping[str, str] | None = None,
) -> TestsRun:
    """Run a program once for each test of a task, and compare what it prints.

    Args:
        sandbox: where it runs.
        source: the program.
        section: the tests.
        limits: of each run.
        all_runs: whether a run that did not pass is followed by the others.
        env: of the program; see `environment`.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
    """
    results: list[TestResult] = []
    outcomes: list[Outcome] = []
    timeouts = 0
    for number, test in enumerate(section.tests, 1):
        name = test.name or f"run {number}"
        if timeouts >= _MOST_TIMEOUTS or (results and not results[-1].passed and not all_runs):
            results.append(TestResult(name=name, passed=False, reason="it was not run"))
            continue
        job = _job(source, test, limits, env or environment())
        result, outcome = _run(sandbox, job, test, section, limits)
        timeouts += outcome.status == "timeout"
        results.append(replace(result, name=name))
        outcomes.append(outcome)
    return TestsRun(
        results=tuple(results),
        outcome=total_of(outcomes),
        tampered=tuple(dict.fromkeys(sign for each in outcomes for sign in each.tampered)),
    )


def _job(source: str, test: Program, limits: RunLimits, env: Mapping[str, str]) -> Job:
    return Job(
        source=source,
        stdin=test.stdin,
        env=env,
        cpu_seconds=limits.cpu_seconds,
        wall_seconds=limits.wall_seconds,
        memory_mb=limits.memory_mb,
        output_bytes=min(_MOST_OUTPUT, 2 * len(test.expected.encode()) + (64 << 10)),
        max_output_bytes=_MOST_OUTPUT,
    )


def _run(
    sandbox: Sandbox, job: Job, test: Program, section: StdioCheck, limits: RunLimits
) -> tuple[TestResult, Outcome]:
    outcome = sandbox.fairly(lambda: sandbox.run(job))
    reason = _how_it_ended(outcome)
    if not reason and outcome.output_total >= job.output_bytes:
        reason = f"it printed {outcome.output_total} bytes, far more than expected"
    reason = reason or _difference(sandbox, test, outcome.stdout, section, limits)
    result = TestResult(
        name="",
        passed=not reason,
        reason=reason,
        seconds=outcome.seconds,
        memory_mb=outcome.memory_mb,
    )
    return result, outcome


def _how_it_ended(outcome: Outcome) -> str:
    """Return how a program ended that did not end well, or an empty text."""
    if outcome.status == "ok":
        return ""
    if outcome.status == "nonzero":
        lines = outcome.stderr.strip().splitlines()
        told = f": {lines[-1][:300]}" if lines else ""
        return f"it ended with exit code {outcome.exit_code}{told}"
    return ended(outcome)


def _difference(
    sandbox: Sandbox, test: Program, stdout: str, section: StdioCheck, limits: RunLimits
) -> str:
    if section.compare == "exact":
        return exact_difference(stdout, test.expected)
    if section.compare == "checker":
        return _by_checker(sandbox, test, stdout, section, limits)
    tolerance = section.tolerance if section.compare == "numbers" else None
    return token_difference(stdout, test.expected, tolerance=tolerance)


def _by_checker(
    sandbox: Sandbox, test: Program, stdout: str, section: StdioCheck, limits: RunLimits
) -> str:
    """Return why the task's checker refuses an output, or an empty text."""
    ready = preload("plain", "channel", "clock", "serve", "checker")
    texts = {"stdin": test.stdin, "expected": test.expected, "stdout": stdout}
    job = Job(
        source=starter(ready),
        files={"checker.py": section.checker, **texts},
        env=environment(),
        preload=ready,
        cpu_seconds=limits.cpu_seconds,
        wall_seconds=limits.wall_seconds,
        memory_mb=limits.memory_mb,
    )
    said: list[str] = []

    def play() -> Outcome:
        (program,) = sandbox.start(job)
        with program:
            try:
                said.append(_verdict(program.receive()))
            except ProgramEndedError as error:
                said.append(f"the checker did not finish: {ended(error.outcome)}")
                return error.outcome
            return program.finish()

    sandbox.fairly(play)
    return said[-1]


def _verdict(data: bytes) -> str:
    try:
        message = plain.loads(data)
    except plain.NotPlainError as error:
        return f"the checker said {error}"
    if isinstance(message, dict) and message.get("accepted") is True:
        return ""
    reason = message.get("reason") if isinstance(message, dict) else None
    return reason if isinstance(reason, str) and reason else "the checker does not accept it"


def _checker_fault(
    sandbox: Sandbox, section: StdioCheck, reference: str | None, limits: RunLimits
) -> str:
    """Return what is wrong with a checker that no reference has tried."""
    if section.compare != "checker" or reference is not None:
        return ""
    test = section.tests[0]
    reason = _by_checker(sandbox, test, test.expected, section, limits)
    return f"the checker refuses the expected output: {reason}" if reason else ""
