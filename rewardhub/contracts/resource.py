"""Resource: the base of everything that graders share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from rewardhub.records import EMPTY


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
