"""`agent/recovers`: what becomes of errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from rewardhub import Score, StepValue, Trajectory
from rewardhub_agent.faults import ProcessGrader, counted
from rewardhub_agent.tools import tools_of
from rewardhub_agent.turns import Call, Turn, need_results, turns_of

ANY_TOOL = ""


@dataclass(slots=True, eq=False)
class Open:
    """An error that has not gone away yet.

    Attributes:
        step: where it happened.
        acted: the number of turns with calls so far, this one included.
        key: of the call.
        worked: the number of calls that had worked when it happened.
        mark: what its end is worth, once it has one.
    """

    step: int
    acted: int
    key: str
    worked: int
    mark: float | None = None


@dataclass(slots=True)
class Course:
    """The attempt, read turn by turn."""

    within: int
    worked: int = 0
    acted: int = 0
    last: int = 0
    open: dict[str, dict[str, Open]] = field(default_factory=dict[str, dict[str, Open]])
    waiting: deque[Open] = field(default_factory=deque[Open])
    errors: list[Open] = field(default_factory=list[Open])
    marks: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    def turn(self, step: int, turn: Turn) -> None:
        """Take in one turn with calls."""
        self.acted += 1
        self.last = step
        for call in turn.calls:  # before the errors: calls of one turn are made together
            if call.worked:
                self._success(step, call)
        for call in turn.calls:
            if call.fault:
                self._error(step, call)
        while self.waiting and self.acted - self.waiting[0].acted >= self.within:
            self.give_up(self.waiting.popleft(), step)

    def _error(self, step: int, call: Call) -> None:
        tool = ANY_TOOL if call.fault.startswith("the task lists no tool") else call.name
        same = self.open.setdefault(tool, {})
        if call.key in same and same[call.key].mark is None:
            if same[call.key].step != step:
                self.marks.setdefault(step, []).append(0.0)  # the same again, with nothing changed
            return
        error = Open(step, self.acted, call.key, self.worked)
        same[call.key] = error
        self.waiting.append(error)
        self.errors.append(error)

    def _success(self, step: int, call: Call) -> None:
        for tool in (call.name, ANY_TOOL):
            for error in self.open.pop(tool, {}).values():
                if error.mark is not None:
                    continue  # its time was over
                unchanged = error.key == call.key and error.worked == self.worked
                error.mark = 0.5 if unchanged else 1.0
                self.marks.setdefault(step, []).append(error.mark)
        self.worked += 1

    def give_up(self, error: Open, step: int) -> None:
        """Close an error that has not gone away, at ``step``."""
        if error.mark is None:
            error.mark = 0.0
            self.marks.setdefault(step, []).append(0.0)

    def end(self) -> None:
        """Close what is still open."""
        for error in self.waiting:
            self.give_up(error, self.last)


class Recovers(ProcessGrader):
    """After an error, the next turns change something and the error goes away.

    An error is a call whose result is one, whose arguments are no JSON object, or whose tool the
    task does not list. It goes away if within the next ``within`` turns that have calls the same
    tool works, or any tool if the one called does not exist:

    - worth 1 if the call that works has other arguments, or another call worked in between;
    - worth 0.5 if the unchanged call just worked the second time;
    - worth 0 if none works in time.

    That worth is a value of the turn in which the error goes away, or of the last turn of its
    time, or of the failing turn itself where no turn with calls follows. A turn that only makes
    the failing call again, and fails, has 0. A turn with several has their mean; other turns,
    the failing ones among them, have no value: making an error is never worth anything. The
    value for the whole is ``(1 - penalty)`` to the power of the sum of (1 - worth), so 1 without
    errors.
    """

    within: int = Field(default=3, ge=1)
    """How many turns with calls there are for an error to go away."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Follow each error to its end."""
        turns = turns_of(trajectory, tools_of(trajectory), recognise_errors=self.recognise_errors)
        need_results(turns)
        course = Course(self.within)
        for step, turn in enumerate(turns):
            if turn.calls:
                course.turn(step, turn)
        course.end()
        if not course.worked and not course.errors:
            return Score.of(self.without_calls, "no tool call that can be judged was made")
        return self._score(course)

    def _score(self, course: Course) -> Score:
        lost = sum(1.0 - (error.mark or 0.0) for error in course.errors)
        left = [error.step for error in course.errors if not error.mark]
        reason = f"{counted(len(course.errors), 'error')}"
        if course.errors:
            reason += f", {len(course.errors) - len(left)} gone away"
        if left:
            reason += f"; not the one in step {left[0]}"
        return Score.of(
            (1.0 - self.penalty) ** lost,
            reason,
            step_values=_values(course.marks),
            metrics={
                "errors": float(len(course.errors)),
                "recovered": float(len(course.errors) - len(left)),
            },
        )


def _values(marks: dict[int, list[float]]) -> Sequence[StepValue]:
    return [
        StepValue(
            step,
            sum(each) / len(each),
            reason="an error went away" if min(each) > 0 else "an error did not go away",
        )
        for step, each in sorted(marks.items())
    ]
