"""Rows of AgentProcessBench: trajectories with human labels for each step."""

from __future__ import annotations

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_message
from rewardhub.errors import RowError


def is_agent_process_bench(row: Fields) -> bool:
    """Whether ``row`` has messages with labels, or the fields that stand before them."""
    return "step_labels" in row or {"query_index", "sample_index", "answer_text"} <= row.keys()


class AgentProcessBenchReader(ForeignReader):
    """Reads rows of AgentProcessBench (2026): ``messages``, ``step_labels``, ``final_label``.

    The labels (1 right, 0 neutral, -1 wrong) name messages by their index; ``metadata.labels``
    has them once more, one for each step, null where there is none. ``ground_truth`` is the
    reference. Attempts at one question (``query_index`` of a ``data_source``) are one group.
    """

    format = "AgentProcessBench"

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("messages"):
            raise RowError("the row has no `messages`")
        labels = row.object("step_labels").fields
        placed: list[object] = []
        for index, message in enumerate(row.objects("messages")):
            before = len(draft.turns.steps)
            add_message(draft.turns, message)
            if len(draft.turns.steps) > before:
                placed.append(labels.get(str(index)))
        draft.metadata["labels"] = placed
        draft.task["reference"] = row.take("ground_truth")
        source, query = row.fields.get("data_source"), row.fields.get("query_index")
        if isinstance(source, str) and isinstance(query, int):
            draft.task["id"] = f"{source}/{query}"
