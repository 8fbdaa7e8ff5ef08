"""How far an attempt may go, and how much of what comes back is shown."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rewardhub import Task, TaskError


class AttemptLimits(BaseModel):
    """How far an attempt may go; ``task.environment.limits`` sets them for one task.

    An attempt that reaches one is *truncated*, with the limit as its reason; only
    ``output_chars`` cuts what the policy is shown instead, and says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int = Field(default=50, ge=1)
    """Turns of the policy."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens that the policy wrote in all its turns."""
    seconds: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Wall time, once the environment is built."""
    output_chars: int = Field(default=20_000, ge=100)
    """Characters of one observation: of a longer one its beginning and its end are shown."""

    def of(self, task: Task) -> AttemptLimits:
        """Return these limits with those that the task sets.

        Raises:
            TaskError: if what the task says cannot be read.
        """
        said = (task.environment or {}).get("limits")
        if said is None:
            return self
        try:
            return AttemptLimits.model_validate({**self.model_dump(), **dict(said)})
        except (ValidationError, TypeError, ValueError) as error:
            what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise TaskError(f"`environment.limits` of task `{task.id}`: {what}") from None


def cut(text: str, most: int) -> str:
    """Return ``text`` with its beginning and its end, and a mark that says how much is left out."""
    if len(text) <= most:
        return text
    mark = f"\n[... {len(text) - most} characters left out ...]\n"
    first = most * 2 // 3
    return text[:first] + mark + text[len(text) - (most - first) :]
