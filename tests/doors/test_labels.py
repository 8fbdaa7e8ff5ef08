"""Labels: what a trainer carries for us, and what it brings that is not ours."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.doors.labels import Label, read_label
from rewardhub.errors import RecordError
from rewardhub.testing import make_task

texts = st.text(min_size=1)
labels = st.builds(Label, task=texts, digest=texts, domain=st.text(), split=st.none() | st.text())
OURS = {"rewardhub": 1, "task": "t1", "digest": "abc", "domain": "math", "split": "train"}


@given(labels)
def test_reads_what_it_wrote(label):
    assert read_label(label.to_text()) == label


def test_reads_the_object_that_a_text_became_on_the_way():
    assert read_label(OURS) == Label(task="t1", digest="abc", domain="math", split="train")


def test_names_a_task_by_its_content():
    task = make_task("2 + 2 = ?", id="t1", reference="4", domain="math", split="train")
    assert Label.of(task).digest == task.digest
    assert Label.of(task) != Label.of(task.replace(reference="5"))


def test_holds_no_reference():
    assert "secret" not in Label.of(make_task("?", reference="secret")).to_text()


@pytest.mark.parametrize(
    "plain",
    ["4", "", None, 4, 0.5, "rewardhub is a program", '{"answer": 4}', {"answer": 4}, ["rewardhub"],
     "[" * 100_000 + "rewardhub", '"rewardhub"'],
)  # fmt: skip
def test_takes_any_other_label_as_a_plain_reference(plain):
    assert read_label(plain) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewardhub": 2}, "of version 2"),
        ({"task": None}, "says its `task`"),
        ({"digest": ""}, "says its `digest`"),
        ({"spec": {}}, "has no `spec`"),
        ({"domain": 3}, "are texts"),
        ({"split": []}, "are texts"),
    ],
)
def test_refuses_a_broken_label(change, message):
    with pytest.raises(RecordError, match=message):
        read_label(json.dumps(OURS | change))


def test_a_column_that_lost_its_empty_fields_is_read():
    assert read_label(OURS | {"domain": None, "split": None}) == Label(task="t1", digest="abc")
