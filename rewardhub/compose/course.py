"""One trajectory's way through a spec: what may be graded now, and when the reward is decided."""

from __future__ import annotations

from collections.abc import Iterator

from rewardhub.compose.reward import compose, values_for
from rewardhub.compose.stage import (
    Skipped,
    StageResult,
    Standing,
    closes,
    part_value,
    result_of,
)
from rewardhub.records import TOLERANCE, Reward, Score
from rewardhub.spec.model import Entry, Spec, Stage


class Course:
    """The state of grading one trajectory by one spec.

    Ask `ready` for the entries that may be graded now, `put` their Scores, and ask again; when
    nothing is ready and nothing is under way, `done` is true and `reward` is decided. Stages run
    in order; the parts of one stage may run side by side unless one waits for another.
    """

    __slots__ = ("done", "results", "spec", "standings", "steps")

    def __init__(
        self, spec: Spec, steps: int, standings: dict[str, Standing] | None = None
    ) -> None:
        self.spec = spec
        self.steps = steps
        self.standings: dict[str, Standing] = {} if standings is None else standings
        self.results: list[StageResult] = []
        self.done = False

    def put(self, entry: Entry, score: Score) -> None:
        """Note the Score of a part."""
        self.standings[entry.id] = score

    def ready(self) -> Iterator[Entry]:
        """Yield the entries that may be graded now.

        A Score that is put while iterating counts for what comes after it, so a grader that
        answers at once lets the next one start. Entries whose Score is still missing when the
        iteration ends are under way: ask again after putting one of them.
        """
        standings = self.standings
        for stage in self.spec.stages[len(self.results) :]:
            complete = True
            for entry, name, free in stage.order:
                if name not in standings:
                    if free or self._may_run(stage, entry):
                        yield entry
                    complete = complete and name in standings
            if not complete:
                return
            result = result_of(stage, standings)
            self.results.append(result)
            if stage.gate is not None and closes(stage.gate, result):
                break
        self.done = True

    def reward(self) -> Reward:
        """Return the reward; only when `done`."""
        return compose(self.spec, self.standings, self.steps, self.results)

    def _may_run(self, stage: Stage, entry: Entry) -> bool:
        """Whether ``entry`` can be graded now; settles it where it needs no grading."""
        if stage.combine == "cascade":
            verdict = self._cascade(stage, entry)
            if verdict is not None:
                return verdict
        if entry.when is None:
            return True
        if any(name not in self.standings for name in entry.when.names):
            return False
        values = values_for(self.spec, entry.when.names, self.standings)
        for name, value in values.items():
            if value is None:
                self.standings[entry.id] = self._same_fault(entry, name)
                return False
        if entry.when.evaluate(values):  # type: ignore[arg-type]  # no None is left
            return True
        self.standings[entry.id] = Skipped(f"`{entry.when.text}` is false")
        return False

    def _cascade(self, stage: Stage, entry: Entry) -> bool | None:
        """Whether a cascade is past ``entry`` (False), waits (False), or says nothing (None)."""
        for earlier in stage.entries:
            if earlier is entry:
                return None
            standing = self.standings.get(earlier.id)
            if standing is None:
                return False
            value = part_value(stage, standing)
            if value is not None and value >= 1.0 - TOLERANCE:
                self.standings[entry.id] = Skipped(f"`{earlier.id}` is 1, which ends the cascade")
                return False
        return None

    def _same_fault(self, entry: Entry, name: str) -> Score:
        read = self.standings[name]
        assert isinstance(read, Score)
        assert entry.when is not None
        reason = f"its condition `{entry.when.text}` reads `{name}`, which {read.status}"
        if read.fault == "task" or read.fault is None:
            return Score.abstain(reason).signed(entry.use, 0.0)
        return Score.fail(reason, fault=read.fault).signed(entry.use, 0.0)
