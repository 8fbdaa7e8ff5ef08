"""`agent/goal-state`: the state that the attempt leaves behind, against the one expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from rewardhub import Grader, Score, TaskError, Trajectory
from rewardhub_agent.checks import GoalStateCheck, check_of
from rewardhub_agent.differences import Comparison, Difference, pattern_of
from rewardhub_agent.faults import counted
from rewardhub_agent.turns import need_results, turns_of
from rewardhub_agent.values import MISSING, Json, canonical, sha256, short

_SHOWN = 50


def _is_pattern(path: str) -> str:
    pattern_of(path)
    return path


Pattern = Annotated[str, AfterValidator(_is_pattern)]


class GoalState(Grader):
    """Full marks if the environment ends in the expected state.

    The state is ``artifacts["state"]`` of the trajectory, or else the ``state`` of its last step
    (of an earlier one if no later step made a call). It is compared by the hash of its canonical
    JSON, and, where the expected state is there, by a diff, whose paths are the evidence. Where
    neither is recorded, ``writes`` derives it from the calls: equal calls that worked, of all the
    tools that change the state, lead to equal states, whatever the order. Calls that differ and
    lead to the same state all the same count as wrong then, for only an environment could tell.
    """

    ignore: tuple[Pattern, ...] = ()
    """Paths that do not count (JSON Pointer; ``*`` stands for any one name): ``/orders/*/time``."""
    unordered: tuple[Pattern, ...] = ()
    """Paths of lists whose order does not count."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """How far numbers may lie apart; needs the expected state, not only its hash."""
    partial: bool = False
    """Whether there is partial credit: the share of the changes from ``initial`` to ``expected``
    that were made, less what was broken. Without ``initial``: the share of equal values, which
    pays an attempt that does nothing."""
    must_end: bool = False
    """Whether a truncated attempt gets 0, as in tau-bench, whatever its state."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Compare the states."""
        check = check_of(trajectory, "goal_state", GoalStateCheck)
        if check.writes is None:
            score = self._by_state(check, _state_of(trajectory))
        else:
            score = self._by_writes(check, trajectory)
        if self.must_end and trajectory.status == "truncated":
            return Score.of(0, "the attempt was cut off before its end", evidence=score.evidence)
        return score

    def _by_state(self, check: GoalStateCheck, state: Json) -> Score:
        comparison = Comparison(
            ignore=self.ignore, unordered=self.unordered, tolerance=self.tolerance
        )
        got = sha256(comparison.reduced(state))
        if check.sha256 is not None:
            if self.tolerance:
                raise TaskError("a tolerance needs the expected state, and the task has its hash")
            same = got == check.sha256
            reason = "the state has the expected hash" if same else "the state has another hash"
            return Score.of(same, reason, evidence={"expected": check.sha256, "got": got})
        wanted = sha256(comparison.reduced(check.expected))
        found = [] if got == wanted else comparison.differences(check.expected, state)
        value = float(not found)
        if self.partial and found:
            value = self._share(check, comparison, len(found))
        reason = "the state is the expected one"
        if found:
            first = found[0]
            reason = (
                f"the state differs in {counted(len(found), 'place')}, the first: {_told(first)}"
            )
        return Score.of(
            value,
            reason,
            metrics={"differences": float(len(found))},
            evidence={
                "expected": wanted,
                "got": got,
                "differences": [each.as_json() for each in found[:_SHOWN]],
            },
        )

    def _share(self, check: GoalStateCheck, comparison: Comparison, left: int) -> float:
        if "initial" in check.model_fields_set:
            todo = len(comparison.differences(check.expected, check.initial))
        else:
            todo = comparison.size(check.expected)
        return max(0.0, 1.0 - left / todo) if todo else 0.0

    def _by_writes(self, check: GoalStateCheck, trajectory: Trajectory) -> Score:
        turns = turns_of(trajectory)
        need_results(turns)
        made = [
            f"{call.name}({canonical(call.arguments)})"
            for turn in turns
            for call in turn.calls
            if call.name in check.changing and not call.fault
        ]
        wanted = [f"{write.name}({canonical(write.arguments)})" for write in check.writes or ()]
        missing = _without(wanted, made)
        extra = _without(made, wanted)
        reason = f"{counted(len(wanted), 'change')} of the state wanted, and made; no other"
        if missing or extra:
            reason = (
                f"{counted(len(missing), 'change')} of the state missing, {len(extra)} not wanted"
            )
        value = float(not missing and not extra)
        if self.partial and wanted:
            value = max(0.0, 1.0 - (len(missing) + len(extra)) / len(wanted))
        return Score.of(
            value,
            reason,
            metrics={"differences": float(len(missing) + len(extra))},
            evidence={"missing": missing[:_SHOWN], "unwanted": extra[:_SHOWN]},
        )


def _state_of(trajectory: Trajectory) -> Json:
    """Return the final state.

    Raises:
        TaskError: if the trajectory does not record it.
    """
    artifacts: Mapping[str, Any] = trajectory.artifacts
    if "state" in artifacts:
        return artifacts["state"]
    for step in reversed(trajectory.steps):
        if step.state is not None:
            return step.state
        if step.tool_calls:
            break
    raise TaskError(
        "the trajectory records no final state: neither `artifacts.state` nor the `state` of its "
        "last step (or say `writes` in `checks.goal_state`, to derive it from the calls)"
    )


def _without(some: list[str], others: list[str]) -> list[str]:
    """Return ``some`` without ``others``, each as often as it occurs."""
    left = Counter(some) - Counter(others)
    return list(left.elements())


def _told(difference: Difference) -> str:
    place = difference.path or "the whole"
    if difference.got is MISSING:
        return f"{place} is missing"
    if difference.expected is MISSING:
        return f"{place} should not be there"
    return f"{place} is {short(difference.got)}, not {short(difference.expected)}"
