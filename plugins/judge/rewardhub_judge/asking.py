"""The verdict protocol: ask, ask again with the error, then try the control; never guess."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from rewardhub import Judge, JudgeReply
from rewardhub_judge.verdicts import MalformedVerdictError

__all__ = ["NEUTRAL", "Asking", "NoVerdict", "Question", "Spending", "UnfitJudgeError", "together"]

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
Messages: TypeAlias = Sequence[Mapping[str, Any]]

NEUTRAL = "I do not know."
"""The neutral answer: what stands in place of the graded text in a control."""

ASKED_AGAIN = 2
"""How often a judge is asked again after a reply that is no verdict."""

_ENDED: Mapping[str, str] = {
    "length": "the reply was cut off before its end; be shorter",
    "refusal": "the judge declined to answer",
    "content_filter": "a content filter of the endpoint held the reply back",
    "context_length": "the question is longer than the judge's context",
}
_LASTING = frozenset({"content_filter", "context_length"})
"""What the same question will meet again, so that asking again is in vain."""


class UnfitJudgeError(Exception):
    """The judge cannot do what the grader needs, whatever the answer is."""


@dataclass(slots=True)
class Spending:
    """What the replies to one grading took.

    Attributes:
        calls: questions put to the judge.
        cached: those of them whose reply was kept from earlier.
        prompt_tokens: of all replies, kept ones included.
        completion_tokens: likewise.
        cost: money spent now, in US dollars: a kept reply costs nothing.
    """

    calls: float = 0
    cached: float = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0
    cost: float = 0.0

    def add(self, reply: JudgeReply) -> None:
        """Count a reply."""
        self.calls += 1
        self.cached += reply.cached
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        self.cost += 0.0 if reply.cached else reply.usage.cost

    def take(self, other: Spending, share: float = 1.0) -> None:
        """Count a share of what another grading, or a comparison with others, took."""
        self.calls += other.calls * share
        self.cached += other.cached * share
        self.prompt_tokens += other.prompt_tokens * share
        self.completion_tokens += other.completion_tokens * share
        self.cost += other.cost * share

    @property
    def metrics(self) -> dict[str, float]:
        """The figures for a Score, besides its cost."""
        return {
            "judge_calls": float(self.calls),
            "judge_cached": float(self.cached),
            "prompt_tokens": float(self.prompt_tokens),
            "completion_tokens": float(self.completion_tokens),
        }


@dataclass(frozen=True, slots=True)
class Question(Generic[R_co]):
    """What a judge is asked.

    Attributes:
        messages: the chat.
        schema: JSON Schema of the verdict.
        read: makes of a whole reply what the grader needs; raises `MalformedVerdictError`.
        control: makes the same question with the neutral answer in place of the graded text; None
            for a question that is a control itself.
        logprobs: how many likely tokens are asked for at each place; 0 for none.
    """

    messages: Messages
    schema: Mapping[str, Any]
    read: Callable[[JudgeReply], R_co]
    control: Callable[[], Question[Any]] | None = None
    logprobs: int = 0


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """No verdict could be got.

    Attributes:
        problem: what was wrong with the last reply.
        control: what was wrong with the reply to the control; empty: that was a verdict, so the
            graded text is the cause.
        tries: what was wrong with each reply, in order.
    """

    problem: str
    control: str
    tries: tuple[str, ...] = ()

    @property
    def is_the_answers_doing(self) -> bool:
        """Whether the same request with a neutral answer got a verdict."""
        return not self.control


@dataclass(frozen=True, slots=True)
class _Problem:
    text: str
    reply: str
    lasting: bool


@dataclass(slots=True)
class Asking:
    """Gets verdicts for one grader; keeps the results of controls, one for each task."""

    _controls: dict[bytes, str] = field(default_factory=dict[bytes, str])

    async def verdict(
        self, judge: Judge, question: Question[T], spending: Spending
    ) -> T | NoVerdict:
        """Return what ``question.read`` makes of the judge's reply.

        A reply that is no verdict is answered with its error in the same chat, at most twice; one
        that asking again cannot mend (a content filter, a context that is too small) is not. Then
        the control is asked, once.

        Raises:
            InfrastructureError: if the endpoint gives no answer.
            UnfitJudgeError: if the judge has no log-probabilities, and the question needs them.
        """
        chat = list(question.messages)
        tries: list[str] = []
        for _ in range(1 + ASKED_AGAIN):
            got = await _try(judge, chat, question, spending)
            if not isinstance(got, _Problem):
                return got
            tries.append(got.text)
            if got.lasting:
                break
            chat += _again(got)
        assert question.control is not None
        control = await self.control(judge, question.control(), spending)
        return NoVerdict(tries[-1], control, tuple(tries))

    async def verdicts(
        self, judge: Judge, questions: Iterable[Question[T]], spending: Spending
    ) -> list[T] | NoVerdict:
        """Return what the judge says to all of ``questions``, asked side by side.

        If it gives no verdict on one of them, there is none on the whole; and a judge that gives
        none on a control says nothing of the answer, whatever its other replies were.

        Raises:
            InfrastructureError: if the endpoint gives no answer to one of them.
            UnfitJudgeError: as `verdict`.
        """
        got = await together(self.verdict(judge, each, spending) for each in questions)
        nothing = [each for each in got if isinstance(each, NoVerdict)]
        if nothing:
            return next((each for each in nothing if each.control), nothing[0])
        return [each for each in got if not isinstance(each, NoVerdict)]

    async def control(self, judge: Judge, control: Question[Any], spending: Spending) -> str:
        """Return what is wrong with the reply to a control; empty if it is a verdict."""
        key = _digest([dict(judge.identity), control.messages, control.schema, control.logprobs])
        if key not in self._controls:
            got = await _try(judge, control.messages, control, spending)
            self._controls[key] = got.text if isinstance(got, _Problem) else ""
        return self._controls[key]


async def _try(
    judge: Judge, chat: Messages, question: Question[T], spending: Spending
) -> T | _Problem:
    reply = await judge.ask(tuple(chat), schema=question.schema, logprobs=question.logprobs)
    spending.add(reply)
    if reply.finish_reason != "stop":
        ended = reply.finish_reason
        return _Problem(_ENDED[ended], reply.text, ended in _LASTING)
    if question.logprobs and reply.text and not reply.logprobs:
        raise UnfitJudgeError(
            "this judge gives no log-probabilities: leave out `expectation`, or take a judge that "
            "has them"
        )
    try:
        return question.read(reply)
    except MalformedVerdictError as error:
        return _Problem(str(error), reply.text, lasting=False)


def _again(problem: _Problem) -> list[dict[str, str]]:
    correction = (
        f"That reply was not accepted: {problem.text}. Reply again, with the one JSON object that "
        "was asked for and nothing else."
    )
    return [
        {"role": "assistant", "content": problem.reply or "(no reply)"},
        {"role": "user", "content": correction},
    ]


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).digest()


async def together(work: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results of all of ``work``, in order.

    All of it is finished even if some raises, for what was paid is kept; then the first error is
    raised.
    """
    import asyncio

    results = await asyncio.gather(*work, return_exceptions=True)
    done: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done
