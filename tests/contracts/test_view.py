"""Views: a grader sees what its card reads, and nothing else."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.contracts import DEFAULT_READS, narrower, tree_of, values_of, view_of
from rewardhub.errors import GraderDefinitionError, UndeclaredReadError
from rewardhub.records import Step, Task, Trajectory
from rewardhub.testing import make_trajectory

ATTEMPT = make_trajectory(
    [
        {"text": "a", "reasoning": "r", "tool_calls": [{"name": "t", "arguments": "{}"}]},
        {"text": "b", "tokens": 3},
    ],
    id="attempt",
    prompt="Q",
    reference="A",
    domain="math",
    checks={"code": {"tests": [1], "time": 2}, "rules": {"words": 3}},
    environment={"use": "shell"},
    metadata={"source": {"name": "n", "rows": [1]}, "seen": None},
    artifacts={"log": "x"},
)
READ = {
    "final_text": lambda view: view.final_text,
    "steps.text": lambda view: [step.text for step in view.steps],
    "status": lambda view: view.status,
    "task.messages": lambda view: view.task.messages,
    "task.reference": lambda view: view.task.reference,
}


def show(*reads):
    return view_of(reads, "test/grader")(ATTEMPT)


def default():
    return show(*DEFAULT_READS)


@pytest.mark.parametrize("path", DEFAULT_READS)
def test_shows_every_default_path(path):
    assert READ[path](default()) == READ[path](ATTEMPT)


@pytest.mark.parametrize("path", DEFAULT_READS)
def test_shows_a_path_only_where_it_is_listed(path):
    with pytest.raises(UndeclaredReadError, match=f"`{path}`|`{path.split('.')[0]}`"):
        READ[path](show("seconds"))


@pytest.mark.parametrize(
    "name", [name for name in Trajectory.model_fields if name not in {"task", "steps", "status"}]
)
def test_refuses_every_other_field_of_a_trajectory(name):
    with pytest.raises(UndeclaredReadError, match=f"read `{name}`, which its card does not list"):
        getattr(default(), name)


@pytest.mark.parametrize(
    "name", [name for name in Task.model_fields if name not in {"messages", "reference"}]
)
def test_refuses_every_other_field_of_a_task(name):
    with pytest.raises(UndeclaredReadError, match=f"read `task.{name}`"):
        getattr(default().task, name)


@pytest.mark.parametrize("name", [name for name in Step.model_fields if name != "text"])
def test_refuses_every_other_field_of_a_step(name):
    with pytest.raises(UndeclaredReadError, match=f"read `steps.{name}`"):
        getattr(default().steps[0], name)


def test_says_what_to_add_to_the_card():
    with pytest.raises(UndeclaredReadError) as excinfo:
        default().task.metadata  # noqa: B018  # the access is the test
    assert 'reads=(*DEFAULT_READS, "task.metadata")' in str(excinfo.value)
    assert "Grader `test/grader`" in str(excinfo.value)


def test_refuses_a_read_behind_a_default():
    with pytest.raises(UndeclaredReadError):
        getattr(default(), "metadata", None)
    with pytest.raises(UndeclaredReadError):
        hasattr(default().task, "checks")


def test_names_the_close_field_of_a_misspelt_one():
    with pytest.raises(AttributeError, match=r"A trajectory has no `final_txt`. Did you mean"):
        default().final_txt  # noqa: B018


def test_refuses_what_is_no_field():
    with pytest.raises(UndeclaredReadError, match=r"used `task.digest` of its view"):
        default().task.digest  # noqa: B018


@pytest.mark.parametrize(
    ("reads", "read", "value"),
    [
        (("task.messages",), lambda view: view.task.prompt, "Q"),
        (("steps.text",), lambda view: view.final_text, "b"),
        (("steps.tool_calls",), lambda view: view.tool_calls[0].name, "t"),
        (("steps",), lambda view: view.final_text, "b"),
        (("task",), lambda view: view.task.prompt, "Q"),
    ],
)
def test_shows_what_is_computed_from_a_listed_path(reads, read, value):
    assert read(show(*reads)) == value


@pytest.mark.parametrize(
    ("reads", "read"),
    [
        (("task.reference",), lambda view: view.task.prompt),
        (("steps.tokens",), lambda view: view.final_text),
        (("final_text",), lambda view: view.steps),
    ],
)
def test_shows_nothing_computed_from_an_unlisted_path(reads, read):
    with pytest.raises(UndeclaredReadError):
        read(show(*reads))


def test_shows_the_listed_keys_of_a_mapping():
    checks = show("task.checks.code").task.checks
    assert checks["code"] == {"tests": (1,), "time": 2}
    assert (list(checks), len(checks), "code" in checks) == (["code"], 1, True)


def test_shows_a_listed_key_inside_a_key():
    checks = show("task.checks.code.time", "task.metadata.source.name")
    assert checks.task.checks["code"]["time"] == 2
    with pytest.raises(UndeclaredReadError, match=r"task.checks.code.tests"):
        checks.task.checks["code"]["tests"]


@pytest.mark.parametrize(
    "read",
    [
        lambda checks: checks["rules"],
        lambda checks: checks["nowhere"],
        lambda checks: checks.get("rules"),
        lambda checks: "rules" in checks,
    ],
)
def test_refuses_other_keys_whether_they_exist_or_not(read):
    with pytest.raises(UndeclaredReadError, match=r"Grader `test/grader` read `task.checks."):
        read(show("task.checks.code").task.checks)


def test_a_listed_key_may_be_missing():
    checks = show("task.checks.other").task.checks
    assert checks.get("other") is None
    assert dict(checks) == {}
    with pytest.raises(KeyError):
        checks["other"]


def test_shows_metadata_paths_of_trajectory_and_task():
    view = show("metadata.seen", "artifacts", "task.environment.use")
    assert (view.metadata["seen"], view.artifacts["log"]) == (None, "x")
    assert view.task.environment["use"] == "shell"


def test_a_missing_environment_has_no_keys():
    view = view_of(("task.environment.use",), "x")(make_trajectory("a"))
    assert dict(view.task.environment) == {}


def test_gives_the_same_steps_each_time():
    view = default()
    assert view.steps[0] is view.steps[0]
    assert len(view.steps) == 2


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
def test_does_not_leave_the_process(leave):
    with pytest.raises(TypeError, match="not plain data"):
        leave(default())


def test_cannot_be_changed():
    with pytest.raises(AttributeError):
        default().status = "broken"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("final_txt", "a trajectory has no `final_txt`. Did you mean `final_text`"),
        ("task.refrence", "a task has no `refrence`. Did you mean `reference`"),
        ("steps.txt", "a step has no `txt`"),
        ("task.messages.role", "the finest path is `task.messages`"),
        ("steps.tool_calls.name", "the finest path is `steps.tool_calls`"),
        ("task.files.main.py", "the finest path is `task.files`"),
        ("", "a trajectory has no ``"),
    ],
)
def test_refuses_a_path_that_no_trajectory_has(path, said):
    with pytest.raises(GraderDefinitionError) as excinfo:
        tree_of((path,))
    assert said in str(excinfo.value)


def test_a_path_covers_what_lies_below_it():
    assert tree_of(("task.messages", "task", "task.checks.code")).paths() == ("task",)
    assert tree_of(("task.checks.code.a", "task.checks.code")).paths() == ("task.checks.code",)


def test_values_hold_exactly_what_is_read():
    assert values_of(("final_text", "steps.text", "task.checks.rules"), ATTEMPT) == {
        "final_text": "b",
        "steps.text": ["a", "b"],
        "task.checks.rules": {"words": 3},
    }


def test_values_are_json_of_records():
    values = values_of(("task.messages", "steps.tool_calls"), ATTEMPT)
    assert values["task.messages"][0]["content"] == "Q"
    assert values["steps.tool_calls"][0][0]["name"] == "t"


def test_values_tell_null_from_nothing():
    null = make_trajectory("a", checks={"code": None})
    nothing = make_trajectory("a")
    assert values_of(("task.checks.code",), null) == {"task.checks.code": None}
    assert values_of(("task.checks.code",), nothing) == {}
    assert values_of(("task.environment.use",), nothing) == {}


def test_values_hold_whole_what_has_no_keys():
    odd = make_trajectory("a", checks={"code": [{"time": 1}]})
    view = view_of(("task.checks.code.time",), "x")(odd)
    assert view.task.checks["code"] == ({"time": 1},)
    assert values_of(("task.checks.code.time",), odd) == {"task.checks.code.time": [{"time": 1}]}


PATHS = [
    "final_text", "steps.text", "steps.reasoning", "steps.tokens", "steps", "status", "task",
    "task.messages", "task.reference", "task.checks", "task.checks.code", "task.checks.rules",
    "task.checks.code.time", "metadata", "metadata.source.name", "tool_calls", "task.prompt",
]  # fmt: skip


@given(st.sets(st.sampled_from(PATHS), min_size=1))
def test_equal_values_mean_equal_views(reads):
    other = make_trajectory(
        [step.replace(seconds=1.0) for step in ATTEMPT.steps],
        task=ATTEMPT.task.replace(split="test", files={"a": "b"}),
        metadata=dict(ATTEMPT.metadata) | {"seen": 1},
    )
    hidden = {"steps", "task", "metadata"}
    same = values_of(reads, ATTEMPT) == values_of(reads, other)
    assert same == (not hidden & set(reads))


def test_names_what_a_door_cannot_fill():
    filled = ("steps.text", "task.messages")
    reads = ("final_text", "task.prompt", "task.reference", "steps.text", "task.checks.code")
    assert narrower(reads, filled) == ("task.checks.code", "task.reference")
    assert narrower(reads, (*filled, "task")) == ()
