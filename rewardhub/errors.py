"""Every mistake a user can make, each with its next step.

```text
Exception
└── RewardhubError                 the base: its text says what, where, and what to do next
    ├── UsageError                 a command or a call was wrong                  (exit code 2)
    │   └── UnknownNameError       a name that nothing is registered under        (exit code 2)
    ├── SpecError                  a reward spec has mistakes, each with its line (exit code 2)
    ├── PluginError                a plugin cannot be used
    │   └── NameClashError         two plugins claim one name
    ├── GraderDefinitionError      a grader class or card that cannot work
    ├── RecordError                a record that cannot exist
    │   └── RowError               a row of an input file that is no record
    ├── LedgerError                a run folder that cannot be continued
    └── GradingError               raised while grading; becomes a Score, never a number
        ├── InfrastructureError    the sandbox, the endpoint or the machine broke (tried again)
        ├── TaskError              the task cannot be graded (an abstained Score)
        ├── UndeclaredReadError    a grader read what its card does not list
        └── LimitError             the graded work went over a limit, or its process died
```
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "GraderDefinitionError",
    "GradingError",
    "InfrastructureError",
    "LedgerError",
    "LimitError",
    "Mistake",
    "NameClashError",
    "PluginError",
    "RecordError",
    "RewardhubError",
    "RowError",
    "SpecError",
    "TaskError",
    "UndeclaredReadError",
    "UnknownNameError",
    "UsageError",
    "did_you_mean",
]


class RewardhubError(Exception):
    """The base of every error that rewardhub raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross to another process whatever arguments the constructor of a subclass takes."""
        return _remake, (type(self), self.args), self.__dict__


def _remake(error: type[RewardhubError], args: tuple[Any, ...]) -> RewardhubError:
    made = error.__new__(error)
    made.args = args
    return made


class UsageError(RewardhubError):
    """A command or a call was wrong: nothing was run."""


class UnknownNameError(UsageError):
    """Nothing is registered under this name."""

    def __init__(self, kind: str, name: str, candidates: Iterable[str], where: str = "") -> None:
        place = f" ({where})" if where else ""
        names = sorted(candidates)
        hint = did_you_mean(name, names) or (
            f" Known: {', '.join(f'`{known}`' for known in names[:12])}." if names else ""
        )
        super().__init__(f"No {kind} is called `{name}`{place}.{hint}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake in a file: what is wrong, where (line and column from 1), and the fix."""

    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


class SpecError(RewardhubError):
    """A reward spec has mistakes. ``mistakes`` holds each of them."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


class PluginError(RewardhubError):
    """A plugin cannot be loaded or used."""


class NameClashError(PluginError):
    """Two plugins claim the same name."""

    def __init__(self, kind: str, name: str, owners: tuple[str, str]) -> None:
        first, second = owners
        if first == second:
            super().__init__(f"`{first}` offers two {kind}s called `{name}`: rename one of them.")
            return
        super().__init__(
            f"The {kind} `{name}` is claimed by `{first}` and by `{second}`. "
            f"Uninstall one of them, or block one by name: `--block {second}`."
        )


class GraderDefinitionError(RewardhubError):
    """A grader class or its card cannot work as written."""


class RecordError(RewardhubError, ValueError):
    """A record that cannot exist: unknown field, impossible state, wrong type."""


class RowError(RecordError):
    """A row of an input file that is no record; the run goes on without it."""


class LedgerError(RewardhubError):
    """A run folder that cannot be continued or read."""


class GradingError(RewardhubError):
    """Raised while grading. The engine makes a Score of it, never a number."""


class InfrastructureError(GradingError):
    """A sandbox, an endpoint or the machine broke. Tried again, then *failed* (infrastructure).

    Attributes:
        retry_after: how many seconds an endpoint asked to be left alone; None: it did not say.
        passing: whether it may be over by itself; what a second try cannot mend (a wrong key, a
            budget that is used up) is not tried again.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, passing: bool = True
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.passing = passing


class TaskError(GradingError):
    """The task itself cannot be graded: the Score is *abstained* (task)."""


class UndeclaredReadError(GradingError):
    """A grader read a path that its card does not list under ``reads``."""


class LimitError(GradingError):
    """The graded work went over a limit, or the process that did it died.

    Attributes:
        kind: ``cpu``, ``wall``, ``memory``, ``died`` or ``survivors`` (processes left behind).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ``" Did you mean `x`?"`` for the closest candidates, or an empty string."""
    names = list(candidates)
    close = difflib.get_close_matches(name, names, n=2, cutoff=0.6)
    if not close:
        last = name.rsplit("/", 1)[-1]
        close = [known for known in names if known.rsplit("/", 1)[-1] == last][:2]
    return f" Did you mean {' or '.join(f'`{match}`' for match in close)}?" if close else ""
