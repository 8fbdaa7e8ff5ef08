"""Grader: code that measures one thing about a trajectory."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ConfigDict

from rewardhub.contracts.described import Described
from rewardhub.errors import GraderDefinitionError
from rewardhub.records import EMPTY, Score, Trajectory

Verdict: TypeAlias = Score | bool | float
"""What a grader returns: a Score, or a bool or a number in [0, 1] where no reason is needed."""

_SUBSTITUTES = {
    "schema": "json_schema",
    "json": "as_json",
    "copy": "duplicate",
    "dict": "mapping",
    "construct": "build",
    "validate": "check",
    "fields": "columns",
}


_PYDANTIC_PREFIXES = ("model_validate", "model_dump")
"""What pydantic keeps for itself beyond the names that it has today."""


def _own_annotations(cls: type[Any]) -> Mapping[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib  # annotations are lazy there, and may name what does not exist yet

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    else:  # noqa: RET505  # type checkers pick one branch by the version
        return inspect.get_annotations(cls)


class Options(Described):
    """Fields are options: checked before a run, and part of a grader's identity."""

    # Every command makes every class of every pack, and uses few of them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse options whose names pydantic or the contract already use."""
        taken = {name for base in cls.__mro__[1:] for name in vars(base)}
        for name, annotation in _own_annotations(cls).items():
            if name.startswith("_") or "ClassVar" in str(annotation):
                continue
            if name in taken or name.startswith(_PYDANTIC_PREFIXES):
                better = _SUBSTITUTES.get(name) or f"{name.removeprefix('model_')}_option"
                raise GraderDefinitionError(
                    f"The option `{name}` of {cls.__name__} hides a name that the base class "
                    f"needs. Call it `{better}`."
                )
        super().__init_subclass__(**kwargs)

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON that names all a verdict depends on besides options: a digest of a model's files.

        Part of the key of every cached Score, and of the spec's digest.
        """
        return EMPTY

    def open(self) -> None:
        """Get ready: called once, before the first row, in the process that grades."""

    def close(self) -> None:
        """Let go of what `open` took: called once, after the last row."""


class Grader(Options):
    """Measures one thing about a trajectory.

    Subclass it, declare options as fields, and write ``grade``, as ``def`` or ``async def``::

        class Brevity(Grader):
            limit: int = 100

            def grade(self, trajectory: Trajectory) -> Score:
                words = len(trajectory.final_text.split())
                return Score.of(words <= self.limit, f"{words} words")

    One instance serves a whole run and may be called from several threads, so ``grade`` changes
    nothing outside of itself; state is a `pydantic.PrivateAttr`. Further parameters are resources:
    ``async def grade(self, trajectory, sandbox: Sandbox)``. What the policy did wrong is graded,
    usually 0; raise `TaskError` or return `Score.abstain` only if the task cannot be graded. Any
    other exception becomes a *failed* Score: it never becomes a number.
    """

    def grade(
        self, trajectory: Trajectory, *args: Any, **kwargs: Any
    ) -> Verdict | Awaitable[Verdict]:
        """Return the verdict on one trajectory.

        Args:
            trajectory: a view that shows what the card lists under ``reads``.
            args: resources, by parameter.
            kwargs: resources, by parameter.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `grade`")


class BatchGrader(Options):
    """Measures many trajectories in one call, for models that are quicker in batches."""

    def grade_batch(
        self, trajectories: Sequence[Trajectory], *args: Any, **kwargs: Any
    ) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Return one verdict for each trajectory, in the same order."""
        raise NotImplementedError(f"{type(self).__name__} must define `grade_batch`")


class GroupGrader(Options):
    """Compares the attempts of one group: ranks, pairs, diversity, stability."""

    def grade_group(
        self, trajectories: Sequence[Trajectory], *args: Any, **kwargs: Any
    ) -> Sequence[Verdict] | Awaitable[Sequence[Verdict]]:
        """Return one verdict for each member, in the same order; there may be just one."""
        raise NotImplementedError(f"{type(self).__name__} must define `grade_group`")


AnyGrader: TypeAlias = Grader | BatchGrader | GroupGrader

METHODS: dict[type[Options], str] = {
    Grader: "grade",
    BatchGrader: "grade_batch",
    GroupGrader: "grade_group",
}


def method_of(grader: type[Options]) -> str:
    """Return the name of the method that grades.

    Raises:
        GraderDefinitionError: if the class is no grader, or does not define its method.
    """
    if not inspect.isclass(grader):
        raise GraderDefinitionError(
            f"A card's `grader` is a class, not {grader!r}. Have you called it? Leave out the `()`."
        )
    for base, method in METHODS.items():
        if issubclass(grader, base):
            if getattr(grader, method) is getattr(base, method):
                raise GraderDefinitionError(f"{grader.__name__} must define `{method}`.")
            return method
    raise GraderDefinitionError(
        f"{grader.__name__} is no grader: subclass Grader, BatchGrader or GroupGrader."
    )
