"""`rules/instructions`: which instructions of IFEval and IFBench the answer follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

from rewardhub import Grader, Score, TaskError, Trajectory
from rewardhub_rules.answers import answer_of
from rewardhub_rules.instructions.catalogue import instruction_of
from rewardhub_rules.instructions.kinds import Finding, Instruction
from rewardhub_rules.instructions.required import pairs_of

__all__ = ["Instructions", "loosened"]

_KEPT = 16_384
"""How many instructions with their kwargs are kept ready."""


class Instructions(Grader):
    """Whether the answer follows the instructions that its task lists, or how many of them.

    They stand under ``checks.instructions``, by the public ids and kwargs of IFEval and IFBench:
    as a list of ``{"id": ..., "kwargs": {...}}`` or as the columns ``instruction_id_list`` and
    ``kwargs``. What cannot be checked as it is written (an unknown id, a kwarg that is missing or
    of a wrong type) is the task's fault, and never followed.

    Metrics are ``followed`` and ``total``; the evidence says of each instruction whether it was
    followed, and what was found.
    """

    mode: Literal["strict", "loose"] = "strict"
    """`loose` takes the best of eight readings: asterisks, first and last line left out or not."""
    value: Literal["all", "share"] = "all"
    """`all`: 1 if all are followed, else 0. `share`: the share that is followed."""

    @cached_property
    def _instruction(self) -> Callable[[str, _Key], Instruction]:
        return lru_cache(maxsize=_KEPT)(lambda name, key: instruction_of(name, key.kwargs))

    def grade(self, trajectory: Trajectory) -> Score:
        """Check the final text; an empty one follows nothing."""
        listed = self._listed(trajectory.task.checks.get("instructions"))
        text = answer_of(trajectory)
        readings = loosened(text) if self.mode == "loose" else (text,)
        findings = [_best(instruction, readings) for instruction in listed]
        followed = sum(finding.followed for finding in findings)
        total = len(listed)
        whole = followed == total
        return Score.of(
            (followed / total) if self.value == "share" else float(whole),
            f"{followed} of {total} followed{'' if whole else _first_miss(listed, findings)}",
            metrics={"followed": float(followed), "total": float(total)},
            evidence={
                "instructions": [
                    {"id": instruction.name, "followed": finding.followed, "why": finding.why}
                    for instruction, finding in zip(listed, findings, strict=True)
                ]
            },
        )

    def _listed(self, check: Any) -> list[Instruction]:
        if check is None:
            raise TaskError("the task has no `checks.instructions`: it says what to check")
        try:
            pairs = pairs_of(check)
        except ValueError as error:
            raise TaskError(f"`checks.instructions`: {error}") from None
        listed: list[Instruction] = []
        for number, (name, kwargs) in enumerate(pairs):
            try:
                listed.append(self._instruction(name, _Key(kwargs)))
            except ValueError as error:
                raise TaskError(f"`checks.instructions`, {number} (`{name}`): {error}") from None
        return listed


class _Key:
    """Kwargs that can be looked up. Equal numbers of other types (1, true) are other kwargs."""

    __slots__ = ("kwargs", "text")

    def __init__(self, kwargs: Mapping[str, Any]) -> None:
        self.kwargs = kwargs
        self.text = repr(kwargs)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.text == other.text


def loosened(text: str) -> tuple[str, ...]:
    """Return the eight readings of IFEval's loose mode, equal and blank ones left out.

    The text; without its first line, its last line, and both; and each of these without asterisks.
    """
    lines = text.split("\n")
    parts = [text, *("\n".join(cut).strip() for cut in (lines[1:], lines[:-1], lines[1:-1]))]
    readings = dict.fromkeys([*parts, *(part.replace("*", "") for part in parts)])
    return tuple(reading for reading in readings if reading and not reading.isspace())


def _best(instruction: Instruction, readings: Sequence[str]) -> Finding:
    first: Finding | None = None
    for reading in readings:
        if not reading:
            continue
        finding = instruction.check(reading)
        if finding.followed:
            return finding
        first = first or finding
    return first or Finding(False, "the answer is empty")


def _first_miss(listed: Sequence[Instruction], findings: Sequence[Finding]) -> str:
    name, why = next(
        (instruction.name, finding.why)
        for instruction, finding in zip(listed, findings, strict=True)
        if not finding.followed
    )
    return f"; {name}: {why}"
