"""A local OpenAI-compatible endpoint for tests, with faults on demand.

It speaks ``/v1/chat/completions`` (whole and streamed) and ``/v1/models``, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from rewardhub.records import digest_of
from rewardhub.testing.openai_answers import (
    ChatAnswer,
    ChatRequest,
    EndpointFault,
    completion_of,
    error_body,
    faulty,
    share_of,
    stream_of,
)

Answer: TypeAlias = "str | Mapping[str, Any] | ChatAnswer"
"""What the endpoint answers: a text, the JSON of a structured reply, or every field of it."""

Answers: TypeAlias = "Answer | Sequence[Answer] | Callable[[ChatRequest], Answer]"


class OpenAIServer:
    """A local OpenAI-compatible endpoint::

        with OpenAIServer("yes", faults={"server_error": 0.05}) as server:
            judge = {"use": "openai", "model": "test-model", "base_url": server.url}

    Args:
        answers: one answer for all; a list, whose last answer is followed by an error; or a
            function of the request, which is called in the server's thread.
        faults: fault -> the share of requests that meet it, from 0 to 1. Which ones follows from
            the seed, the body, and how often it came before: never from the order of arrival.
        once: faults for the first requests, one each, before any others.
        seed: picks the requests that meet a fault.
        models: the models that it has; another one is answered with 404.
        api_key: the only key that it takes; None: any.
        delay: seconds before each answer.
        retry_after: what a rate limit says of when to come back, in seconds or as a date.

    Attributes:
        counts: digest of a request's body -> how often it came.
        requests: every request, in order of arrival.
        faults: how often each fault was met.
        peak: how many requests were being answered at a time, at most. One that stalls is not.
    """

    def __init__(
        self,
        answers: Answers = "ok",
        *,
        faults: Mapping[EndpointFault, float] | None = None,
        once: Iterable[EndpointFault] = (),
        seed: int = 0,
        models: Sequence[str] = ("test-model",),
        api_key: str | None = None,
        delay: float = 0.0,
        retry_after: str = "0",
    ) -> None:
        self._answers = answers
        self._shares = dict(faults or {})
        self._once = list(once)
        self._seed = seed
        self._models = models
        self._key = api_key
        self._delay = delay
        self._retry_after = retry_after
        self.counts: Counter[str] = Counter()
        self.requests: list[ChatRequest] = []
        self.faults: Counter[EndpointFault] = Counter()
        self.peak = 0
        self._active = 0
        self._given = 0
        self._errors: list[BaseException] = []
        self._port = 0
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="openai-server", daemon=True)

    @property
    def url(self) -> str:
        """The address of the endpoint: what `base_url` takes."""
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> Self:
        """Begin to listen, on a free port of this machine."""
        self._thread.start()
        self._started.wait(10)
        return self

    def close(self) -> None:
        """Stop, and hang up on everybody.

        Raises:
            BaseException: what the function of answers raised, if it did.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
        if self._errors:
            raise self._errors[0]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- the loop -------------------------------------------------------------------------------

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048)
        )
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the server ends
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays."""
        first = await reader.readexactly(1)
        if not first.isalpha():
            return False  # TLS, or no HTTP at all
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            return await _send(writer, 401, error_body("Incorrect API key", "invalid_api_key"))
        if (method, path) == ("GET", "/v1/models"):
            listed = [{"id": name, "object": "model"} for name in self._models]
            return await _send(writer, 200, _dump({"object": "list", "data": listed}))
        if (method, path) != ("POST", "/v1/chat/completions"):
            return await _send(writer, 404, error_body(f"Not found: {path}", "not_found"))
        return await self._chat(json.loads(body), reader, writer)

    async def _chat(
        self, body: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        digest = digest_of(body)
        seen = self.counts[digest]
        fault = self._fault_of(digest, seen)
        request = ChatRequest(body=body, digest=digest, seen=seen, fault=fault)
        self.counts[digest] += 1
        self.requests.append(request)
        if fault is not None:
            self.faults[fault] += 1
        if fault == "stall":
            await reader.read()  # until the client hangs up
            return False
        self._active += 1
        self.peak = max(self.peak, self._active)
        try:
            await asyncio.sleep(self._delay)
        finally:
            self._active -= 1  # before the answer: the client may come back at once
        return await self._answered(request, writer)

    def _fault_of(self, digest: str, seen: int) -> EndpointFault | None:
        if self._once:
            return self._once.pop(0)
        place = share_of(self._seed, digest, seen)
        for fault, share in self._shares.items():
            if place < share:
                return fault
            place -= share
        return None

    async def _answered(self, request: ChatRequest, writer: asyncio.StreamWriter) -> bool:
        fault = request.fault
        if request.body.get("model") not in self._models:
            named = f"The model `{request.body.get('model')}` does not exist"
            return await _send(writer, 404, error_body(named, "model_not_found"))
        if fault == "drop":
            return False
        if fault in _STATUSES:
            status, message, code = _STATUSES[fault]
            headers = {"retry-after": self._retry_after} if status == 429 else {}
            return await _send(writer, status, error_body(message, code), headers)
        try:
            answer = faulty(self._next_answer(request), fault)
        except Exception as error:  # noqa: BLE001  # raised where the server is closed
            self._errors.append(error)
            return await _send(writer, 500, error_body(f"the test's answers: {error}", "test"))
        if request.body.get("stream"):
            return await _send_stream(writer, stream_of(request, answer), fault)
        data = b"<html>Bad gateway</html>" if fault == "malformed_body" else None
        data = data or _dump(completion_of(request, answer))
        return await _send(writer, 200, data, cut=fault == "truncated_body")

    def _next_answer(self, request: ChatRequest) -> ChatAnswer:
        answers = self._answers
        if callable(answers):
            answer: Answer = answers(request)
        elif isinstance(answers, str | Mapping | ChatAnswer):
            answer = answers
        else:
            answer = answers[self._given]
            self._given += 1
        if isinstance(answer, ChatAnswer):
            return answer
        return ChatAnswer(text=answer if isinstance(answer, str) else json.dumps(dict(answer)))


_STATUSES: dict[EndpointFault | None, tuple[int, str, str]] = {
    "server_error": (500, "The server had an error", "server_error"),
    "overloaded": (503, "The engine is overloaded", "overloaded"),
    "rate_limit": (429, "Rate limit reached", "rate_limit_exceeded"),
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "unauthorized": (401, "Incorrect API key provided", "invalid_api_key"),
    "bad_request": (400, "Unknown parameter", "unknown_parameter"),
    "context_length": (
        400,
        "This model's maximum context length is 4096 tokens",
        "context_length_exceeded",
    ),
    "content_filter_error": (
        400,
        "The prompt triggered the content management policy",
        "content_filter",
    ),
}


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    data: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    cut: bool = False,
) -> bool:
    lines = [
        f"HTTP/1.1 {status} Status",
        "content-type: application/json",
        f"content-length: {len(data)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    writer.write(
        "\r\n".join(lines).encode() + b"\r\n\r\n" + (data[: len(data) // 2] if cut else data)
    )
    await writer.drain()
    return not cut


async def _send_stream(
    writer: asyncio.StreamWriter, chunks: Sequence[Mapping[str, Any]], fault: EndpointFault | None
) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    lines = [b"data: " + _dump(chunk) + b"\n\n" for chunk in chunks]
    if fault == "malformed_body":
        lines[0] = b"data: {not json\n\n"
    if fault == "truncated_body":
        lines = lines[: len(lines) // 2]
    else:
        lines.append(b"data: [DONE]\n\n")
    for line in lines:
        writer.write(line)
        await writer.drain()
    writer.write_eof()
    return False
