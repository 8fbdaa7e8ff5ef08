"""The policy `openai`: a model behind any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, field_validator

from rewardhub import (
    ChatEndpoint,
    ChatReply,
    Step,
    Task,
    TemplateFacts,
    ToolCall,
    UnknownNameError,
    Usage,
)
from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.budget import Budget, with_retries
from rewardhub_policies.call_parsers import PARSERS
from rewardhub_policies.chat_messages import messages_of, tools_of
from rewardhub_policies.chat_parsing import parse_turn
from rewardhub_policies.chat_words import fenced


class OpenAIPolicy(ChatEndpoint, ActingPolicy):
    """A model behind an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, OpenAI, a proxy.

    The endpoint renders the chat, so earlier turns are written anew for each one: its history is
    ``rerender``. Each turn is asked with a seed of its own, which an endpoint may follow or not, so
    the policy never claims to be repeatable.
    """

    name: ClassVar[str] = "openai"

    revision: str = ""
    """What tells two models of one name apart: the checkpoint behind a local endpoint."""

    temperature: float | None = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How freely tokens are drawn; null leaves it to the endpoint."""

    top_p: float | None = Field(default=None, gt=0, le=1)
    """The share of the likeliest tokens that are drawn from; null leaves it to the endpoint."""

    max_new_tokens: int = Field(default=4096, ge=1)
    """How many tokens one turn may have, reasoning included."""

    stop: tuple[str, ...] = ()
    """Texts that end a turn."""

    calls: str = "native"
    """How tools are called: `native` by the endpoint's own calls; `react` by blocks of JSON in the
    text, for models without a format; or the format that the text has where the endpoint does not
    read it: hermes, qwen3-coder, llama3, mistral, deepseek, none."""

    stream: bool = True
    """Take answers in pieces, so that `timeout` is between two of them."""

    send_reasoning: bool = False
    """Whether the model is shown its earlier reasoning; not every endpoint takes it."""

    retries: int = Field(default=4, ge=0)
    """How often a request is sent again after a fault that may pass."""

    _budget: Budget = PrivateAttr(default_factory=Budget)

    @field_validator("calls")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in {"native", *PARSERS}:
            raise ValueError(str(UnknownNameError("format of calls", name, ["native", *PARSERS])))
        return name

    @property
    def version(self) -> str:
        """The model's name, and its revision where one is given."""
        return f"{self.model}@{self.revision}" if self.revision else self.model

    @property
    def sampling(self) -> Mapping[str, Any]:
        """What the model was asked with."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_new_tokens": self.max_new_tokens,
            "stop": list(self.stop),
            "calls": self.calls,
            "base_url": self.public_url,
            "history": "rerender",
        }

    def spend_from(self, budget: Budget) -> None:
        """Let every request be paid from ``budget``."""
        self._budget = budget

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        """Return the model's next turn: one request, sent again after faults that may pass.

        Raises:
            InfrastructureError: if the endpoint gave no answer, or the budget is used up.
        """
        messages, tools = self._asked(task, steps)

        async def ask() -> ChatReply:
            async with self._budget.reserve(self._bound(messages, tools)) as spend:
                reply = await self._request(messages, tools, seed)
                spend(reply.usage)
                return reply

        reply = await with_retries(ask, retries=self.retries, seed=seed)
        return self._action(reply, tools_of(task), steps)

    async def _request(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], seed: int
    ) -> ChatReply:
        return await self.complete(
            messages,
            tools=tools,
            seed=seed,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_new_tokens,
            stop=self.stop,
            stream=self.stream,
        )

    def _bound(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> Usage | None:
        listed = {"role": "system", "content": json.dumps(list(tools), ensure_ascii=False)}
        return self.usage_bound([*messages, listed], max_tokens=self.max_new_tokens)

    def _asked(
        self, task: Task, steps: Sequence[Step]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the chat and the tools as the endpoint takes them."""
        messages = messages_of(task, steps)
        tools = tools_of(task)
        if self.calls == "react":
            messages, tools = fenced(messages, tools), []
        return [self._sendable(message) for message in messages], tools

    def _sendable(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``message`` as the API allows it."""
        hidden = set() if self.send_reasoning else {"reasoning_content"}
        if message["role"] == "tool":
            hidden.add("name")
        sent = {key: value for key, value in message.items() if key not in hidden}
        if "tool_calls" in sent:
            sent["tool_calls"] = [_valid(call) for call in sent["tool_calls"]]
        return sent

    def _action(
        self, reply: ChatReply, tools: Sequence[Mapping[str, Any]], steps: Sequence[Step]
    ) -> Action:
        earlier = [call.id for step in steps for call in step.tool_calls]
        parser = PARSERS["none" if self.calls == "native" else self.calls]
        said = parse_turn(
            reply.text, parser=parser, facts=_FACTS, tools=tools, first_call=len(earlier)
        )
        earlier += [call.id for call in said.tool_calls]
        calls = (*said.tool_calls, *_with_own_ids(reply.tool_calls, earlier))
        reasoning = "\n\n".join(filter(None, (reply.reasoning, said.reasoning)))
        step = Step(
            text=said.text,
            reasoning=reasoning or None,
            tool_calls=calls,
            tokens=reply.usage.completion_tokens,
            cost=reply.usage.cost,
        )
        finish = "tool_calls" if reply.finish_reason == "stop" and calls else reply.finish_reason
        told = {
            "raw": reply.text,
            "history": "rerender",
            "prompt_tokens": reply.usage.prompt_tokens,
            "estimated": reply.estimated,
            "model": reply.model,
            "system_fingerprint": reply.system_fingerprint,
            "problems": list(said.problems),
        }
        return Action(step=step, finish=finish, metadata=told)


# What an endpoint gives as text has been decoded: it has no special tokens, and what looks like one
# was written. Reasoning may be in it all the same.
_FACTS = TemplateFacts(special_tokens=())


def _with_own_ids(calls: Sequence[ToolCall], earlier: Sequence[str]) -> list[ToolCall]:
    """Return ``calls``, each with an id that no call of the attempt has; some endpoints repeat."""
    taken = {"", *earlier}
    made: list[ToolCall] = []
    for number, call in enumerate(calls, len(earlier)):
        own = call.replace(id=f"call{number:05d}") if call.id in taken else call
        taken.add(own.id)
        made.append(own)
    return made


def _valid(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call that endpoints take: templates read its arguments as a JSON object.

    Arguments that are none stand under one key, so that the model sees what it wrote.
    """
    function = call["function"]
    try:
        is_object = isinstance(json.loads(function["arguments"] or "{}"), dict)
    except (ValueError, RecursionError):
        is_object = False
    arguments = function["arguments"] or "{}"
    if not is_object:
        arguments = json.dumps({"not_json": function["arguments"]}, ensure_ascii=False)
    name = function["name"] or "unknown"
    return {**call, "function": {"name": name, "arguments": arguments}}
