"""What all graders share that run a solution: options, results, and what is known of a task."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Generic, TypeVar

from pydantic import Field, ValidationError

from rewardhub import Grader, Outcome, Score, TaskError, Trajectory, waiting
from rewardhub_code.checks import CodeCheck
from rewardhub_code.extract import Extraction, code_of
from rewardhub_code.inside import clock
from rewardhub_code.preloads import HASH_SEED
from rewardhub_code.solution import RunLimits, TestResult

T = TypeVar("T")

EMPTY_SOLUTION = ""
STUB_SOLUTION = "def __getattr__(name):\n    return lambda *args, **kwargs: None\n"
"""Has every function that is asked for, and each returns None."""
_TASKS_KEPT = 4096
_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsRun:
    """What came of the tests of a task with one solution.

    Attributes:
        results: one for each test, in order.
        outcome: of the solution's program.
        tampered: signs that the solution attacked its grader.
        ended: how the solution's program ended before its time; empty if it did not.
        trust: what the verdict rests on: ``outside`` (compared outside of the sandbox), ``split``
            or ``in_process``.
        broke: how the tests themselves ended before their time; empty if they did not.
        objects: whether objects of the solution were passed to the tests.
    """

    __test__ = False

    results: tuple[TestResult, ...]
    outcome: Outcome
    tampered: tuple[str, ...] = ()
    ended: str = ""
    trust: str = "outside"
    broke: str = ""
    objects: bool = False

    @property
    def passed(self) -> bool:
        """Whether there are tests, and all of them passed."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def first_failure(self) -> str:
        """What the first test that did not pass says, or what ended the run before it."""
        for result in self.results:
            if not result.passed:
                return f"`{result.name}`: {result.reason or 'it failed'}"
        return self.broke or self.ended or "there was no test"


def total_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the last outcome with the CPU time of all, and the largest memory."""
    return replace(
        outcomes[-1],
        cpu_seconds=sum(outcome.cpu_seconds for outcome in outcomes),
        memory_mb=max(outcome.memory_mb for outcome in outcomes),
    )


def environment(*, seed: int = 0, ahead: float = 0.0) -> dict[str, str]:
    """Return the environment of a solution and of its tests.

    Args:
        seed: of Python's hashes.
        ahead: by how many seconds the clocks are ahead.
    """
    return {HASH_SEED: str(seed)} | ({clock.VARIABLE: str(ahead)} if ahead else {})


class TaskBook(Generic[T]):
    """What was found out about tasks, each once, however many attempts ask at a time."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, Future[T]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str, find: Callable[[], T]) -> T:
        """Return what ``find`` returned for ``key``; what it raises is not kept."""
        with self._lock:
            future = self._found.get(key)
            mine = future is None
            if future is None:
                future = self._found[key] = Future()
                while len(self._found) > _TASKS_KEPT:
                    self._found.popitem(last=False)
        if not mine:
            with waiting():
                return future.result()
        try:
            future.set_result(find())
        except BaseException as error:
            with self._lock:
                self._found.pop(key, None)
            future.set_exception(error)
            raise
        return future.result()


class TaskFaults(TaskBook[str]):
    """Why tasks cannot be graded, each found out once."""

    def refuse(self, key: str, find: Callable[[], str]) -> None:
        """Do nothing for a task that ``find`` has nothing to say against.

        Raises:
            TaskError: with what it says.
        """
        fault = self.get(key, find)
        if fault:
            raise TaskError(fault)


class CodeGrader(Grader):
    """The base of the graders that run solutions."""

    timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """CPU seconds for one program; its wall time is twice as much, and two seconds. A task may
    say otherwise."""
    memory_mb: int = Field(default=512, gt=0)
    """MiB of memory for one program. A task may say otherwise."""

    def check_of(self, trajectory: Trajectory) -> CodeCheck:
        """Return what the task says to the graders of code.

        Raises:
            TaskError: if it says nothing, or nothing that can be read.
        """
        found = trajectory.task.checks.get("code")
        if found is None:
            raise TaskError("the task has no `checks.code`")
        try:
            return CodeCheck.model_validate(found)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, ("checks", "code", *first["loc"])))
            raise TaskError(f"`{where}`: {first['msg']}") from None

    def limits_of(self, check: CodeCheck) -> RunLimits:
        """Return the limits of one program: the task's, else the grader's."""
        return RunLimits(
            cpu_seconds=check.timeout or self.timeout, memory_mb=check.memory_mb or self.memory_mb
        )

    def answer_of(self, trajectory: Trajectory, check: CodeCheck) -> Extraction:
        """Return the code in the attempt's final answer."""
        return _extract(trajectory.final_text, check)

    def reference_of(self, trajectory: Trajectory, check: CodeCheck) -> str | None:
        """Return the code of the task's reference; None where it has none.

        Raises:
            TaskError: if there is a reference, and no code in it.
        """
        reference = trajectory.task.reference
        if reference is None:
            return None
        if not isinstance(reference, str):
            raise TaskError(f"the reference is no text but {type(reference).__name__}")
        found = _extract(reference, check)
        if not found.code:
            raise TaskError(f"the reference has no code: {found.reason}")
        return found.code


def _extract(text: str, check: CodeCheck) -> Extraction:
    found = code_of(text, entry_point=check.entry_point, prompt=check.prompt)
    if not found.code or not check.preamble:
        return found
    # Imports from __future__ come first in any program.
    first = "\n".join(_FUTURE.findall(found.code))
    rest = _FUTURE.sub("", found.code)
    return replace(found, code=f"{first}\n{check.preamble}\n{rest}")


def key_of(check: CodeCheck, reference: str | None) -> str:
    """Return what stands for a task in a `TaskBook`: all that its graders know of it."""
    text = json.dumps([check.model_dump_json(), reference])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def task_fault(
    run: Callable[[str], TestsRun], reference: str | None, cheap: Sequence[tuple[str, str]]
) -> str:
    """Return why tests can grade nobody, or an empty text.

    Args:
        run: runs the tests with a solution.
        reference: the right solution, which must pass.
        cheap: names and sources of solutions that must not pass.
    """
    if reference is not None:
        tried = run(reference)
        if not tried.passed:
            return f"the reference fails its own tests: {tried.first_failure}"
    for name, source in cheap:
        if run(source).passed:
            return f"{name} passes all tests"
    return ""


CHEAP_SOLUTIONS = (
    ("an empty solution", EMPTY_SOLUTION),
    ("a stub that returns None", STUB_SOLUTION),
)


def no_code(answer: Extraction) -> Score:
    """Return the Score of an answer that has no code: 0, with what was looked for."""
    return Score.of(0.0, answer.reason, evidence={"extraction": answer.evidence()})


def score_of(run: TestsRun, *, partial: bool, evidence: Mapping[str, Any]) -> Score:
    """Return the Score of a solution: 1 if all tests passed, else 0 or the share that did.

    Args:
        run: what came of the tests.
        partial: whether some tests earn something.
        evidence: of the extraction.
    """
    count = len(run.results)
    passed = sum(result.passed for result in run.results)
    value = passed / count if partial and count else float(run.passed)
    told = f"{passed} of {count} tests passed"
    if passed < count or run.broke:
        told += f"; {run.first_failure}"
    signs = {"tampered": list(run.tampered)} if run.tampered else {}
    notes = {name: text for name, text in (("ended", run.ended), ("broke", run.broke)) if text}
    return Score.of(
        value,
        told[:1000],
        metrics={
            "tests": count,
            "passed": passed,
            "cpu_seconds": run.outcome.cpu_seconds,
            "memory_mb": run.outcome.memory_mb,
        },
        evidence={
            "trust": run.trust,
            **signs,
            **notes,
            "tests": [result.as_json() for result in run.results],
            "extraction": dict(evidence),
        },
    )
