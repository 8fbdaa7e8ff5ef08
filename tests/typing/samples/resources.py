"""Graders that ask for resources: sandbox, judge, model, workers."""

from pydantic import BaseModel, PrivateAttr

from rewardhub import Grader, Job, Judge, Model, Sandbox, Score, TaskError, Trajectory, Workers


class Tests(BaseModel):
    """What a task says under ``code``."""

    source: str


class Passes(Grader):
    """Full marks for a program that passes."""

    seconds: float = 10.0

    async def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        tests = Tests.model_validate(trajectory.task.checks["code"])
        job = Job(source=trajectory.final_text + tests.source, cpu_seconds=self.seconds)
        outcome = await sandbox.arun(job)
        return Score.of(outcome.status == "ok", outcome.reason)


class Runs(Grader):
    """Full marks for a program that runs."""

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> bool:
        return sandbox.run(Job(source=trajectory.final_text)).exit_code == 0


class Liked(Grader):
    """What a judge says."""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> float:
        reply = await judge.ask([{"role": "user", "content": trajectory.final_text}], seed=1)
        return float(reply.data["score"])


class Likely(Grader):
    """What a model says, with one judge more."""

    def grade(self, trajectory: Trajectory, model: Model, *, second: Judge) -> float:
        del second
        return float(model.forward([trajectory.final_text])[0])


def slow_length(text: str) -> int:
    """Return the length of ``text``, slowly."""
    return len(text)


class Long(Grader):
    """Full marks for a long answer; state is private."""

    _seen: dict[str, int] = PrivateAttr(default_factory=dict[str, int])

    def open(self) -> None:
        """Get ready."""
        self._seen.clear()

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        if trajectory.task.reference is None:
            raise TaskError("no reference")
        length = workers.limited(cpu_seconds=2.0).call(slow_length, trajectory.final_text)
        return Score.of(length > 10, f"{length + 1} characters")
