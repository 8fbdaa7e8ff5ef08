"""The hooks. A plugin implements the ones it needs; each one yields cards.

Registration hooks take no arguments and change nothing. They are called once, when a registry is
built, in the process that builds it; worker processes build their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pluggy

from rewardhub.host.cards import (
    AttackCard,
    CommandCard,
    EnvironmentCard,
    GraderCard,
    JudgeCard,
    ModelCard,
    PolicyCard,
    ReaderCard,
    SandboxCard,
    SpecCard,
    TaskSourceCard,
    WriterCard,
)
from rewardhub.records import Reward, Trajectory

PROJECT = "rewardhub"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function as the implementation of the hook with its name."""

T = TypeVar("T")


@hookspec
def rewardhub_graders() -> Iterable[GraderCard]:  # type: ignore[empty-body]
    """Yield the graders that specs can use."""


@hookspec
def rewardhub_readers() -> Iterable[ReaderCard]:  # type: ignore[empty-body]
    """Yield the file formats that can be read."""


@hookspec
def rewardhub_writers() -> Iterable[WriterCard]:  # type: ignore[empty-body]
    """Yield the file formats that a ledger can be written as."""


@hookspec
def rewardhub_sandboxes() -> Iterable[SandboxCard]:  # type: ignore[empty-body]
    """Yield the sandboxes that graders can ask for."""


@hookspec
def rewardhub_judges() -> Iterable[JudgeCard]:  # type: ignore[empty-body]
    """Yield the judges that graders can ask for."""


@hookspec
def rewardhub_models() -> Iterable[ModelCard]:  # type: ignore[empty-body]
    """Yield the local models that graders can ask for."""


@hookspec
def rewardhub_policies() -> Iterable[PolicyCard]:  # type: ignore[empty-body]
    """Yield the policies that rollouts can use."""


@hookspec
def rewardhub_environments() -> Iterable[EnvironmentCard]:  # type: ignore[empty-body]
    """Yield the environments that tasks can name."""


@hookspec
def rewardhub_task_sources() -> Iterable[TaskSourceCard]:  # type: ignore[empty-body]
    """Yield sources of tasks that need no file."""


@hookspec
def rewardhub_specs() -> Iterable[SpecCard]:  # type: ignore[empty-body]
    """Yield reward specs, usable by name wherever a spec file is."""


@hookspec
def rewardhub_attacks() -> Iterable[AttackCard]:  # type: ignore[empty-body]
    """Yield attacks of a domain for the audit."""


@hookspec
def rewardhub_commands() -> Iterable[CommandCard]:  # type: ignore[empty-body]
    """Yield commands that join ``rewardhub`` on the command line."""


@hookspec
def rewardhub_scored(trajectory: Trajectory, reward: Reward) -> None:
    """Be told of each Reward, in output order, in the process that runs the engine.

    Called after the ledger has the row. What it raises is counted and logged, never raised.

    Args:
        trajectory: what was graded.
        reward: what the spec made of it.
    """


CARDS: dict[str, type[object]] = {
    "rewardhub_graders": GraderCard,
    "rewardhub_readers": ReaderCard,
    "rewardhub_writers": WriterCard,
    "rewardhub_sandboxes": SandboxCard,
    "rewardhub_judges": JudgeCard,
    "rewardhub_models": ModelCard,
    "rewardhub_policies": PolicyCard,
    "rewardhub_environments": EnvironmentCard,
    "rewardhub_task_sources": TaskSourceCard,
    "rewardhub_specs": SpecCard,
    "rewardhub_attacks": AttackCard,
    "rewardhub_commands": CommandCard,
}
"""Registration hook -> the card that it yields."""
