"""Results of verifiers."""

from __future__ import annotations

from typing import Any

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_words
from rewardhub.errors import RowError


def is_verifiers(row: Fields) -> bool:
    """Whether ``row`` is a rollout of an example."""
    return "example_id" in row and ("prompt" in row or "completion" in row)


class VerifiersReader(ForeignReader):
    """Reads ``results.jsonl`` of verifiers (0.1; the rows that ``vf-eval`` saves).

    ``prompt`` and ``completion`` are texts or messages, ``answer`` is the reference, ``tool_defs``
    are the tools, ``example_id`` (after ``task``, the environment's name, where it stands there) is
    the task's id. The environment's reward is ``metadata.reward``, its metrics
    ``metadata.metrics``. ``is_truncated`` is truncated; a rollout with an ``error`` is broken.
    """

    format = "verifiers"

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("example_id"):
            raise RowError("the row has no `example_id`")
        names = [row.fields.get("task"), row.take_id("example_id")]
        draft.task["id"] = "/".join(name for name in names if isinstance(name, str) and name)
        draft.task["reference"] = row.take("answer")
        row.unfold("info")
        row.unfold("tool_defs")
        if row.objects("tool_defs"):
            draft.task["tools"] = row.take("tool_defs")
        add_words(draft.turns, row, "prompt", is_policy=False)
        add_words(draft.turns, row, "completion")
        usage = row.object("token_usage")
        draft.fields["tokens"] = usage.take_count("output_tokens")
        error: Any = row.fields.get("error")
        if error:
            said: Any = error.get("message") if isinstance(error, dict) else error
            draft.break_off(str(said or "the rollout raised an error"))
        elif row.take_flag("is_truncated"):
            draft.truncate("the rollout was truncated")
        elif row.has("completion") or draft.turns.steps:
            draft.complete()
