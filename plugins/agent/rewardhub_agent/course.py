"""`agent/progress`, `agent/stops` and `agent/order`: milestones, the end, and what comes first."""

from __future__ import annotations

from pydantic import Field

from rewardhub import Grader, Score, StepValue, Trajectory
from rewardhub_agent.checks import (
    AcceptedCall,
    OrderCheck,
    ProgressCheck,
    StopsCheck,
    check_of,
)
from rewardhub_agent.conditions import Observed
from rewardhub_agent.faults import counted


class Progress(Grader):
    """The share of the task's milestones that the attempt reached, by their weights.

    A step's value is 1 if it reaches a milestone that no earlier step reached, and 0 otherwise;
    every step has one. Milestones count once, so nothing is earned by doing the same again, and
    more steps make the mean smaller. A milestone on the state counts once it has held, even if it
    is lost later: whether it holds in the end is for `agent/goal-state`.
    """

    recognise_errors: bool = True
    """Whether a result that only reads like an error (``Error: ...``) counts as one."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Look for the first step that reaches each milestone."""
        milestones = check_of(trajectory, "progress", ProgressCheck).milestones
        seen = Observed(trajectory, milestones, recognise_errors=self.recognise_errors)
        first = [seen.first(each) for each in milestones]
        reached: dict[int, list[str]] = {}
        for milestone, step in zip(milestones, first, strict=True):
            if step is not None:
                reached.setdefault(step, []).append(milestone.label)
        total = sum(each.weight for each in milestones)
        got = sum(m.weight for m, step in zip(milestones, first, strict=True) if step is not None)
        missing = [m.label for m, step in zip(milestones, first, strict=True) if step is None]
        reason = f"{len(milestones) - len(missing)} of {counted(len(milestones), 'milestone')}"
        if missing:
            reason += f"; not reached: {', '.join(missing[:5])}"
        return Score.of(
            got / total if missing else 1.0,
            reason,
            step_values=[
                StepValue(step, float(step in reached), reason=", ".join(reached.get(step, ())))
                for step in range(len(seen.turns))
            ],
            evidence={"missing": missing},
        )


class Stops(Grader):
    """The attempt stops when the task is done, and not before.

    The task is done in the first step by which each condition of ``checks.stops.done`` has been
    seen. An attempt that is never done gets 0. One that is done gets ``(1 - penalty)`` to the
    power of the number of later steps with calls: telling the user is no fault, going on is. A
    truncated attempt has not stopped, which is one fault more.

    The step in which it is done has value 1, each later step with calls 0; if it is never done,
    the last step has 0. Other steps have none.
    """

    penalty: float = Field(default=0.5, gt=0, le=1)
    """What one step too many takes of what is left."""
    recognise_errors: bool = True
    """Whether a result that only reads like an error (``Error: ...``) counts as one."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Find the step in which the task is done, and what came after it."""
        done = check_of(trajectory, "stops", StopsCheck).done
        seen = Observed(trajectory, done, recognise_errors=self.recognise_errors)
        first = [seen.first(each) for each in done]
        missing = [each.label for each, step in zip(done, first, strict=True) if step is None]
        cut_off = trajectory.status == "truncated"
        if missing:
            how = "was cut off" if cut_off else "stopped"
            reason = f"it {how} before it was done: {', '.join(missing[:5])}"
            return Score.of(0, reason, step_values=[StepValue(len(seen.turns) - 1, 0.0)])
        end = max(step for step in first if step is not None)
        later = [step for step, _ in seen.acting() if step > end]
        reason = f"done in step {end}; then {counted(len(later), 'step')} with calls"
        return Score.of(
            (1.0 - self.penalty) ** (len(later) + cut_off),
            reason + (", and cut off" if cut_off else ""),
            step_values=[
                StepValue(end, 1.0, reason="done"),
                *(StepValue(step, 0.0, reason="it was done already") for step in later),
            ],
            metrics={"steps_too_many": float(len(later))},
        )


class Order(Grader):
    """The share of the declared pairs of calls that were made in their order.

    A pair ``[first, then]`` holds if both calls worked and the first time of ``first`` comes
    before the first time of ``then``, in an earlier step or earlier in the same one. A pair of
    which a call never worked does not hold: not doing it is no order. Calls that went wrong had
    no effect and do not count; calls whose result is not recorded do.

    A step has a value if it makes the second call of a pair for the first time: the share of such
    pairs that hold. Other steps have none.
    """

    recognise_errors: bool = True
    """Whether a result that only reads like an error (``Error: ...``) counts as one."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Compare the places of the calls."""
        pairs = check_of(trajectory, "call_order", OrderCheck).before
        seen = Observed(trajectory, (), recognise_errors=self.recognise_errors)
        places: dict[str, tuple[int, int] | None] = {}
        for each in (call for both in pairs for call in both):
            if repr(each) not in places:
                places[repr(each)] = _first_place(seen, each)
        by_step: dict[int, list[bool]] = {}
        broken: list[str] = []
        for first, then in pairs:
            one, other = places[repr(first)], places[repr(then)]
            holds = one is not None and other is not None and one < other
            if other is not None:
                by_step.setdefault(other[0], []).append(holds)
            if not holds:
                lacks = first.tool if one is None else then.tool if other is None else ""
                why = f"`{lacks}` never worked" if lacks else "came too late"
                broken.append(f"`{first.tool}` before `{then.tool}`: {why}")
        held = len(pairs) - len(broken)
        reason = f"{held} of {counted(len(pairs), 'pair')} in order"
        return Score.of(
            held / len(pairs),
            reason + (f"; {'; '.join(broken[:3])}" if broken else ""),
            step_values=[
                StepValue(step, sum(each) / len(each)) for step, each in sorted(by_step.items())
            ],
            evidence={"broken": broken[:50]},
        )


def _first_place(seen: Observed, wanted: AcceptedCall) -> tuple[int, int] | None:
    return next(
        (
            (step, number)
            for step, turn in seen.acting()
            for number, call in enumerate(turn.calls)
            if not call.fault and seen.is_call(call, wanted)
        ),
        None,
    )
