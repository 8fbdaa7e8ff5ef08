"""The cache of what judges replied, shared between runs and processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from rewardhub.contracts import JudgeReply
from rewardhub.engine.store import Store, cache_folder
from rewardhub.records import canonical_json
from rewardhub.records.base import digest_of_bytes


@cache
def _replies() -> TypeAdapter[JudgeReply]:
    """Return what reads replies; made when it is needed, for most runs ask no judge."""
    return TypeAdapter(JudgeReply)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a judge is asked."""

    messages: Sequence[Mapping[str, Any]]
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    logprobs: int = 0

    def key(self, judge: Mapping[str, Any]) -> str:
        """Return the key of the reply by the judge with this identity."""
        messages = [_brief(message) for message in self.messages]
        asked = [dict(judge), messages, self.schema, self.seed, self.logprobs]
        return digest_of_bytes(canonical_json(asked))


def _brief(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the digest of its text: writing long texts as JSON is what costs."""
    content = message.get("content")
    if not isinstance(content, str):
        return dict(message)
    digest = digest_of_bytes(content.encode("utf-8", "surrogatepass"))
    return {**message, "content": {"digest": digest}}


class Verdicts:
    """Replies of judges by the content of the question. Safe with several threads and processes.

    Args:
        path: the file; None: ``verdicts.sqlite`` in the folder of caches.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = cache_folder() / "verdicts.sqlite" if path is None else path
        self._store = Store(self.path, "verdict")

    def get(self, key: str) -> JudgeReply | None:
        """Return the reply that is kept under ``key``, marked as cached, or None."""
        data = self._store.get(key)
        if data is None:
            return None
        try:
            return _replies().validate_json(data)
        except ValidationError:
            self._store.set_aside("holds what is no reply of a judge")
            return None

    def put(self, key: str, reply: JudgeReply) -> None:
        """Keep a reply, whatever its finish reason: the same question would end the same way."""
        try:
            data = to_json(replace(reply, cached=True), inf_nan_mode="constants")
        except (PydanticSerializationError, UnicodeEncodeError):
            return  # half of a surrogate pair, or what is no JSON
        self._store.put(key, data)

    def close(self) -> None:
        """Close the file."""
        self._store.close()
