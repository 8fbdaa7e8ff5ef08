"""ChatEndpoint: a model behind an endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import importlib.util
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, PrivateAttr, field_validator

from rewardhub.builtin.endpoints.connection import Connection
from rewardhub.builtin.endpoints.faults import fault_of, no_reply
from rewardhub.builtin.endpoints.reply import ChatReply, Gathered, add_chunk, empty, gathered
from rewardhub.contracts import Options, Usage
from rewardhub.contracts.resources import FinishReason
from rewardhub.errors import InfrastructureError, UsageError, did_you_mean

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1"

Structured: TypeAlias = Literal["json_schema", "json_object", "prompt"]
"""How an endpoint is asked for JSON: by its own `json_schema` mode; by its `json_object` mode, with
the schema in the text; or by the text alone."""

CHECK_SECONDS = 10.0
"""How long `open` waits for an endpoint's list of models."""

TEMPLATE_TOKENS = 256
"""What a chat template may add to a prompt: markers, a default system message, the date."""


class ChatEndpoint(Options):
    """A model behind an endpoint that speaks OpenAI's chat completions.

    One call is one HTTP request: trying again is the caller's. The client is made on the event loop
    that asks, and closed with it. Needs the package ``openai`` (the extra ``openai``).
    """

    model: str = Field(min_length=1)
    """The model's name at the endpoint."""

    base_url: str = Field(default=OPENAI, repr=False)
    """Where the endpoint is, with its version: `http://localhost:8000/v1` for a local vLLM."""

    api_key: str | None = Field(default=None, repr=False)
    """The key, as `{env: NAME}`. Local servers need none."""

    timeout: float = Field(default=600.0, gt=0)
    """How many seconds one request may go without a sign of the endpoint."""

    prompt_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """US dollars for a million tokens of the prompt. Default: nothing is known to be paid."""

    completion_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """US dollars for a million tokens that the model writes, its reasoning included."""

    limit_name: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name that the endpoint has for the limit on what the model writes."""

    extra_body: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """Further fields of each request: `{chat_template_kwargs: {enable_thinking: false}}`."""

    headers: Mapping[str, str] = Field(default_factory=dict[str, str], repr=False)
    """Further HTTP headers."""

    check_model: bool = True
    """Whether the endpoint is asked, before the run, if it has the model. Say false where it does
    not list its models, or not all of them."""

    _connection: Connection = PrivateAttr()
    _told: bool = PrivateAttr(default=False)

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"{value!r} is no address of an endpoint; it looks like `http://localhost:8000/v1`"
            )
        return value.rstrip("/").removesuffix("/chat/completions")

    def model_post_init(self, _context: Any) -> None:
        """Get ready to connect; nothing is sent yet."""
        self._connection = Connection(self._client)

    @property
    def public_url(self) -> str:
        """The address without a name, a password or a query that may stand in it."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return urlunsplit((parts.scheme, f"{host}{port}", parts.path.rstrip("/"), "", ""))

    @property
    def where(self) -> str:
        """The model and its address, for people."""
        return f"`{self.model}` at {self.public_url}"

    def open(self) -> None:
        """Ask the endpoint whether it takes the key and has the model.

        Raises:
            UsageError: if it cannot work: ``openai`` is not installed, the key is missing or
                refused, nobody listens, the model is unknown. What may pass is only logged.
        """
        _require_openai()
        if not self.api_key and self.public_url == OPENAI:
            raise UsageError(
                f"{self.where} needs a key. Name the environment variable that holds it: "
                "`api_key: {env: OPENAI_API_KEY}`."
            )
        if self.check_model:
            self._check_model()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        structured: Structured = "json_schema",
        seed: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
        logprobs: int = 0,
        stream: bool = False,
    ) -> ChatReply:
        """Return the model's answer to a chat: one HTTP request.

        A refusal, a filter, an answer that was cut off and a chat that is too long are answers,
        told apart by ``finish_reason``.

        Args:
            messages: chat messages in OpenAI's format.
            tools: tools in OpenAI's format.
            schema: JSON Schema that the text of the answer must satisfy.
            structured: how the endpoint is asked for that.
            seed: for endpoints that can repeat themselves.
            temperature: None leaves it to the endpoint, as the two below.
            top_p: the share of the likeliest tokens that are drawn from.
            max_tokens: how many tokens the model may write, its reasoning included.
            stop: texts that end the answer.
            logprobs: how many of the likeliest tokens to tell for each token of the text.
            stream: take the answer in pieces, so that ``timeout`` is between two of them.

        Raises:
            InfrastructureError: if there is no answer; it says whether that may pass.
        """
        body = self._body(
            messages, tools=tools, schema=schema, structured=structured, seed=seed,
            temperature=temperature, top_p=top_p, max_tokens=max_tokens, stop=stop,
            logprobs=logprobs,
        )  # fmt: skip
        client = await self._connection.client()
        try:
            found = await (self._streamed if stream else self._whole)(client, body)
            return self._reply(found, found.finish_reason, body)
        except Exception as error:
            meaning = fault_of(error, self.where)
            if isinstance(meaning, InfrastructureError):
                raise meaning from error
            return ChatReply(finish_reason=meaning, model=self.model)

    def usage_bound(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
    ) -> Usage | None:
        """Return an upper bound on what the answer to a chat uses; None where there is none.

        A token is one byte at least, so the request has no more tokens than bytes, and what the
        chat template adds. What an image costs cannot be told from its address.
        """
        if any(not _is_text(message.get("content")) for message in messages):
            return None
        size = len(_json([list(messages), schema])) + TEMPLATE_TOKENS
        return self._usage(size, max_tokens)

    def _body(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        structured: Structured,
        max_tokens: int | None,
        stop: Sequence[str],
        logprobs: int,
        **sampling: Any,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": list(messages)}
        body |= {name: value for name, value in sampling.items() if value is not None}
        if schema is not None:
            if structured == "json_schema":
                named = {"name": "reply", "schema": schema, "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
            else:
                body["messages"] = _with_schema(messages, schema)
            if structured == "json_object":
                body["response_format"] = {"type": "json_object"}
        if max_tokens is not None:
            body[self.limit_name] = max_tokens
        if tools:
            body["tools"] = list(tools)
        if stop:
            body["stop"] = list(stop)
        if logprobs:
            body |= {"logprobs": True, "top_logprobs": logprobs}
        # Half of a surrogate pair, which a model may write, cannot be sent as UTF-8.
        scrubbed: dict[str, Any] = json.loads(_json(body | dict(self.extra_body)))
        return scrubbed

    async def _whole(self, client: AsyncOpenAI, body: dict[str, Any]) -> Gathered:
        response = await client.chat.completions.with_raw_response.create(**_split(body))
        return gathered(response.content)

    async def _streamed(self, client: AsyncOpenAI, body: dict[str, Any]) -> Gathered:
        found = empty()
        stream = await client.chat.completions.create(
            **_split(body), stream=True, stream_options={"include_usage": True}
        )
        async with stream:
            async for chunk in stream:
                add_chunk(found, chunk.model_dump(exclude_unset=True), "delta")
        return found

    def _reply(
        self, found: Gathered, finish_reason: FinishReason, body: Mapping[str, Any]
    ) -> ChatReply:
        counts = found.counts
        if counts is None and not self._told:
            self._told = True
            log.warning("%s counts no tokens: its bytes are counted instead", self.where)
        written = (
            found.text + found.reasoning + "".join(call.arguments for call in found.tool_calls)
        )
        prompt, completion = counts or (
            len(_json(body)) + TEMPLATE_TOKENS,
            len(written.encode("utf-8", "replace")),
        )
        return ChatReply(
            text=found.text or found.refusal,
            reasoning=found.reasoning,
            tool_calls=found.tool_calls,
            usage=self._usage(prompt, completion),
            estimated=counts is None,
            finish_reason=finish_reason,
            logprobs=tuple(found.logprobs),
            model=found.model or self.model,
            system_fingerprint=found.fingerprint,
        )

    def _usage(self, prompt: int, completion: int) -> Usage:
        cost = (prompt * self.prompt_price + completion * self.completion_price) / 1e6
        return Usage(prompt_tokens=prompt, completion_tokens=completion, cost=cost)

    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(**self._access)

    @property
    def _access(self) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "api_key": self.api_key or "none",
            "timeout": self.timeout,
            "max_retries": 0,
            "default_headers": dict(self.headers),
        }

    def _check_model(self) -> None:
        import openai

        access: dict[str, Any] = {**self._access, "timeout": min(self.timeout, CHECK_SECONDS)}
        start = time.monotonic()
        try:
            with openai.OpenAI(**access) as client:
                names = [each.id for each in client.models.list().data]
        except openai.NotFoundError:
            return  # the endpoint lists no models
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise UsageError(str(fault_of(error, self.where))) from None
        except openai.APITimeoutError:
            log.warning("%s is slow: no answer in %.0f s", self.where, time.monotonic() - start)
            return
        except openai.APIConnectionError as error:
            problem = f"{fault_of(error, self.where)}. Start the server, or correct `base_url`."
            raise UsageError(problem) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            log.warning("%s does not say what models it has: %s", self.where, error)
            return
        if names and self.model not in names:
            hint = did_you_mean(self.model, names) or f" It has {', '.join(names[:12])}."
            raise UsageError(
                f"{self.public_url} has no model `{self.model}`.{hint} If it has, and does not "
                "list it, say `check_model: false`."
            )


def _require_openai() -> None:
    if importlib.util.find_spec("openai") is None:
        raise UsageError(
            "An OpenAI-compatible endpoint needs the package `openai`: "
            "`pip install 'rewardhub-core[openai]'`."
        )


_SDK_FIELDS = frozenset({"model", "messages"})


def _split(body: dict[str, Any]) -> dict[str, Any]:
    """Return ``body`` as the SDK takes it: it sends fields that it does not know from one place."""
    own = {name: body[name] for name in _SDK_FIELDS}
    return {**own, "extra_body": {name: body[name] for name in body if name not in _SDK_FIELDS}}


def _with_schema(
    messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return ``messages`` with the schema at the end of the last one that a user says."""
    request = (
        "\n\nReply with one JSON object that satisfies this JSON Schema, and with nothing else:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    asked = list(messages)
    for place in reversed(range(len(asked))):
        if asked[place].get("role") == "user":
            asked[place] = {**asked[place], "content": _added(asked[place]["content"], request)}
            return asked
    return [*asked, {"role": "user", "content": request.strip()}]


def _added(content: Any, text: str) -> Any:
    return (
        content + text if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    )


def _is_text(content: Any) -> bool:
    if content is None or isinstance(content, str):
        return True
    return all(isinstance(part, Mapping) and part.get("type") == "text" for part in content)


def _json(value: Any) -> bytes:
    """Return ``value`` as the SDK sends it; half of a surrogate pair becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise no_reply(f"cannot be sent {type(value).__name__}, which is no JSON", passing=False)
