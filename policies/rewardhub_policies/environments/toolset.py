"""Toolset: the base of what an environment offers, and how a tool is described."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from rewardhub import Observation
from rewardhub_policies.environments.room import Room


class Toolset(BaseModel, ABC):
    """Tools that belong together. Fields are options; one object serves one attempt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def in_sandbox(self) -> bool:
        """Whether the calls need a room in a sandbox."""
        return True

    @abstractmethod
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tools, as `Task.tools` has them."""

    @abstractmethod
    async def call(self, room: Room | None, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Return what a call brings; its arguments were checked against the tool's schema.

        Raises:
            InfrastructureError: if the room is gone.
        """


def tool(
    name: str, description: str, optional: Collection[str] = (), **properties: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a tool in the form of OpenAI's chat API; all but ``optional`` properties must be."""
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [each for each in properties if each not in optional],
        "additionalProperties": False,
    }
    about = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": about}
