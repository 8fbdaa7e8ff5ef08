"""Resource: the base of everything that graders share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from rewardhub.records import EMPTY

R = TypeVar("R", bound="Resource")


class Resource(ABC):  # noqa: B024  # each kind below says what is abstract
    """Something that graders share. ``identity`` is part of every cached Score's key."""

    kind: ClassVar[str] = "resource"

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON that names all a verdict may depend on: image digest, model, parameters."""
        return EMPTY

    def open(self) -> None:  # noqa: B027  # most resources need none
        """Get ready: called once, before the first grader that uses it."""

    def close(self) -> None:  # noqa: B027
        """Let go of everything: called once, after the last grader."""


class Several(Resource, Mapping[str, R]):
    """Resources of one kind for one parameter, by their names, in the order of the spec.

    Who made them opens and closes them.
    """

    def __init__(self, members: Mapping[str, R]) -> None:
        self._members = dict(members)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of each, by its name."""
        return {name: dict(member.identity) for name, member in self._members.items()}

    def __getitem__(self, name: str) -> R:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
