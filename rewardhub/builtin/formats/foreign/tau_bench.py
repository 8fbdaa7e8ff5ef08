"""Results of tau-bench."""

from __future__ import annotations

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_message
from rewardhub.errors import RowError


def is_tau_bench(row: Fields) -> bool:
    """Whether ``row`` is a result: a task's number, its reward, its messages."""
    return {"task_id", "reward", "traj"} <= row.keys()


class TauBenchReader(ForeignReader):
    """Reads results of tau-bench: ``task_id``, ``trial``, ``reward``, ``info``, ``traj``.

    A file is a JSON array, as tau-bench writes it, or JSON lines. ``traj`` holds chat messages:
    the assistant's are steps, what the simulated user and the tools answer are observations. The
    recorded reward is ``metadata.reward`` (grade it with ``recorded/value``); the task's expected
    actions and outputs stand in ``task.metadata``, which no policy sees. A result with
    ``info.error`` is broken: the run raised, and tau-bench writes a reward of 0 for it. Task ids
    are numbers within one domain: score one domain at a time.
    """

    format = "tau-bench"

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("traj") and "traj" not in row.fields:
            raise RowError("the row has no `traj`")
        draft.task["id"] = row.take_id("task_id")
        info = row.object("info") if isinstance(row.fields.get("info"), dict) else Node({})
        for holder in (row, info):
            if isinstance(holder.fields.get("task"), dict):
                draft.task["metadata"] = holder.take("task")
        for message in row.objects("traj"):
            add_message(draft.turns, message)
        if info.has("error"):
            draft.break_off(str(info.fields["error"]) or "the run raised an error")
