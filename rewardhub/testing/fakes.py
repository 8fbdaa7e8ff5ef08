"""Stand-ins for what graders share: a judge with prepared replies, a sandbox with outcomes."""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from rewardhub.contracts import Job, Judge, JudgeReply, Outcome, Sandbox, Workers
from rewardhub.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")

Reply: TypeAlias = str | Mapping[str, Any] | JudgeReply
"""A text, the JSON of a structured reply, or a whole reply."""

Result: TypeAlias = str | Mapping[str, Any] | Outcome
"""What a program that ends well has printed, or an Outcome or its fields."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge was asked."""

    messages: tuple[Mapping[str, Any], ...]
    schema: Mapping[str, Any] | None
    seed: int | None
    logprobs: int = 0

    @property
    def text(self) -> str:
        """All messages as one text, to search in."""
        return "\n".join(str(message.get("content", "")) for message in self.messages)


class _Prepared(Generic[T]):
    """Hands out prepared answers in order, and says so when there is none left."""

    def __init__(self, kind: str, answers: Iterable[T | Exception]) -> None:
        self._kind = kind
        self._answers = deque(answers)
        self._count = len(self._answers)
        self.identity = {"fake": uuid.uuid4().hex}  # no cache takes one fake for another

    def next(self) -> T:
        try:
            answer = self._answers.popleft()
        except IndexError:
            raise UsageError(
                f"The fake {self._kind} was prepared for {self._count} calls, and this is one "
                "more: give it more answers, or make the grader call less."
            ) from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class FakeJudge(Judge):
    """A judge that gives prepared replies, in order.

    Attributes:
        asked: every question so far, in order.
    """

    def __init__(self, replies: Iterable[Reply | Exception]) -> None:
        self._replies = _Prepared[Reply]("judge", replies)
        self.asked: list[Question] = []

    @property
    def identity(self) -> Mapping[str, Any]:
        """Never equal to another's."""
        return self._replies.identity

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the next reply; an exception among them is raised.

        Raises:
            UsageError: if there is none left.
        """
        self.asked.append(Question(tuple(messages), schema, seed, logprobs))
        reply = self._replies.next()
        if isinstance(reply, JudgeReply):
            return reply
        if isinstance(reply, str):
            return JudgeReply(text=reply, data=None if schema is None else _json_in(reply))
        return JudgeReply(text=json.dumps(dict(reply)), data=dict(reply))


def _json_in(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


class FakeSandbox(Sandbox):
    """A sandbox that runs nothing and gives prepared outcomes, in order.

    Attributes:
        jobs: every job so far, in order.
    """

    def __init__(self, outcomes: Iterable[Result | Exception]) -> None:
        self._outcomes = _Prepared[Result]("sandbox", outcomes)
        self.jobs: list[Job] = []

    @property
    def identity(self) -> Mapping[str, Any]:
        """Never equal to another's."""
        return self._outcomes.identity

    def run(self, job: Job) -> Outcome:
        """Return the next outcome; an exception among them is raised.

        Raises:
            UsageError: if there is none left.
        """
        self.jobs.append(job)
        outcome = self._outcomes.next()
        if isinstance(outcome, str):
            return Outcome(status="ok", exit_code=0, stdout=outcome)
        return outcome if isinstance(outcome, Outcome) else Outcome(**outcome)

    async def arun(self, job: Job) -> Outcome:
        """Return the next outcome, as `run`."""
        return self.run(job)


class CallingWorkers(Workers):
    """Workers without processes: a call is a plain call, and no limit is kept."""

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``."""
        return function(*args, **kwargs)

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return itself."""
        del cpu_seconds, wall_seconds
        return self


def fake_judge(replies: Iterable[Reply | Exception]) -> FakeJudge:
    """Return a judge that gives ``replies`` in order, and keeps what it was ``asked``.

    Args:
        replies: texts, mappings (the JSON of a structured reply), `JudgeReply` values, or
            exceptions to raise.
    """
    return FakeJudge(replies)


def fake_sandbox(*outcomes: Result | Exception) -> FakeSandbox:
    """Return a sandbox that gives ``outcomes`` in order, and keeps the ``jobs`` it was given.

    Args:
        outcomes: texts (the stdout of a program that ends well), `Outcome` values or mappings of
            their fields, or exceptions to raise.
    """
    return FakeSandbox(outcomes)
