"""Environments of tasks: found by name, made of the task's description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from pydantic import ValidationError

from rewardhub import (
    Environment,
    EnvironmentCard,
    Judge,
    Registry,
    Sandbox,
    SandboxCard,
    Task,
    TaskError,
    UnknownNameError,
    discover,
    explain_validation,
)
from rewardhub_policies.attempts import RESERVED


@dataclass(frozen=True, slots=True)
class Environments:
    """Makes the environments of tasks, and holds what they share.

    Attributes:
        registry: where the names are found.
        resources: what environments may ask for, by parameter: ``sandbox``, ``judge``. Whoever
            made them closes them; `close` does it for those of `installed`.
    """

    registry: Registry
    resources: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def installed(cls) -> Self:
        """Return those of all installed packs, on the local sandbox."""
        registry = discover()
        sandbox = registry.get(SandboxCard, "local").card.sandbox()
        sandbox.open()
        return cls(registry, {"sandbox": sandbox})

    def close(self) -> None:
        """Let go of the resources."""
        for each in self.resources.values():
            if isinstance(each, Sandbox | Judge):
                each.close()

    def of(self, task: Task) -> Environment | None:
        """Return a new environment for one attempt at ``task``; None where it names none.

        Raises:
            TaskError: if its description is wrong.
        """
        described = task.environment
        if described is None:
            return None
        name = described.get("use")
        where = f"`environment` of task `{task.id}`"
        if not isinstance(name, str):
            raise TaskError(f"{where} says no `use`: the name of an environment")
        try:
            made = self.registry.get(EnvironmentCard, name, where=where).card.environment
        except UnknownNameError as error:
            raise TaskError(str(error)) from None
        options = {key: each for key, each in described.items() if key not in RESERVED}
        try:
            return made.model_validate(options)
        except ValidationError as error:
            raise TaskError(f"{where}: {explain_validation(error, made)}") from None
