"""Texts with holes, as OpenAI's graders write them."""

from typing import Any

import pytest

from rewardhub.builtin.templates import OutputError, Template
from rewardhub.errors import TaskError
from rewardhub.testing import make_trajectory


def filled(template: str, reply: str = "Paris", **task: Any) -> str:
    return Template(template).fill(make_trajectory(reply, **task))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ sample.output_text }}", "Paris"),
        ("{{sample.output_text}}!", "Paris!"),
        ("plain { text }", "plain { text }"),
        ("{{ item.reference }}/{{ item.prompt }}", "Rome/Which?"),
        ("{{ item.city.names[1] }}", "Roma"),
        ("{{ item.count }} {{ item.flag }}", "7 true"),
        ("{{ item.city }}", '{"names":["Rome","Roma"]}'),
    ],
)
def test_fills_holes(template: str, text: str) -> None:
    metadata = {"city": {"names": ["Rome", "Roma"]}, "count": 7, "flag": True}
    task = {"prompt": "Which?", "reference": "Rome", "task_metadata": metadata}
    attempt = make_trajectory("Paris", prompt="Which?", reference="Rome")
    attempt = attempt.replace(task=attempt.task.replace(metadata=task["task_metadata"]))
    assert Template(template).fill(attempt) == text


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ sample.choices }}", "cannot be filled: of the sample there are"),
        ("{{ sample.output_tools[0].name }}", "cannot be filled"),
        ("{{ sample.output_json | upper }}", "is no path"),
        ("{{ item }}", "must begin with `item.`"),
        ("{{ item. }}", "is no path"),
        ("{{ item.a-b }}", "is no path"),
        ("{{ item[0] }}", "must begin with `item.`"),
        ("{{ other.x }}", "must begin with `item.` or `sample.`"),
        ("{{ }}", "must begin with"),
    ],
)
def test_refuses_other_holes_by_name(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Template(template)


def test_a_value_in_the_answers_json_is_found() -> None:
    assert filled("{{ sample.output_json.a[0] }}", '{"a": [3]}') == "3"


@pytest.mark.parametrize("reply", ["no JSON", "{}", '{"a": null}', '{"a": {"b": 1}}', "[1]"])
def test_an_answer_without_the_named_value_is_the_policys_doing(reply: str) -> None:
    with pytest.raises(OutputError):
        filled("{{ sample.output_json.a[0] }}", reply)


@pytest.mark.parametrize("template", ["{{ item.reference }}", "{{ item.x }}", "{{ item.x.y[0] }}"])
def test_a_task_without_the_named_field_cannot_be_graded(template: str) -> None:
    with pytest.raises(TaskError, match="the task has no `item"):
        filled(template)


def test_says_which_column_to_map() -> None:
    with pytest.raises(TaskError, match=r"`--map task_metadata.x=x`"):
        filled("{{ item.x.y }}")
