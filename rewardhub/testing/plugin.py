"""The kit as pytest fixtures. Imports wait inside them: other people's tests pay nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rewardhub import Registry, Task, Trajectory
    from rewardhub.testing import FakeJudge, FakeSandbox, OpenAIServer


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """Return `rewardhub.testing.make_task`."""
    from rewardhub import testing

    return testing.make_task


@pytest.fixture
def make_trajectory() -> Callable[..., Trajectory]:
    """Return `rewardhub.testing.make_trajectory`."""
    from rewardhub import testing

    return testing.make_trajectory


@pytest.fixture
def registry_of() -> Callable[..., Registry]:
    """Return `rewardhub.testing.registry_of`, which never looks at what is installed."""
    from rewardhub import testing

    return testing.registry_of


@pytest.fixture
def fake_judge() -> Callable[..., FakeJudge]:
    """Return `rewardhub.testing.fake_judge`."""
    from rewardhub import testing

    return testing.fake_judge


@pytest.fixture
def fake_sandbox() -> Callable[..., FakeSandbox]:
    """Return `rewardhub.testing.fake_sandbox`."""
    from rewardhub import testing

    return testing.fake_sandbox


@pytest.fixture
def openai_server() -> Iterator[Callable[..., OpenAIServer]]:
    """Return `rewardhub.testing.OpenAIServer`, started; each one is closed after the test."""
    from rewardhub import testing

    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(testing.OpenAIServer(*args, **kwargs))
