from collections.abc import Iterator
from typing import Any, Literal

import pytest

from rewardhub.audit.task_sources import is_source, source_tasks, unknown_source
from rewardhub.errors import PluginError, UnknownNameError, UsageError
from rewardhub.host import Registry, TaskSourceCard, registry_of
from rewardhub.records import Message, Task


def sums(kind: Literal["small", "large"] = "small", *, seed: int = 0) -> Iterator[Task]:
    for number in range(100):
        text = f"What is {number} + {seed}?"
        yield Task(domain=kind, messages=(Message(role="user", content=text),))


def broken(what: str) -> Iterator[Any]:
    if what == "raise":
        raise ValueError("no luck")
    yield what


@pytest.fixture
def registry() -> Registry:
    return registry_of(
        TaskSourceCard(name="sums", source=sums), TaskSourceCard(name="broken", source=broken)
    )


def test_gives_as_many_tasks_as_asked_with_checked_options(registry: Registry) -> None:
    tasks = list(source_tasks("sums:large", registry, {}, count=3, seed=7))
    assert [task.domain for task in tasks] == ["large"] * 3
    assert tasks[1].prompt == "What is 1 + 7?"
    assert len(list(source_tasks("sums", registry, {}))) == 100


@pytest.mark.parametrize(
    ("named", "options", "told"),
    [
        ("sums:huge", {}, "`kind`: Input should be 'small' or 'large'"),
        ("sums", {"sead": 1}, "`sead` is not a field here. Did you mean `seed`"),
        ("broken", {}, "`what` is missing"),
    ],
)
def test_wrong_options_are_told_before_the_first_task(
    registry: Registry, named: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as raised:
        source_tasks(named, registry, options)
    assert told in str(raised.value)


def test_a_source_that_breaks_is_named(registry: Registry) -> None:
    with pytest.raises(PluginError, match="`broken` broke: ValueError: no luck"):
        next(source_tasks("broken:raise", registry, {}))
    with pytest.raises(PluginError, match="this one is a str"):
        next(source_tasks("broken:text", registry, {}))


def test_a_name_that_is_no_source_is_told_with_the_close_one(registry: Registry) -> None:
    assert is_source("sums:large", registry)
    assert not is_source("sum", registry)
    assert "Did you mean `sums`" in unknown_source("sum", registry)
    with pytest.raises(UnknownNameError, match="Did you mean `sums`"):
        source_tasks("sum", registry, {})
