"""Tasks from files of every kind, each once."""

import json

import pytest

from rewardhub.audit.task_files import task_rows
from rewardhub.contracts import Reader
from rewardhub.errors import UsageError
from rewardhub.host import ReaderCard, registry_of
from rewardhub.records import Message, Step, Task, Trajectory

REGISTRY = registry_of()
ASKED = {"prompt": "What is 1+1?", "reference": "2"}


@pytest.fixture
def read(tmp_path):
    def run(*rows, mapping=None, named=None):
        path = tmp_path / "rows.jsonl"
        lines = (row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return list(task_rows(path, REGISTRY, named=named, mapping=mapping or {}))

    return run


def test_reads_task_records(read):
    tasks = [
        Task(messages=(Message(role="user", content=text),), reference=text, checks={"code": {}})
        for text in ("a", "b")
    ]
    assert [each.task for each in read(*(task.to_json() for task in tasks))] == tasks


def test_reads_task_records_without_messages(read):
    task = Task(id="t", checks={"code": {"tests": []}})
    assert [each.task for each in read(task.to_json())] == [task]


def test_takes_the_tasks_of_attempts_each_once(read):
    task = Task(id="t", reference="2")
    attempts = [Trajectory(id=name, task=task, steps=(Step(),)) for name in ("x", "y")]
    assert [each.task for each in read(*(each.to_json() for each in attempts))] == [task]


def test_chats_with_an_answer_are_attempts(read):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    (found,) = read({"messages": messages, "reference": "c"})
    assert [message.role for message in found.task.messages] == ["user"]


def test_reads_rows_that_only_ask(read):
    first, second = read(ASKED, ASKED | {"reference": "3"})
    assert (first.task.prompt, first.task.reference) == ("What is 1+1?", "2")
    assert second.row == 2


def test_takes_columns_by_the_mapping(read):
    (found,) = read(
        {"question": "a", "answer": "b"}, mapping={"prompt": "question", "reference": "answer"}
    )
    assert (found.task.prompt, found.task.reference) == ("a", "b")


def test_says_of_each_bad_row_why_it_is_none(read):
    found = read(ASKED, b"{", ASKED | {"domain": 7})
    assert [each.row for each in found if each.task is None] == [2, 3]
    assert all(each.error for each in found if each.task is None)


def test_refuses_rows_that_nothing_can_read(read):
    with pytest.raises(UsageError, match="No reader recognises"):
        read({"question": "a"})


def test_refuses_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        list(task_rows(tmp_path / "no.jsonl", REGISTRY, mapping={}))


class LabelledReader(Reader):
    """Reads `prompt` and `completion`, and knows what `label` is."""

    def rows(self, path):
        return registry_of().get(ReaderCard, "completion").card.reader().rows(path)

    def parse(self, row, options):
        columns = json.loads(row.data)
        task = Task(checks={"label": columns["label"]})
        return Trajectory(id=str(row.number), task=task, steps=(Step(text=columns["completion"]),))


def test_rows_that_only_ask_go_to_the_reader_that_knows_their_columns(tmp_path):
    card = ReaderCard(
        name="labelled",
        reader=LabelledReader,
        recognises=lambda head: b'"label"' in head and b'"completion"' in head,
        rank=1,
        description="rows with a label",
    )
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a", "label": 1}\n')
    (found,) = task_rows(path, registry_of(card), mapping={})
    assert dict(found.task.checks) == {"label": 1}
