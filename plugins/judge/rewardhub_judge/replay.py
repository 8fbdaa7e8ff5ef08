"""The judge `replay`: answers from a recording, so that no endpoint is needed."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from rewardhub import InfrastructureError, Judge, JudgeReply, Options, Usage, UsageError
from rewardhub_judge.replies import json_in

__all__ = ["RecordedReply", "ReplayJudge", "digest_of"]

_COMPARED = 4000
"""Characters of two questions that are compared to name the closest one."""


class RecordedReply(BaseModel):
    """One line of a recording: which question it answers, and with what.

    A question is named whole (`messages`), by its digest (`question`), or by texts that it holds
    (`contains`). Lines that name none answer one question each, in the order of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    messages: list[dict[str, Any]] | None = None
    """The chat, word for word."""

    question: str | None = None
    """SHA-256 of the chat, as the message about a missing answer gives it."""

    contains: list[str] | None = Field(default=None, min_length=1)
    """Texts that all stand in the chat. Of several lines that fit, the first answers."""

    seed: int | None = None
    """Answers a question with this seed alone; default: with any."""

    text: str | None = None
    """What the judge wrote."""

    data: Any = None
    """What the judge wrote, as JSON, in the place of `text`."""

    finish_reason: str = Field(
        default="stop", pattern="^(stop|length|content_filter|refusal|context_length)$"
    )
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    logprobs: list[dict[str, float]] = []

    @model_validator(mode="after")
    def _one_of_each(self) -> RecordedReply:
        keys = [self.messages, self.question, self.contains]
        if sum(key is not None for key in keys) > 1:
            raise ValueError("say one of `messages`, `question` and `contains`")
        if ("text" in self.model_fields_set) == ("data" in self.model_fields_set):
            raise ValueError("say what the judge wrote: either `text` or `data`")
        return self

    @property
    def key(self) -> str | None:
        """The digest of the question that it names whole; None if it names none."""
        return self.question if self.messages is None else digest_of(self.messages)

    @property
    def is_next(self) -> bool:
        """Whether it names no question, and so answers the next one."""
        return self.key is None and self.contains is None

    def fits(self, asked: str, seed: int | None) -> bool:
        """Return whether its texts all stand in a question."""
        if self.contains is None or self.seed not in {None, seed}:
            return False
        return all(text in asked for text in self.contains)

    def reply(self, *, as_json: bool) -> JudgeReply:
        """Return it as a judge's reply; with ``as_json`` the JSON in it is read."""
        text = json.dumps(self.data, ensure_ascii=False) if self.text is None else self.text
        return JudgeReply(
            text=text,
            data=json_in(text) if as_json else None,
            usage=Usage(
                prompt_tokens=self.prompt_tokens,
                completion_tokens=self.completion_tokens,
                cost=self.cost,
            ),
            finish_reason=self.finish_reason,  # type: ignore[arg-type]  # its pattern holds it
            logprobs=tuple(self.logprobs),
        )


class _Recording:
    """The lines of a file, by how they name their questions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = _bytes_of(path)
        self.digest = hashlib.sha256(data).hexdigest()
        self.lines = dict(_lines(path, data))
        self.exact: dict[tuple[str, int | None], RecordedReply] = {}
        self._index()
        self.in_order = [line for line in self.lines.values() if line.is_next]
        if 0 < len(self.in_order) < len(self.lines):
            number = next(number for number, line in self.lines.items() if line.is_next)
            raise UsageError(
                f"{path}, line {number}: names no question, and other lines do. Give it `messages`,"
                " `question` or `contains`, or take them from all lines."
            )

    def _index(self) -> None:
        numbers: dict[tuple[str, int | None], int] = {}
        for number, line in self.lines.items():
            if line.key is None:
                continue
            key = (line.key, line.seed)
            before = numbers.setdefault(key, number)
            if self.exact.setdefault(key, line).reply(as_json=False) != line.reply(as_json=False):
                raise UsageError(
                    f"{self.path}: lines {before} and {number} answer one question differently. "
                    "Remove one, or give them a `seed` each."
                )

    def answer(self, messages: Sequence[Mapping[str, Any]], seed: int | None) -> RecordedReply:
        digest = digest_of(messages)
        found = self.exact.get((digest, seed)) or self.exact.get((digest, None))
        if found is not None:
            return found
        asked = _text_of(messages)
        for line in self.lines.values():
            if (
                line.contains
                and line.seed in {None, seed}
                and all(s in asked for s in line.contains)
            ):
                return line
        raise InfrastructureError(
            f"The recording {self.path} answers no such question ({digest}).{self._closest(asked)} "
            'Record it: a line with `"question": "<that digest>"` and `"text"` or `"data"`.',
            passing=False,
        )

    def _closest(self, asked: str) -> str:
        """Say which recorded question comes nearest, and where it begins to differ."""
        texts = {n: _text_of(each.messages) for n, each in self.lines.items() if each.messages}
        if not texts:
            return ""
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(asked[:_COMPARED])

        def likeness(number: int) -> float:
            matcher.set_seq1(texts[number][:_COMPARED])
            return matcher.quick_ratio()

        closest = max(texts, key=likeness)
        place = _first_difference(asked, texts[closest])
        here, there = (repr(text[place : place + 40]) for text in (asked, texts[closest]))
        return (
            f" The closest one is on line {closest}: from character {place} on it reads {there}, "
            f"and the question {here}."
        )


class ReplayJudge(Options, Judge):
    """Gives recorded answers: for tests, demonstrations, and runs without an endpoint.

    The recording is a JSON Lines file. What is not in it is a failed Score (infrastructure) that
    names the closest question there is; nothing is made up.
    """

    file: Path
    """The recording."""

    _given: int = PrivateAttr(default=0)
    """How many answers were given in their order."""

    @cached_property
    def _recording(self) -> _Recording:
        return _Recording(self.file)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The recording's digest."""
        return {"judge": "replay", "recording": self._recording.digest}

    def open(self) -> None:
        """Read the recording.

        Raises:
            UsageError: if it is missing, or for its first mistake, with the line.
        """
        _ = self._recording
        self._given = 0

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,  # noqa: ARG002  # they are in the recording, or nowhere
    ) -> JudgeReply:
        """Return the recorded reply. ``schema`` and ``logprobs`` choose none, and change none.

        Raises:
            InfrastructureError: if there is none.
        """
        recording = self._recording
        if not recording.in_order:
            return recording.answer(messages, seed).reply(as_json=schema is not None)
        if self._given == len(recording.in_order):
            raise InfrastructureError(
                f"All {self._given} answers of the recording {self.file} are given, and this is "
                "one question more.",
                passing=False,
            )
        self._given += 1
        return recording.in_order[self._given - 1].reply(as_json=schema is not None)

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage:
        """Return the most that any recorded answer used."""
        del messages, schema
        lines = self._recording.lines.values()
        return Usage(
            prompt_tokens=max((line.prompt_tokens for line in lines), default=0),
            completion_tokens=max((line.completion_tokens for line in lines), default=0),
            cost=max((line.cost for line in lines), default=0.0),
        )


def digest_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of a chat, as JSON with sorted keys and no spaces."""
    text = json.dumps(
        [dict(each) for each in messages],
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The recording {path} cannot be read: {error.strerror}. The judge `replay` needs a "
            "`file` of JSON Lines; a relative path starts at the working directory."
        ) from None


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, RecordedReply]]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, RecordedReply.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            told = first["msg"].removeprefix("Value error, ")
            raise UsageError(
                f"{path}, line {number}: {f'`{place}`: ' if place else ''}{told}."
            ) from None


def _text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(str(message.get("content", "")) for message in messages)


def _first_difference(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
