import json
from pathlib import Path
from typing import Any

import pytest
from rewardhub_rules.instructions import InstructionList, InstructionReader, has_instructions

from rewardhub import RawRow, ReaderCard, ReadOptions, RowError, UsageError
from rewardhub.testing import ReaderContract

CARD = ReaderCard(name="ifeval", reader=InstructionReader, recognises=has_instructions, rank=1)


def row(**changed: Any) -> bytes:
    columns = {
        "key": 7,
        "prompt": "Say it.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{"num_words": None}],
        "response": "It.",
    }
    return json.dumps(columns | changed).encode()


class TestInstructionReader(ReaderContract):
    card = CARD
    sample = row() + b"\n" + row(key=8, response="It, then.") + b"\n"
    broken_rows = (
        b"{",
        b"[]",
        row(instruction_id_list=None),
        row(response=None),
        row(checks=3),
        row(prompt=5),
    )


def read(data: bytes, **options: Any) -> Any:
    return InstructionReader().parse(RawRow(1, data), ReadOptions(source="a.jsonl", **options))


def test_reads_prompt_answer_and_instructions() -> None:
    trajectory = read(row())
    assert trajectory.final_text == "It."
    assert trajectory.task.messages[0].content == "Say it."
    listed = InstructionList.model_validate(trajectory.task.checks["instructions"])
    assert [each.id for each in listed.root] == ["punctuation:no_comma"]


def test_keeps_other_columns_as_metadata() -> None:
    trajectory = read(row(strict=[True], model="a"))
    assert trajectory.metadata == {"key": 7, "strict": (True,), "model": "a"}


def test_takes_an_answer_called_completion() -> None:
    assert read(row(response=None, completion="So.")).final_text == "So."


def test_takes_a_column_that_is_mapped() -> None:
    assert (
        read(row(response=None, output="So."), mapping={"completion": "output"}).final_text == "So."
    )


def test_keeps_other_checks_of_the_row() -> None:
    assert set(read(row(checks={"regex": "a"})).task.checks) == {"regex", "instructions"}


def test_splits_reasoning_from_the_answer() -> None:
    assert read(row(response="<think>Hm.</think>It.")).final_text == "It."


def test_refuses_prompts_without_answers() -> None:
    with pytest.raises(RowError, match="prompts without answers"):
        read(row(response=None))


def test_refuses_a_mapping_of_the_checks() -> None:
    with pytest.raises(UsageError, match="leave it out"):
        InstructionReader().check(ReadOptions(mapping={"checks": "a"}))


@pytest.mark.parametrize(
    "head",
    [
        b'{"prompt": "a", "completion": "b"}\n',
        b'{"prompt": "a", "instruction_id_list": []}\n',
        b'{"messages": []}\n{"instruction_id_list": [], "response": ""}\n',
    ],
)
def test_leaves_other_files_to_other_readers(head: bytes) -> None:
    assert not has_instructions(head)


def test_reads_compressed_files(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "answers.jsonl.gz"
    path.write_bytes(gzip.compress(row()))
    assert len(list(InstructionReader().read(path, ReadOptions(source="a")))) == 1
