"""Events of OpenHands: rows of evaluations, and files of events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewardhub.builtin.formats.cutting import MAX_ROW_BYTES
from rewardhub.builtin.formats.foreign.documents import cut_documents, too_long
from rewardhub.builtin.formats.foreign.events import Events
from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.opening import first_object
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.contracts import RawRow
from rewardhub.errors import RowError

_LIMITS = ("maximum iteration", "maxiterations", "budget", "context window", "stuckinloop", "stuck")


def is_event(row: Fields) -> bool:
    """Whether ``row`` is one event."""
    kind = row.get("kind")
    if isinstance(kind, str) and kind.endswith(("Event", "Observation")):
        return True
    is_action = "action" in row and "args" in row
    return "source" in row and (is_action or ("observation" in row and "extras" in row))


def is_openhands(row: Fields) -> bool:
    """Whether ``row`` is an event, or has the ``history`` of an instance."""
    return is_event(row) or ("history" in row and ("instance_id" in row or "test_result" in row))


class OpenHandsReader(ForeignReader):
    """Reads events of OpenHands: ``output.jsonl`` of its evaluations, and files of events.

    A row of ``output.jsonl`` is a trajectory, with its events in ``history`` (also as pairs); a
    file that holds nothing but events, as an array or one per line, is one trajectory. Both
    shapes of events are read: ``action`` and ``observation`` (OpenHands 0.x), and those with a
    ``kind`` (software-agent-sdk 1.x). Events of one model response are one step. ``finish`` is a
    call whose message is the text of the last step. A result joins its call by the call's id, or
    by ``cause``. Events that are no turn (state changes, recalls, condensations) stay in the
    metadata. An ``error`` that names a limit (iterations, budget, context, a loop) is truncated,
    any other is broken. The patch is ``artifacts.submission``.
    """

    format = "OpenHands"

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file; a file of events as one row."""
        rows = cut_documents(path)
        first = next(rows, None)
        if first is None:
            return
        if first.error is None and is_event(first_object(first.data)):
            yield _joined(first, rows)
            return
        yield first
        yield from rows

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("history"):
            raise RowError("the row has no `history` of events")
        events = Events(draft)
        events.add(_flat(row))
        draft.task["id"] = row.take_id("instance_id")
        metrics = row.object("metrics")
        draft.fields["cost"] = metrics.take_number("accumulated_cost")
        usage = metrics.object("accumulated_token_usage")
        draft.fields["tokens"] = usage.take_count("completion_tokens")
        result = row.object("test_result")
        if result.has("git_patch"):
            draft.fields["artifacts"] = {"submission": result.take_text("git_patch")}
        _add_end(draft, row.fields.get("error") or events.error)


def _joined(first: RawRow, rows: Iterator[RawRow]) -> RawRow:
    pieces = [first.data]
    size = len(first.data)
    for row in rows:
        if row.error is not None:
            return RawRow(1, b"", row.error)
        size += len(row.data) + 1
        if size > MAX_ROW_BYTES:
            return too_long(1)
        pieces.append(row.data)
    return RawRow(1, b'{"history":[' + b",".join(pieces) + b"]}")


def _flat(row: Node) -> list[Node]:
    history: Any = row.fields["history"]
    if isinstance(history, list) and any(isinstance(each, list) for each in history):
        row.fields["history"] = [
            event
            for each in history
            for event in (each if isinstance(each, list) else [each])
            if event
        ]
    return list(row.objects("history"))


def _add_end(draft: Draft, error: Any) -> None:
    if not error:
        draft.complete()
    elif any(limit in str(error).lower() for limit in _LIMITS):
        draft.truncate(str(error))
    else:
        draft.break_off(str(error))
