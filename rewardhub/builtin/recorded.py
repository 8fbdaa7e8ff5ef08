"""`recorded/value`: a verdict that somebody else has reached, as a grader like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator

from rewardhub.contracts import Grader
from rewardhub.errors import TaskError
from rewardhub.records import TOLERANCE, Score, Trajectory


class Recorded(Grader):
    """The value that the trajectory carries in its metadata: a verdict reached elsewhere.

    True and false count as 1 and 0; a number is taken as it is, after ``offset`` and ``scale``:
    ``(number - offset) / scale``, which must lie in [0, 1]. Compare it with your own graders, or
    build a reward on verdicts that an environment or a person has given. Where the value is
    missing, or is no number, the Score abstains (fault ``task``): the row has no verdict.
    """

    key: str = "success"
    """Name in ``Trajectory.metadata``; dots lead into nested objects."""
    offset: float = 0.0
    """The recorded number that means 0."""
    scale: float = 1.0
    """How far above ``offset`` the recorded number lies that means 1; below it if negative."""

    @field_validator("scale")
    @classmethod
    def _has_a_direction(cls, scale: float) -> float:
        if not scale:
            raise ValueError("`scale` is not 0: it is how far 0 and 1 lie apart")
        return scale

    def grade(self, trajectory: Trajectory) -> Score:
        """Return the recorded value."""
        value: Any = trajectory.metadata
        for name in self.key.split("."):
            if not isinstance(value, Mapping) or name not in value:
                raise TaskError(f"the row records no `{self.key}`")
            value = value[name]
        if not isinstance(value, bool | int | float):
            raise TaskError(f"the recorded `{self.key}` is no number: {value!r:.80}")
        try:
            number = (value - self.offset) / self.scale
        except OverflowError:  # JSON has whole numbers of any length
            raise TaskError(f"the recorded `{self.key}` is too large a number") from None
        if not -TOLERANCE <= number <= 1.0 + TOLERANCE:
            raise TaskError(f"the recorded `{self.key}` is {value}, which makes {number:g}")
        return Score.of(number, f"recorded `{self.key}`: {value}")
