"""Plain graders: a Score, a bool, a number."""

from collections.abc import Iterator

from rewardhub import Grader, GraderCard, Score, Trajectory, hookimpl


class Brevity(Grader):
    """Full marks for a final answer of at most ``limit`` words."""

    limit: int = 100

    def grade(self, trajectory: Trajectory) -> Score:
        words = len(trajectory.final_text.split())
        return Score.of(words <= self.limit, f"{words} words")


class Exact(Grader):
    """Full marks for the reference."""

    def grade(self, trajectory: Trajectory) -> bool:
        return bool(trajectory.final_text == trajectory.task.reference)


class Share(Grader):
    """The share of steps that say something."""

    def grade(self, trajectory: Trajectory) -> float:
        return sum(bool(step.text) for step in trajectory.steps) / len(trajectory.steps)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders."""
    yield GraderCard(name="style/brevity", grader=Brevity)
    yield GraderCard(name="style/exact", grader=Exact, reads=("final_text", "task.reference"))
    yield GraderCard(name="style/share", grader=Share, version="2", gives=("steps",))


limit: int = Brevity(limit=3).limit
