"""The graders of a reward file, opened in this process, and how far they get by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

from rewardhub.compose import Course
from rewardhub.contracts import AnyGrader, Resource
from rewardhub.engine.grade import Escalate, Runner
from rewardhub.engine.resources import SharedResources
from rewardhub.errors import LimitError, UsageError
from rewardhub.records import Reward, Score, Task, Trajectory, canonical_json
from rewardhub.spec.model import Entry, RewardSpec, Route, Spec

GradeHere = Callable[[Runner, Trajectory], Score | None]
"""Grades one part in this process; None where it cannot."""


class Graders:
    """One Runner for each entry of a reward file. Graders are opened before their first row."""

    def __init__(self, reward: RewardSpec, shared: SharedResources | None = None) -> None:
        self.reward = reward
        self._shared = shared
        self._runners: dict[int, dict[str, Runner]] = {}
        self._instances: dict[bytes, AnyGrader] = {}
        self._opened: list[AnyGrader] = []

    def open(self, places: Iterable[str]) -> None:
        """Open the graders that run in ``places`` of this process (``inline``, ``thread``...)."""
        wanted = set(places)
        for spec in specs_of(self.reward):
            for runner in self.of(spec).values():
                grader = runner.grader
                if runner.where in wanted and not any(grader is each for each in self._opened):
                    grader.open()
                    self._opened.append(grader)

    def close(self) -> None:
        """Close the graders that were opened here: all of them, even if one raises."""
        with ExitStack() as closing:
            while self._opened:
                closing.callback(self._opened.pop(0).close)

    def of(self, spec: Spec) -> dict[str, Runner]:
        """Return the runners of a spec, by part id."""
        runners = self._runners.get(id(spec))
        if runners is None:
            runners = {
                entry.id: Runner(entry, self._bound(spec, entry), self._instance(entry))
                for entry in spec.entries
            }
            self._runners[id(spec)] = runners
        return runners

    def _instance(self, entry: Entry) -> AnyGrader:
        """Return the one instance for this card and these options."""
        options = entry.grader.model_dump(mode="json")
        return self._instances.setdefault(canonical_json([entry.use, options]), entry.grader)

    def _bound(self, spec: Spec, entry: Entry) -> Mapping[str, Resource] | None:
        """Return the resources of an entry by parameter, or None if it needs none of ours."""
        signature = entry.card.signature
        if self._shared is None or signature.only_workers or not signature.slots:
            return None
        return self._shared.bound(spec, entry)

    def advance(
        self,
        course: Course,
        trajectory: Trajectory,
        grade: GradeHere,
        known: Mapping[str, Score] | None = None,
    ) -> list[Runner]:
        """Grade what can be graded here and now; return the runners that have to wait.

        Args:
            course: the trajectory's way through its spec; Scores are put on it.
            trajectory: what is graded.
            grade: grades a part here, or returns None where it cannot.
            known: Scores of an earlier run that still hold, by part id.
        """
        runners = self.of(course.spec)
        standings = course.standings
        waiting: list[Runner] = []
        for entry in course.ready():
            name = entry.id
            if known is not None and name in known:
                standings[name] = known[name]
                continue
            score = grade(runners[name], trajectory)
            if score is None:
                waiting.append(runners[name])
            else:
                standings[name] = score
        return waiting


def inline(runner: Runner, trajectory: Trajectory) -> Score | None:
    """Grade in this thread where the grader is cheap; None where it needs another place."""
    if runner.where != "inline":
        return None
    try:
        return runner.grade(trajectory)
    except (Escalate, LimitError):
        return None


def nowhere(_runner: Runner, _trajectory: Trajectory) -> Score | None:
    """Grade nothing in this process, which must outlive every grader."""
    return None


def specs_of(reward: RewardSpec) -> tuple[Spec, ...]:
    """Return every spec of a reward file."""
    return reward.all_specs if isinstance(reward, Route) else (reward,)


def spec_for(reward: RewardSpec, task: Task) -> Spec | None:
    """Return the spec that grades attempts at ``task``; None if no route leads there."""
    return reward.spec_for(task) if isinstance(reward, Route) else reward


def course_of(reward: RewardSpec, trajectory: Trajectory) -> Course | Reward:
    """Return the way of a trajectory through its spec, or the Reward where nothing is graded."""
    if trajectory.status == "broken":
        assert trajectory.fault is not None
        return Reward.unscored(trajectory.fault, f"the rollout broke: {trajectory.reason}")
    spec = spec_for(reward, trajectory.task)
    if spec is None:
        assert isinstance(reward, Route)
        return Reward.unscored("task", f"no spec is routed to by `{reward.by}` of this task")
    return Course(spec, len(trajectory.steps))


def no_manifest() -> UsageError:
    """Return the error for graders that no other process can find again."""
    return UsageError(
        "This reward needs worker processes, and its registry was made in memory, so that no "
        "other process can build it. Install the plugin, or name its file or module: "
        "`discover(loose=[...], modules=[...])`."
    )
