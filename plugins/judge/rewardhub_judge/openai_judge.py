"""The judge `openai`: any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from rewardhub import ChatEndpoint, Judge, JudgeReply, Usage


class OpenAIJudge(ChatEndpoint, Judge):
    """A model behind an OpenAI-compatible endpoint: OpenAI, vLLM, SGLang, llama.cpp, a proxy.

    One call is one request. A key stands in the environment: `api_key: {env: JUDGE_KEY}`.
    """

    temperature: float | None = Field(default=0.0, ge=0)
    """How freely tokens are drawn; null leaves it to the endpoint, as some models demand."""

    top_p: float | None = Field(default=None, gt=0, le=1)
    """The share of the likeliest tokens that are drawn from. Default: left to the endpoint."""

    max_completion_tokens: int = Field(default=2048, ge=1)
    """How many tokens the judge may write, its reasoning included. A verdict that is cut off is no
    verdict."""

    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """How JSON is asked for: by the endpoint's `json_schema` mode, by its `json_object` mode with
    the schema in the text, or by the text alone."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that a reply depends on; neither the key nor the prices."""
        return {
            "judge": "openai",
            "model": self.model,
            "base_url": self.public_url,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens": self.max_completion_tokens,
            "structured": self.structured,
            "extra_body": dict(self.extra_body),
        }

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the judge's reply to a chat: one request.

        Raises:
            InfrastructureError: if the endpoint gave none; it says whether that may pass.
        """
        reply = await self.complete(
            messages,
            schema=schema,
            structured=self.structured,
            seed=seed,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_completion_tokens,
            logprobs=logprobs,
        )
        return JudgeReply(
            text=reply.text,
            data=None if schema is None else reply.data,
            usage=reply.usage,
            finish_reason=reply.finish_reason,
            logprobs=reply.logprobs,
        )

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage | None:
        """Return an upper bound on what the reply to a chat uses."""
        return self.usage_bound(messages, schema=schema, max_tokens=self.max_completion_tokens)
