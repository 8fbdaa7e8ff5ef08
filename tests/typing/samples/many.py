"""Graders of batches and groups."""

from collections.abc import Iterator, Sequence

from rewardhub import (
    BatchGrader,
    GraderCard,
    GroupGrader,
    Judge,
    Model,
    Score,
    StepValue,
    Trajectory,
    hookimpl,
)


class Lengths(BatchGrader):
    """A value for each text, in one call."""

    def grade_batch(self, trajectories: Sequence[Trajectory]) -> list[float]:
        return [min(1.0, len(each.final_text) / 100) for each in trajectories]


class Modelled(BatchGrader):
    """A value for each step, from a model."""

    async def grade_batch(
        self, trajectories: Sequence[Trajectory], model: Model
    ) -> Sequence[Score]:
        values = model.forward([each.final_text for each in trajectories])
        return [
            Score.of(value, step_values=[StepValue(0, value)], metrics={"raw": value})
            for value in values
        ]


class Shortest(GroupGrader):
    """Full marks for the shortest of a group."""

    def grade_group(self, trajectories: Sequence[Trajectory]) -> list[bool]:
        best = min(len(each.final_text) for each in trajectories)
        return [len(each.final_text) == best for each in trajectories]


class Preferred(GroupGrader):
    """What a judge prefers."""

    async def grade_group(
        self, trajectories: Sequence[Trajectory], judge: Judge
    ) -> list[Score | bool]:
        reply = await judge.ask([{"role": "user", "content": str(len(trajectories))}])
        return [Score.of(str(index) == reply.text) for index, _ in enumerate(trajectories)]


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders."""
    yield GraderCard(name="many/lengths", grader=Lengths, max_rows=8)
    yield GraderCard(name="many/modelled", grader=Modelled, gives=("steps",))
    yield GraderCard(name="many/shortest", grader=Shortest, group_by="task.metadata.variant_of")
    yield GraderCard(name="many/preferred", grader=Preferred, deterministic=False)
