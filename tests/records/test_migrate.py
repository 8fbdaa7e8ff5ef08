"""Records of other schema versions."""

import json

import pytest

from rewardhub.errors import RecordError
from rewardhub.records import migrate, read_task, read_trajectory
from rewardhub.testing import make_trajectory


def renamed(old, new):
    return lambda fields: {(new if name == old else name): fields[name] for name in fields}


@pytest.fixture
def upgrades(monkeypatch):
    """Pretend that older versions were written once."""
    steps = {
        ("task", -1): renamed("solution", "answer"),
        ("task", 0): renamed("answer", "reference"),
        ("trajectory", 0): renamed("turns", "steps"),
    }
    monkeypatch.setattr(migrate, "UPGRADES", steps)


@pytest.mark.usefixtures("upgrades")
def test_lifts_an_older_record():
    assert read_task(b'{"schema_version": 0, "answer": "4"}').reference == "4"


@pytest.mark.usefixtures("upgrades")
def test_lifts_a_record_over_several_versions():
    task = read_task(b'{"schema_version": -1, "solution": "4"}')
    assert (task.reference, task.schema_version) == ("4", 1)


@pytest.mark.usefixtures("upgrades")
@pytest.mark.parametrize("outer", [0, 1, None])
def test_lifts_the_task_inside_a_trajectory(outer):
    fields = {"task": {"schema_version": 0, "answer": "4"}}
    fields["turns" if outer == 0 else "steps"] = [{"text": "a"}]
    if outer is not None:
        fields["schema_version"] = outer
    attempt = read_trajectory(json.dumps(fields))
    assert (attempt.task.reference, attempt.final_text) == ("4", "a")


@pytest.mark.usefixtures("upgrades")
def test_explains_what_is_wrong_after_lifting():
    with pytest.raises(RecordError, match="`answr` is not a field"):
        read_task(b'{"schema_version": 0, "answer": "4", "answr": 1}')


@pytest.mark.parametrize("version", [2, 99])
def test_refuses_a_newer_version(version):
    with pytest.raises(RecordError, match="upgrade rewardhub-core to read it"):
        read_task(json.dumps({"schema_version": version}))


def test_refuses_a_newer_task_inside_a_trajectory():
    fields = {"task": {"schema_version": 2}, "steps": [{"text": "a"}]}
    with pytest.raises(RecordError, match="this task has schema_version 2"):
        read_trajectory(json.dumps(fields))


@pytest.mark.parametrize("version", [0, -3, "1.0", None, [1]])
def test_refuses_a_version_that_was_never_written(version):
    with pytest.raises(RecordError, match=r"no such version|schema_version"):
        read_task(json.dumps({"schema_version": version}))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, "\ud800"]
)
def test_refuses_what_is_no_record(data):
    with pytest.raises(RecordError):
        read_trajectory(data)


def test_names_the_close_field():
    with pytest.raises(RecordError, match=r"`refrence` is not a field here. Did you mean `refer"):
        read_task(b'{"refrence": "4"}')


def test_reads_text_and_bytes_alike():
    attempt = make_trajectory("\u4e2d", id="a")
    assert read_trajectory(attempt.to_json()) == read_trajectory(attempt.to_json().decode())
