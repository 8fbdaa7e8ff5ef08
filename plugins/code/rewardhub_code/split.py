"""Tests in one program, the solution in another, and all that is said between them passes here."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from rewardhub import Job, Outcome, Program, ProgramEndedError, Sandbox
from rewardhub_code.inside import plain
from rewardhub_code.running import TestsRun
from rewardhub_code.solution import TestResult, ended, handle_name, read_reply

_FORWARDED = frozenset({"get", "set", "call", "answer"})
_MOST_RESULTS = 10_000


class Conversation:
    """What tests report, and ask of the solution.

    Only plain values and handles get through, each message decoded here before the other side
    sees it. A solution that ended is told to the tests as a refusal, so that they go on.
    """

    def __init__(self, tests: Program, solution: Program | None, *, objects: bool) -> None:
        self._tests = tests
        self._solution = solution
        self._objects = objects
        self._done = False
        self.results: list[TestResult] = []
        self.tampered: dict[str, None] = {}
        self.used_objects = False
        self.broke = ""
        self.tests_end: Outcome | None = None
        self.solution_end: Outcome | None = None

    def hold(self, request: bytes) -> None:
        """Talk until the tests are done, or have ended."""
        self._tests.send(request)
        try:
            while not self._done:
                self._take(self._tests.receive())
        except ProgramEndedError as error:
            self.tests_end = error.outcome
            self.broke = f"the tests did not finish: {ended(error.outcome)}"
        except plain.NotPlainError as error:
            self.tests_end = self._tests.kill()
            self.broke = f"the tests did not finish: they sent {error}"

    def _take(self, data: bytes) -> None:
        message = plain.loads(data)
        name = message.get("op") if isinstance(message, dict) else None
        if name == "done":
            self._done = True
        elif name == "result":
            self.results.append(_result(message))
            if len(self.results) > _MOST_RESULTS:
                raise plain.NotPlainError(f"more than {_MOST_RESULTS} results")
        elif name in _FORWARDED:
            self._tests.send(self._asked(data, is_call=name != "get"))
        else:
            raise plain.NotPlainError("a message that is no report")

    def _asked(self, data: bytes, *, is_call: bool) -> bytes:
        if self._solution is None or self.solution_end is not None:
            return _refusal(ended(self.solution_end) if self.solution_end else "no solution")
        try:
            self._solution.send(data)
            reply = self._solution.receive()
        except ProgramEndedError as error:
            self.solution_end = error.outcome
            return _refusal(ended(error.outcome))
        try:
            self._check(plain.loads(reply), is_call=is_call)
        except plain.NotPlainError as error:
            self.tampered[f"it gave {error} instead of a plain value"] = None
            return _refusal(f"it gave {error}")
        return reply

    def _check(self, reply: Any, *, is_call: bool) -> None:
        """Refuse a reply that is no plain value, error or request of a function of the tests."""

        def handle(tag: str, payload: Any) -> None:
            if tag != "$handle":
                raise plain.NotPlainError(f"the unknown tag {tag[:80]!r}")
            what = handle_name(payload)
            if is_call and payload["kind"] != "class":
                self.used_objects = True
                if not self._objects:
                    raise plain.NotPlainError(what)

        if isinstance(reply, dict) and "callback" in reply:
            args, kwargs = reply.get("args"), reply.get("kwargs")
            if type(reply["callback"]) is not int or set(reply) != {"callback", "args", "kwargs"}:
                raise plain.NotPlainError("a message that is no reply")
            plain.decode([args, kwargs], handle)
            if not isinstance(args, list) or not isinstance(kwargs, dict):
                raise plain.NotPlainError("a message that is no reply")
        else:
            read_reply(reply, other=handle)


def _refusal(reason: str) -> bytes:
    return plain.dumps({"refused": reason})


def _result(message: dict[str, Any]) -> TestResult:
    name, passed = message.get("name"), message.get("passed")
    reason, seconds = message.get("reason"), message.get("seconds")
    if not (
        isinstance(name, str)
        and isinstance(passed, bool)
        and isinstance(reason, str)
        and isinstance(seconds, float)
    ):
        raise plain.NotPlainError("a result that is none")
    return TestResult(name=name, passed=passed, reason=reason[:500], seconds=seconds)


def run_apart(
    sandbox: Sandbox, tests: Job, solution: Job, request: bytes, *, objects: bool = True
) -> TestsRun:
    """Run tests and a solution side by side, each in a sandbox of its own.

    Args:
        sandbox: where they run.
        tests: the program of the tests; what it reports is the result.
        solution: the program that serves the solution.
        request: the first message to the tests.
        objects: whether objects of the solution may get to the tests, as handles.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
    """
    return _fairly(sandbox, (tests, solution), request, objects=objects)


def run_together(sandbox: Sandbox, tests: Job, request: bytes) -> TestsRun:
    """Run tests that have the solution beside them, in one program."""
    return _fairly(sandbox, (tests,), request, objects=True)


def _fairly(sandbox: Sandbox, jobs: tuple[Job, ...], request: bytes, *, objects: bool) -> TestsRun:
    played: list[TestsRun] = []

    def play() -> Outcome:
        run, outcome = _play(sandbox, jobs, request, objects=objects)
        played.append(run)
        return outcome

    outcome = sandbox.fairly(play)
    run = played[-1]
    signs = tuple(dict.fromkeys((*run.tampered, *outcome.tampered)))
    return TestsRun(
        results=run.results,
        outcome=run.outcome,
        tampered=signs,
        ended=run.ended,
        trust=run.trust,
        broke=run.broke,
        objects=run.objects,
    )


def _play(
    sandbox: Sandbox, jobs: tuple[Job, ...], request: bytes, *, objects: bool
) -> tuple[TestsRun, Outcome]:
    with ExitStack() as stack:
        programs = [stack.enter_context(program) for program in sandbox.start(*jobs)]
        tests = programs[0]
        solution = programs[1] if len(programs) > 1 else None
        talk = Conversation(tests, solution, objects=objects)
        talk.hold(request)
        of_tests = talk.tests_end or tests.finish()
        of_solution = of_tests
        if solution is not None:
            of_solution = talk.solution_end or solution.kill()
    alone = solution is None
    end = talk.tests_end if alone else talk.solution_end
    run = TestsRun(
        results=tuple(talk.results),
        outcome=of_solution,
        tampered=tuple(dict.fromkeys((*talk.tampered, *of_solution.tampered))),
        ended=ended(end) if end else "",
        trust="in_process" if alone else "split",
        broke=talk.broke,
        objects=talk.used_objects,
    )
    return run, _decisive(of_tests, of_solution)


def _decisive(tests: Outcome, solution: Outcome) -> Outcome:
    """Return the outcome that says whose fault it was: the first that is no plain end."""
    for outcome in (solution, tests):
        if outcome.status == "sandbox_error":
            return outcome
    for outcome in (solution, tests):
        if outcome.status == "timeout" and outcome.limit == "wall":
            return outcome
    return solution
