from collections.abc import Iterator

from rewardhub import Grader, GraderCard, Score, Trajectory, hookimpl


class Brevity(Grader):
    """Full marks for an answer of at most ``limit`` words; none for an empty one."""

    limit: int = 100
    """How many words the answer may have."""

    def grade(self, trajectory: Trajectory) -> Score:
        words = len(trajectory.final_text.split())
        return Score.of(0 < words <= self.limit, f"{words} words")


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    yield GraderCard(name="example/brevity", grader=Brevity, reads=("final_text",))
