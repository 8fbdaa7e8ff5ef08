"""What every judge promises, as tests to inherit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from rewardhub.contracts import Judge, JudgeReply
from rewardhub.contracts.resources import FinishReason


class JudgeContract:
    """What every judge promises. Subclass it in a test file, and say what is tested::

        class TestMyJudge(JudgeContract):
            def make_judge(self):
                return MyJudge(model="small")

    Attributes:
        messages: a chat that the judge answers.
        schema: what its answer satisfies; None where it need not satisfy any.
    """

    messages: Sequence[Mapping[str, Any]] = ({"role": "user", "content": "Is 2 even?"},)
    schema: Mapping[str, Any] | None = None

    def make_judge(self) -> Judge:
        """Return a new judge, not opened yet."""
        raise NotImplementedError(f"{type(self).__name__} must define `make_judge`")

    def ask(self, times: int = 1, **how: Any) -> list[JudgeReply]:
        """Return what a new judge replies to equal questions that it is asked at once."""

        async def ask_all(judge: Judge) -> list[JudgeReply]:
            asked = (judge.ask(self.messages, **how) for _ in range(times))
            return list(await asyncio.gather(*asked))

        judge = self.make_judge()
        judge.open()
        try:
            return asyncio.run(ask_all(judge))
        finally:
            judge.close()

    def test_replies_to_a_chat(self) -> None:
        """With text, a known finish reason, and numbers that can be."""
        (reply,) = self.ask()
        assert isinstance(reply.text, str)
        assert reply.finish_reason in get_args(FinishReason)
        assert min(reply.usage.prompt_tokens, reply.usage.completion_tokens) >= 0
        assert reply.usage.cost >= 0
        assert not reply.cached, "what is kept from earlier calls is the engine's business"

    def test_replies_to_many_at_once(self) -> None:
        """One call is one request, however many are under way."""
        assert len(self.ask(8)) == 8

    def test_takes_a_seed_and_asks_for_log_probabilities(self) -> None:
        """A judge without them leaves them empty; one that has them says no more than 0."""
        (reply,) = self.ask(seed=7, logprobs=2)
        assert all(value <= 0 for token in reply.logprobs for value in token.values())

    def test_gives_the_json_of_a_structured_reply(self) -> None:
        """Where a schema was asked: what stands in the text, or None where that is no JSON."""
        (reply,) = self.ask(schema=self.schema or {"type": "object"})
        try:
            written = json.loads(reply.text)
        except ValueError:
            written = None
        assert reply.data == written
        assert reply.data is not None or self.schema is None

    def test_gives_no_json_where_none_was_asked(self) -> None:
        """Whatever the text looks like."""
        (reply,) = self.ask()
        assert reply.data is None

    def test_asks_again_after_it_was_closed(self) -> None:
        """Each run opens and closes it, on a loop of its own."""
        judge = self.make_judge()
        for _ in range(2):
            judge.open()
            reply = asyncio.run(judge.ask(self.messages))
            judge.close()
            assert isinstance(reply, JudgeReply)

    def test_its_identity_is_json(self) -> None:
        """And the same for two that were made alike: it is part of every kept verdict's key."""
        told = [dict(self.make_judge().identity) for _ in range(2)]
        assert told[0] == told[1] == json.loads(json.dumps(told[0]))
        assert told[0], "a judge says which model it is"

    def test_its_upper_bound_holds(self) -> None:
        """Where it has one: no reply uses more."""
        bound = self.make_judge().at_most(self.messages, schema=self.schema)
        if bound is not None:
            (reply,) = self.ask(schema=self.schema)
            assert reply.usage.prompt_tokens <= bound.prompt_tokens
            assert reply.usage.completion_tokens <= bound.completion_tokens
            assert reply.usage.cost <= bound.cost
