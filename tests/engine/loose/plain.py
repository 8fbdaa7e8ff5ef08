"""A plugin file with a well-behaved grader of every shape; each notes its calls in a file."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from rewardhub import (
    DEFAULT_READS,
    BatchGrader,
    Grader,
    GraderCard,
    GroupGrader,
    Job,
    Judge,
    JudgeCard,
    JudgeReply,
    Options,
    Outcome,
    Sandbox,
    SandboxCard,
    Score,
    TaskError,
    Trajectory,
    Workers,
    hookimpl,
)


def note(log: str, line: str) -> None:
    """Append a line to the file ``log``, if there is one: whole, whoever else writes."""
    if log:
        with Path(log).open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())


def share(text: str, budget: int) -> float:
    return min(len(text), budget) / budget


class Length(Grader):
    """How much of the budget the answer uses. The answer `?` cannot be graded, `!` breaks it."""

    budget: int = 10
    log: str = ""
    wait: float = 0.0

    def grade(self, trajectory: Trajectory) -> Score:
        text = trajectory.final_text
        note(self.log, text)
        if self.wait and "slow" in text:
            time.sleep(self.wait)
        if text == "?":
            raise TaskError("there is nothing to compare with")
        if text == "!":
            raise ValueError("an exclamation mark")
        return Score.of(share(text, self.budget), f"{len(text)} characters")


class LengthLater(Length):
    async def grade(self, trajectory: Trajectory) -> Score:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().grade(trajectory)


class LengthInSandbox(Grader):
    log: str = ""

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        note(self.log, trajectory.final_text)
        outcome = sandbox.run(Job(stdin=trajectory.final_text))
        return Score.of(float(outcome.stdout), outcome.reason)


class LengthByJudge(Grader):
    log: str = ""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        note(self.log, trajectory.final_text)
        reply = await judge.ask([{"role": "user", "content": trajectory.final_text}])
        return Score.of(float(reply.text), cost=reply.usage.cost)


class LengthInBatches(BatchGrader):
    """Notes how many rows each call had."""

    log: str = ""

    def grade_batch(self, trajectories: Sequence[Trajectory]) -> Sequence[float]:
        note(self.log, str(len(trajectories)))
        if any(each.final_text == "!" for each in trajectories):
            raise ValueError("an exclamation mark")
        return [share(each.final_text, 10) for each in trajectories]


class Rank(GroupGrader):
    """The share of the others that are shorter; 0.5 for one alone. Notes the members."""

    log: str = ""

    def grade_group(self, trajectories: Sequence[Trajectory]) -> Sequence[float]:
        texts = [each.final_text for each in trajectories]
        note(self.log, " ".join(sorted(texts)))
        if len(texts) == 1:
            return [0.5]
        sizes = [len(text) for text in texts]
        return [sum(other < size for other in sizes) / (len(sizes) - 1) for size in sizes]


class Guarded(Grader):
    """Cheap, but for answers that begin with `hard`: these it sends to a worker."""

    log: str = ""

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        text = trajectory.final_text
        note(self.log, f"{os.getpid()}")
        if text.startswith("hard"):
            value, pid = workers.limited(cpu_seconds=0.2, wall_seconds=30).call(work, text)
            return Score.of(value, evidence={"pid": pid})
        return Score.of(share(text, 10), evidence={"pid": os.getpid()})


def work(text: str) -> tuple[float, int]:
    while "endless" in text:
        pass
    return share(text, 10), os.getpid()


class Keeps(Grader):
    """Notes where it is opened, where it grades, and where it is closed."""

    log: str
    _opened: int = PrivateAttr(0)

    def open(self) -> None:
        note(self.log, f"open {os.getpid()}")
        self._opened += 1

    def close(self) -> None:
        note(self.log, f"close {os.getpid()}")

    def grade(self, trajectory: Trajectory) -> float:
        note(self.log, f"grade {os.getpid()}")
        return float(self._opened == 1)


class Echo(Options, Sandbox):
    """Runs nothing: the outcome is the share of its standard input."""

    level: int = 1

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"level": self.level}

    def run(self, job: Job) -> Outcome:
        return Outcome(status="ok", stdout=str(share(str(job.stdin), 10)))

    async def arun(self, job: Job) -> Outcome:
        return self.run(job)


class Oracle(Options, Judge):
    """Answers with the share of the question."""

    model: str = "small"

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.model}

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Any = None,
        seed: Any = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        return JudgeReply(text=str(share(str(messages[-1]["content"]), 10)))


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    yield GraderCard(name="plain/length", grader=Length)
    yield GraderCard(name="plain/contained", grader=Length, runs_in="process")
    yield GraderCard(name="plain/unsteady", grader=Length, runs_in="process", deterministic=False)
    yield GraderCard(name="plain/later", grader=LengthLater)
    yield GraderCard(name="plain/sandboxed", grader=LengthInSandbox)
    yield GraderCard(name="plain/judged", grader=LengthByJudge)
    yield GraderCard(name="plain/batch", grader=LengthInBatches, max_rows=4, max_wait=0.05)
    yield GraderCard(name="plain/rank", grader=Rank)
    yield GraderCard(
        name="plain/rank-by-variant",
        grader=Rank,
        group_by="task.metadata.variant_of",
        reads=(*DEFAULT_READS, "task.metadata.variant_of"),
    )
    yield GraderCard(name="plain/guarded", grader=Guarded)
    yield GraderCard(name="plain/keeps", grader=Keeps)
    yield GraderCard(name="plain/keeps-contained", grader=Keeps, runs_in="process")


@hookimpl
def rewardhub_sandboxes() -> Iterator[SandboxCard]:
    yield SandboxCard(name="echo", sandbox=Echo)


@hookimpl
def rewardhub_judges() -> Iterator[JudgeCard]:
    yield JudgeCard(name="oracle", judge=Oracle)
