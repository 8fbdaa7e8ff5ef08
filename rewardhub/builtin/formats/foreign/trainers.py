"""Rows of trainers: TRL, verl, OpenRLHF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rewardhub.builtin.formats.columns import read_object
from rewardhub.builtin.formats.foreign.documents import cut_documents
from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_words
from rewardhub.contracts import RawRow
from rewardhub.errors import RowError

_NO_ANSWER = (
    "the row has no answer: it is a task, and no attempt at one. Let a policy answer it first"
)


def is_trl(row: Fields) -> bool:
    """Whether ``row`` is a pair of answers, or an answer in labelled steps."""
    return {"chosen", "rejected"} <= row.keys() or {"completions", "labels"} <= row.keys()


def is_verl(row: Fields) -> bool:
    """Whether ``row`` is of a verl data set, or of the rollouts that verl dumps."""
    is_data = {"data_source", "reward_model"} <= row.keys()
    return is_data or {"input", "output", "score", "step"} <= row.keys()


def is_openrlhf(row: Fields) -> bool:
    """Whether ``row`` has the columns of OpenRLHF: ``input``, with ``output`` or ``label``."""
    has_answer = isinstance(row.get("output"), str) or "label" in row
    return "input" in row and has_answer and not is_verl(row)


class TrlReader(ForeignReader):
    """Reads the rows of TRL that the readers ``chat`` and ``completion`` do not.

    Preference rows (``chosen``, ``rejected``, with or without ``prompt``) are two trajectories
    of one group; ``metadata.chosen`` is true for the one and false for the other. Where the
    prompt is not a column of its own, it is what both answers begin with. Stepwise rows
    (``prompt``, ``completions``, ``labels``) are one trajectory of one step, its paragraphs
    joined by a line break; ``metadata.labels`` has the label of each paragraph, and
    ``metadata.ends`` where each ends in the step's text.
    """

    format = "TRL"

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file, preference rows as two."""
        return _numbered(cut_documents(path), _sides)

    def _read(self, row: Node, draft: Draft) -> None:
        if row.has("completions"):
            _add_prompt(draft, row, "prompt")
            _add_paragraphs(draft, row)
        elif row.has("completion"):
            _add_prompt(draft, row, "prompt")
            add_words(draft.turns, row, "completion")
        else:
            raise RowError("the row has neither `chosen` and `rejected` nor `completions`")


class VerlReader(ForeignReader):
    """Reads rows of verl: data sets with ``responses``, and the rollouts that training dumps.

    A row of a data set (``prompt`` messages, ``data_source``, ``reward_model.ground_truth``,
    ``extra_info``) becomes one trajectory for each text in ``responses``, as verl's generation
    writes them; without ``responses`` it is a task and a bad row. A dumped rollout has ``input``
    and ``output`` texts, ``gts`` (the reference) and ``score``, which is ``metadata.score``.
    """

    format = "verl"

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file, one for each response."""
        return _numbered(cut_documents(path), _responses)

    def _read(self, row: Node, draft: Draft) -> None:
        if row.has("output", "gts", "score") and "input" in row.fields:
            _add_prompt(draft, row, "input")
            draft.task["reference"] = row.take("gts")
            add_words(draft.turns, row, "output")
            return
        draft.task["domain"] = row.take_text("data_source")
        _add_prompt(draft, row, "prompt")
        if isinstance(row.fields.get("reward_model"), dict):
            draft.task["reference"] = row.object("reward_model").take("ground_truth")
        if isinstance(row.fields.get("extra_info"), dict):
            split = row.object("extra_info").fields.get("split")
            draft.task["split"] = split if isinstance(split, str) else None
        if not row.has("response"):
            raise RowError(f"{_NO_ANSWER} (verl's generation adds `responses`).")
        add_words(draft.turns, row, "response")


class OpenRlhfReader(ForeignReader):
    """Reads rows of OpenRLHF: ``input``, ``label`` and the ``output`` that its inference adds.

    ``input`` is a text or messages, ``label`` the reference, ``output`` the answer; a ``reward``
    is ``metadata.reward``. A prompt row, without ``output``, is a task and a bad row: let a policy
    answer it first, or give it to the trainer as it is. Columns of other names: ``--map``.
    """

    format = "OpenRLHF"

    def _read(self, row: Node, draft: Draft) -> None:
        _add_prompt(draft, row, "input")
        draft.task["reference"] = row.take("label")
        if "output" not in row.fields:
            raise RowError(f"{_NO_ANSWER} (OpenRLHF's batch inference adds `output`).")
        add_words(draft.turns, row, "output")


def _split(row: RawRow, split: Callable[[Fields], list[Fields]]) -> Iterator[RawRow]:
    try:
        pieces = split(read_object(row))
    except RowError as error:
        yield row._replace(error=str(error))
        return
    for piece in pieces:
        yield RawRow(0, to_json(piece))


def _numbered(rows: Iterator[RawRow], split: Callable[[Fields], list[Fields]]) -> Iterator[RawRow]:
    pieces = (piece for row in rows for piece in _split(row, split))
    for number, piece in enumerate(pieces, start=1):
        yield piece._replace(number=number)


def _sides(row: Fields) -> list[Fields]:
    if not {"chosen", "rejected"} <= row.keys():
        return [row]
    chosen, rejected = row.pop("chosen"), row.pop("rejected")
    if "prompt" not in row and isinstance(chosen, list) and isinstance(rejected, list):
        same = 0
        while same < min(len(chosen), len(rejected)) - 1 and chosen[same] == rejected[same]:
            same += 1
        row["prompt"], chosen, rejected = chosen[:same], chosen[same:], rejected[same:]
    return [
        {**row, "completion": answer, "chosen": is_chosen}
        for answer, is_chosen in ((chosen, True), (rejected, False))
    ]


def _responses(row: Fields) -> list[Fields]:
    given: Any = row.get("responses")
    if not isinstance(given, list):
        return [row]
    rest = {key: value for key, value in row.items() if key != "responses"}
    return [{**rest, "response": response} for response in given] or [row]


def _add_prompt(draft: Draft, row: Node, key: str) -> None:
    row.unfold(key)
    add_words(draft.turns, row, key, is_policy=False)


def _add_paragraphs(draft: Draft, row: Node) -> None:
    paragraphs: Any = row.fields.get("completions")
    if not isinstance(paragraphs, list) or not all(isinstance(each, str) for each in paragraphs):
        raise row.wrong("completions", "a list of texts")
    row.take("completions")
    ends: list[int] = []
    for each in paragraphs:
        ends.append((ends[-1] + 1 if ends else 0) + len(each))
    draft.turns.act("\n".join(paragraphs))
    draft.metadata["ends"] = ends
