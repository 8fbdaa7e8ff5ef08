"""``code/calls``: a function is called in a sandbox, and its results are compared outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PrivateAttr

from rewardhub import Sandbox, Score, TaskError, Trajectory
from rewardhub_code.checks import Call, CallsCheck, CodeCheck
from rewardhub_code.compare import is_same
from rewardhub_code.inside import plain
from rewardhub_code.running import (
    CHEAP_SOLUTIONS,
    CodeGrader,
    TaskFaults,
    TestsRun,
    environment,
    key_of,
    no_code,
    score_of,
    task_fault,
)
from rewardhub_code.solution import Reply, RunLimits, TestResult, call_all


class Calls(CodeGrader):
    """Full marks for a function that returns what is expected, call by call.

    The sandbox holds the solution and one list of arguments at a time; no expected value ever
    enters it. What comes back is a plain value, or the call has failed.
    """

    partial: bool = False
    """Whether the value is the share of calls that passed, instead of all or nothing."""
    check_task: bool = True
    """Whether a task is first tried with its reference, which must pass, and with an empty
    solution and a stub, which must not; once per task."""

    _faults: TaskFaults = PrivateAttr(default_factory=TaskFaults)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return the verdict on the code in the final answer."""
        check = self.check_of(trajectory)
        section = check.calls
        if section is None or not section.tests:
            raise TaskError("the task has no test: `checks.code.calls.tests` is missing or empty")
        if check.entry_point is None:
            raise TaskError("calls need a function: `checks.code.entry_point` is missing")
        reference = self.reference_of(trajectory, check)
        limits = self.limits_of(check)

        def run(source: str) -> TestsRun:
            return run_calls(sandbox, source, check, limits)

        if self.check_task:
            self._faults.refuse(
                key_of(check, reference), lambda: task_fault(run, reference, CHEAP_SOLUTIONS)
            )
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        return score_of(run(answer.code), partial=self.partial, evidence=answer.evidence())


def run_calls(
    sandbox: Sandbox,
    source: str,
    check: CodeCheck,
    limits: RunLimits,
    *,
    env: Mapping[str, str] | None = None,
) -> TestsRun:
    """Run the calls of a task with a solution, and compare what comes of them.

    Args:
        sandbox: where it runs.
        source: the solution.
        check: what the task says; it has ``calls``.
        limits: for all calls together.
        env: of the program; see `environment`.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
        TaskError: if an argument is too large to be sent.
    """
    section = check.calls or CallsCheck()
    try:
        made = call_all(
            sandbox,
            source,
            [_arguments(call) for call in section.tests],
            entry_point=check.entry_point or "",
            limits=limits,
            out=any(call.expected_args is not None for call in section.tests),
            env=env or environment(),
        )
    except plain.NotPlainError as error:
        raise TaskError(f"the arguments of a call cannot be sent: {error}") from None
    results = tuple(
        _result(call, call.name or f"call {number}", reply, section)
        for number, (call, reply) in enumerate(zip(section.tests, made.replies, strict=True), 1)
    )
    last = made.replies[-1] if made.replies else None
    ended = last.reason if last is not None and last.status == "ended" else ""
    return TestsRun(results=results, outcome=made.outcome, tampered=made.tampered, ended=ended)


def _arguments(call: Call) -> tuple[list[Any], dict[str, Any]]:
    kwargs = {name: plain.decode(each) for name, each in call.kwargs.items()}
    return [plain.decode(each) for each in call.args], kwargs


def _result(call: Call, name: str, reply: Reply, section: CallsCheck) -> TestResult:
    reason = _difference(call, reply, section)
    return TestResult(name=name, passed=not reason, reason=reason, seconds=reply.seconds)


def _difference(call: Call, reply: Reply, section: CallsCheck) -> str:
    """Return how a reply is not what was expected, or an empty text."""
    if call.raises is not None:
        if reply.status == "raised" and call.raises in reply.error:
            return ""
        return f"it did not raise {call.raises}{_instead(reply)}"
    if reply.status != "returned":
        return reply.reason
    if call.expected_args is not None:
        changed = [plain.decode(each) for each in call.expected_args]
        if not is_same(list(reply.args), changed, tolerance=section.tolerance):
            return f"it left the arguments as {short(list(reply.args))}, not {short(changed)}"
        if "expected" not in call.model_fields_set:
            return ""
    expected = plain.decode(call.expected)
    if is_same(reply.value, expected, tolerance=section.tolerance, any_order=section.any_order):
        return ""
    return f"it returned {short(reply.value)}, not {short(expected)}"


def _instead(reply: Reply) -> str:
    if reply.status == "returned":
        return f": it returned {short(reply.value)}"
    return f": {reply.reason}" if reply.reason else ""


def short(value: Any) -> str:
    """Return a plain value as text, shortened, whatever its size."""
    text = plain.dumps(plain.encode(value)).decode() if _is_long(value) else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _is_long(value: Any) -> bool:
    """Return whether it may hold an int that Python refuses to write in decimal digits."""
    try:
        repr(value)
    except (ValueError, RecursionError):
        return True
    return False
