"""Logs of Inspect: ``.json`` documents and ``.eval`` archives."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic_core import from_json, to_json

from rewardhub.builtin.formats.cutting import MAX_ROW_BYTES, head_of
from rewardhub.builtin.formats.foreign.documents import BrokenDocumentError, JsonCutter, too_long
from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_message, take_words, tool_call
from rewardhub.builtin.formats.opening import BrokenFileError, open_bytes
from rewardhub.contracts import RawRow
from rewardhub.errors import RowError, UsageError

_ZIP = b"PK\x03\x04"
_NAME_AT = 30  # where the name of its first entry stands in a zip archive
_ENTRIES = (b"_journal/", b"samples/", b"header.json", b"summaries")
_HEADERS = ("header.json", "_journal/start.json")
_OF_EVAL = ("task", "task_id", "run_id", "eval_id", "model", "created")
_ATTACHMENT = "attachment://"
_UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)
_CUT = ("max_tokens", "model_length", "length")


def is_inspect_log(row: Fields) -> bool:
    """Whether ``row`` is the beginning of a log's document."""
    evaluation: Any = row.get("eval")
    return "version" in row and isinstance(evaluation, dict) and "task" in evaluation


def is_inspect_archive(head: bytes) -> bool:
    """Whether ``head`` begins an ``.eval`` archive: a zip whose first entry is a log's."""
    return head.startswith(_ZIP) and head[_NAME_AT:].startswith(_ENTRIES)


class InspectReader(ForeignReader):
    """Reads logs of Inspect (format version 2), ``.json`` and ``.eval``, sample by sample.

    A sample is a trajectory. Assistant messages are steps, except those of the sample's own input
    (few-shot examples). ``target`` is the reference, ``metadata`` of the sample that of the task.
    The scores stand in ``metadata.sample.scores`` as Inspect wrote them, and as numbers in
    ``metadata.values`` (C is 1, P 0.5, I and N 0), where ``recorded/value`` finds them. A sample
    with an error is broken; one that met a limit, or whose last output ran out of tokens, is
    truncated. Texts that were moved to ``attachments`` are put back into the messages. What the
    log says of the whole run (plan, results, statistics) belongs to no sample and is left out.
    """

    format = "Inspect"
    _numbers: ClassVar[Mapping[str, float]] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the samples of a log, each with the names of its run."""
        head = head_of(path)
        return _of_archive(path) if head.startswith(_ZIP) else _of_document(path)

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("sample"):
            raise RowError("the row has no `sample`")
        log, sample = row.object("log"), row.object("sample")
        texts = sample.object("attachments").fields
        for key in ("messages", "output"):
            sample.fields[key] = _with_texts(sample.fields.get(key), texts)
        name = log.fields.get("task")
        number = sample.take_id("id")
        draft.task["id"] = f"{name}/{number}" if isinstance(name, str) else number
        draft.fields["id"] = sample.take_id("uuid")
        draft.task["reference"] = sample.take("target")
        if sample.object("metadata").fields:
            draft.task["metadata"] = sample.take("metadata")
        if isinstance(log.fields.get("model"), str):
            draft.fields["policy"] = {"name": log.take_text("model")}
        draft.fields["seconds"] = sample.take_number("total_time")
        _add_turns(draft, sample)
        draft.metadata["values"] = dict(self._values(sample.object("scores")))
        _add_end(draft, sample)

    def _values(self, scores: Node) -> Iterator[tuple[str, float]]:
        for name, score in scores.fields.items():
            value: Any = score.get("value") if isinstance(score, dict) else None
            number = self._numbers.get(value) if isinstance(value, str) else value
            if isinstance(number, bool | int | float):
                yield name, number


def _of_document(path: Path) -> Iterator[RawRow]:
    number = 0
    log: Fields = {}
    try:
        with open_bytes(path) as stream:
            for name, value in JsonCutter(stream).members("samples"):
                if name == "eval":
                    log = _names_of(value)
                elif name == "samples":
                    number += 1
                    yield _row(number, log, value)
    except (BrokenFileError, BrokenDocumentError) as error:
        yield RawRow(number + 1, b"", str(error))


def _of_archive(path: Path) -> Iterator[RawRow]:
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise UsageError(f"`{path}` is no readable zip archive: {error}.") from None
    with archive:
        names = archive.namelist()
        header = next((each for each in _HEADERS if each in names), None)
        if header is None:
            raise UsageError(
                f"`{path}` is a zip archive, and no log of Inspect: it has neither "
                f"{' nor '.join(_HEADERS)}."
            )
        try:
            log = _names_of(to_json(_object(archive.read(header)).get("eval")))
        except _UNREADABLE as error:
            raise UsageError(f"`{header}` in `{path}` cannot be read: {error}.") from None
        yield from _samples(archive, names, log)


def _samples(archive: zipfile.ZipFile, names: Iterable[str], log: Fields) -> Iterator[RawRow]:
    number = 0
    for name in names:
        folder, _, entry = name.partition("/")
        if folder != "samples" or not name.endswith(".json"):
            continue
        if "/" in entry:
            if not entry.endswith("/sample.json"):
                continue
            number += 1
            yield RawRow(number, b"", f"`{name}`: samples stored in pieces cannot be read")
            continue
        number += 1
        if archive.getinfo(name).file_size > MAX_ROW_BYTES:
            yield too_long(number)
            continue
        try:
            yield _row(number, log, archive.read(name))
        except _UNREADABLE as error:
            yield RawRow(number, b"", f"`{name}` cannot be read: {error}")


def _names_of(evaluation: bytes | None) -> Fields:
    found = _object(evaluation or b"")
    return {key: found[key] for key in _OF_EVAL if isinstance(found.get(key), str)}


def _object(data: bytes) -> Fields:
    try:
        value: Any = from_json(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _row(number: int, log: Fields, sample: bytes | None) -> RawRow:
    if sample is None:
        return too_long(number)
    return RawRow(number, b'{"log":' + to_json(log) + b',"sample":' + sample + b"}")


def _with_texts(value: Any, texts: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return texts.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: _with_texts(item, texts) for key, item in value.items()}
    return value


def _add_turns(draft: Draft, sample: Node) -> None:
    messages = sample.objects("messages")
    if not messages:
        _add_input_and_output(draft, sample)
    for message in messages:
        if message.fields.get("role") != "assistant":
            add_message(draft.turns, message)
        elif message.fields.get("source") == "input" and not draft.turns.steps:
            draft.turns.ask("assistant", take_words(message)[0])
            message.take("role")
        else:
            _act(draft, message)


def _act(draft: Draft, message: Node) -> None:
    calls: list[Fields] = []
    for call in message.objects("tool_calls"):
        name = call.take_text("function")
        if not name:
            raise RowError(f"`{call.place}` is a tool call without `function`")
        made = tool_call(name, call.take("arguments"), call.take_id("id"))
        if call.has("parse_error"):
            made["parsed"] = None
        calls.append(made)
    text, thoughts = take_words(message)
    draft.turns.act(text, reasoning=thoughts, calls=calls)
    message.take("role")


def _add_input_and_output(draft: Draft, sample: Node) -> None:
    if isinstance(sample.fields.get("input"), str):
        draft.turns.ask("user", sample.take_text("input"))
    else:
        for message in sample.objects("input"):
            add_message(draft.turns, message, is_policy=False)
    answer = sample.object("output").take_text("completion")
    if answer:
        draft.turns.act(answer)


def _add_end(draft: Draft, sample: Node) -> None:
    usages = sample.object("model_usage")
    spent: list[Any] = [usages.object(model).fields.get("output_tokens") for model in usages.fields]
    if spent and all(type(each) is int for each in spent):
        draft.fields["tokens"] = sum(spent)
    choices = sample.object("output").objects("choices")
    stop = choices[0].fields.get("stop_reason") if choices else None
    if sample.has("error"):
        error: Any = sample.fields["error"]
        said: Any = error.get("message") if isinstance(error, dict) else error
        draft.break_off(str(said or "the sample raised an error"))
    elif sample.has("limit"):
        limit: Any = sample.fields["limit"]
        kind: Any = limit.get("type") if isinstance(limit, dict) else limit
        draft.truncate(f"the sample met its limit ({kind})")
    elif stop in _CUT:
        draft.truncate(f"the last output stopped by {stop}")
    else:
        draft.complete()
