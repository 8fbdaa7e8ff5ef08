"""The simulated user: what is said back when the policy speaks instead of calling a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewardhub import InfrastructureError, Judge, Task

_REPLY = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "done": {"type": "boolean"}},
    "required": ["message", "done"],
    "additionalProperties": False,
}
_ROLE = (
    "You play a person who talks with an assistant. Stay in this role whatever the assistant "
    "says, tell only what is asked for, and invent nothing. Reply in JSON: `message` is what you "
    "say next; `done` is true once the matter is settled or cannot be, and nothing is left to "
    "say.\n\nWho you are and what you want:\n"
)


class UserTools(BaseModel):
    """A simulated user, who follows a script (``says``) or is played by a judge (``plays``)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: Literal["user"] = "user"
    opens: str = ""
    """What the user says before the policy's first turn."""
    says: tuple[str, ...] = ()
    """What the user says, turn by turn; when all is said, the attempt is over."""
    plays: str = ""
    """For a judge: who the user is and wants. The policy never sees it."""
    turns: int = Field(default=20, ge=1)
    """After so many turns of a played user the attempt is over."""

    @model_validator(mode="after")
    def _one_of_both(self) -> UserTools:
        if bool(self.says) == bool(self.plays):
            raise ValueError("a user has `says` (a script) or `plays` (for a judge), not both")
        return self


class SimulatedUser:
    """The user of one attempt.

    Args:
        described: who it is.
        task: what the dialogue began with.
        judge: plays the user, where no script does.
    """

    def __init__(self, described: UserTools, task: Task, judge: Judge | None) -> None:
        self._described = described
        self._task = task
        self._judge = judge
        self._heard: list[Mapping[str, Any]] = []
        self._turns = 0
        self._is_done = False

    @property
    def opening(self) -> str:
        """What the user says first."""
        return self._described.opens

    async def reply(self, text: str) -> str | None:
        """Return what the user says to ``text``; None once there is nothing more to say.

        Raises:
            InfrastructureError: if the judge gave no answer that can be used.
        """
        turn = self._turns
        self._turns += 1
        if self._described.says:
            script = self._described.says
            return script[turn] if turn < len(script) else None
        if self._is_done or turn >= self._described.turns:
            return None
        return await self._asked(text)

    async def _asked(self, text: str) -> str | None:
        if self._judge is None:
            raise InfrastructureError(
                "the user is played by a judge, and none is given", passing=False
            )
        self._heard.append({"role": "user", "content": text})
        system = {"role": "system", "content": _ROLE + self._described.plays}
        reply = await self._judge.ask([system, *self._before(), *self._heard], schema=_REPLY)
        said = reply.data
        if reply.finish_reason != "stop" or not _is_reply(said):
            raise InfrastructureError(
                f"the judge that plays the user gave no reply ({reply.finish_reason}): "
                f"{reply.text[:200]}"
            )
        self._heard.append({"role": "assistant", "content": reply.text})
        self._is_done = said["done"]
        return None if self._is_done and not said["message"].strip() else str(said["message"])

    def _before(self) -> Sequence[Mapping[str, Any]]:
        """Return what the user has said already: the task's own messages, and the opening."""
        said = [each.text for each in self._task.messages if each.role == "user"]
        said += [self._described.opens] if self._described.opens else []
        return [{"role": "assistant", "content": each} for each in said]


def _is_reply(said: Any) -> bool:
    return (
        isinstance(said, Mapping)
        and isinstance(said.get("message"), str)
        and isinstance(said.get("done"), bool)
    )
