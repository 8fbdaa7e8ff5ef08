"""What graders share beside sandboxes: judges, models, worker processes.

A grader asks for a resource by a parameter whose annotation is one of these contracts; the reward
spec binds the parameter's name to one of its ``resources``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, ParamSpec, TypeAlias, TypeVar

from rewardhub.contracts.resource import Resource
from rewardhub.contracts.sandbox import Sandbox

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a model call cost: tokens in and out, and money in US dollars."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


FinishReason: TypeAlias = Literal["stop", "length", "content_filter", "refusal", "context_length"]
"""Why a judge stopped: it was done; it was cut off; a filter of the endpoint held its reply back;
it declined to answer; the question was longer than its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """A judge's answer.

    Attributes:
        text: as the model wrote it; empty where it wrote nothing.
        data: the JSON in it; None where no schema was asked, or where it is no JSON.
        usage: what the answer cost when it was given.
        finish_reason: only after ``stop`` is the text whole.
        logprobs: for each token of the text: tokens and their natural log probabilities, the one
            that was taken first, then the likeliest others; empty where they were not asked, or
            where the judge has none.
        cached: whether it was kept from an earlier call, so that nobody pays for it now.
    """

    text: str
    data: Any = None
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    logprobs: tuple[Mapping[str, float], ...] = ()
    cached: bool = False


class Judge(Resource):
    """A language model that a grader may ask.

    A judge makes one request for each call. The engine does the rest around it, for every judge:
    it keeps replies by content, joins equal questions, holds limits and budgets, and tries again
    what an endpoint could not answer.
    """

    kind: ClassVar[str] = "judge"

    @abstractmethod
    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the judge's reply to a chat.

        A refusal, a filter, a reply that was cut off and a question that is too long are replies,
        told apart by ``finish_reason``: they are about what was asked, and do not mend themselves.

        Args:
            messages: chat messages with ``role`` and ``content``.
            schema: JSON Schema that the reply must satisfy.
            seed: for backends that can repeat themselves.
            logprobs: how many of the likeliest tokens to tell for each token of the reply.

        Raises:
            InfrastructureError: if the endpoint gave no answer; its ``retry_after`` says how many
                seconds it asked to be left alone.
        """

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage | None:
        """Return an upper bound on what the reply to a chat uses; None where it cannot be told.

        Budgets in tokens and money reserve it before a call. It is asked before `open`, too.
        """
        del messages, schema
        return None


class Model(Resource):
    """A local model that graders share: weights are loaded once, calls are batched."""

    kind: ClassVar[str] = "model"

    @abstractmethod
    def forward(self, inputs: Sequence[str], **parameters: Any) -> Sequence[Any]:
        """Return one result for each input text, in the same order.

        Raises:
            InfrastructureError: if the device is lost or out of memory.
        """


class Workers(Resource):
    """Killable worker processes, for the one dangerous call of a mostly cheap grader.

    Settle what is cheap first: the first `call` moves the whole grading into a worker process,
    where ``grade`` runs again from its start, so ``grade`` must not have changed anything before.
    """

    kind: ClassVar[str] = "workers"

    @abstractmethod
    def call(
        self,
        function: Callable[P, T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``function(*args, **kwargs)``, run where it can be killed.

        ``function`` is importable by name, and arguments and result are plain data. The limits
        are those of `limited`, else the grader's. Over a limit the engine, not the grader,
        decides whose fault it was.
        """

    @abstractmethod
    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same workers with narrower limits for the calls made through them."""


KINDS: dict[type[Resource], str] = {
    Sandbox: "sandbox",
    Judge: "judge",
    Model: "model",
    Workers: "workers",
}
