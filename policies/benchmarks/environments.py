"""Environments per second, against the bare sandbox that does the same work in one go.

    python policies/benchmarks/environments.py [--count 1000] [--at-a-time 2]

Each environment is built, takes two scripted steps, is looked at after each, and leaves its files.
The bare job does the two steps' work itself and leaves the same files. Both use the same sandbox,
with one slot for each of ``--at-a-time``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.attempts import attempt
from rewardhub_policies.environments.workspace import Workspace

from rewardhub import Job, Sandbox, SandboxCard, Step, Task, ToolCall, discover


class TwoSteps(ActingPolicy):
    """Makes two calls and is done."""

    calls: tuple[ToolCall, ...]

    @property
    def version(self) -> str:
        """Always the same."""
        return "1"

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:  # noqa: ARG002
        """Make the next call."""
        return Action(step=Step(tool_calls=(self.calls[len(steps)],)))


@dataclass(frozen=True)
class Work:
    """What is done in two steps, and by a bare job.

    Attributes:
        name: of the toolset that does it.
        calls: the steps.
        bare: the source of the job.
    """

    name: str
    calls: tuple[ToolCall, ...]
    bare: str


def call(name: str, **arguments: Any) -> ToolCall:
    """Return a call with JSON arguments."""
    return ToolCall(id="1", name=name, arguments=json.dumps(arguments), parsed=arguments)


WORKS = (
    Work(
        "files",
        (call("write_file", path="b.txt", content="two\n"), call("read_file", path="a.txt")),
        "open('b.txt', 'w').write('two\\n'); print(open('a.txt').read())",
    ),
    Work(
        "python",
        (call("python", code="n = 3"), call("python", code="open('b.txt', 'w').write(str(n))")),
        "n = 3\nopen('b.txt', 'w').write(str(n))",
    ),
    Work(
        "shell",
        (call("shell", command="echo two > b.txt"), call("shell", command="cat a.txt b.txt")),
        "import subprocess\n"
        "for each in ('echo two > b.txt', 'cat a.txt b.txt'):\n"
        "    subprocess.run(['bash', '--noprofile', '--norc', '-c', each])\n",
    ),
)
FILES = {"a.txt": "one\n"}


async def environments(work: Work, sandbox: Sandbox, count: int, at_a_time: int) -> float:
    """Return how many environments there are in a second."""
    task = Task(id="bench", files=FILES, environment={"use": "workspace", "limits": {"steps": 2}})
    gate = asyncio.Semaphore(at_a_time)
    policy = TwoSteps(calls=work.calls)

    async def one() -> None:
        async with gate:
            environment = Workspace.model_validate({"toolsets": [work.name]})
            made = await attempt(policy, task, environment, resources={"sandbox": sandbox})
            if len(made.steps) != 2 or made.artifacts["files"]["a.txt"] != "one\n":
                raise SystemExit(f"an attempt went wrong: {made.status} {made.reason}")

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return count / (time.perf_counter() - began)


async def bare(work: Work, sandbox: Sandbox, count: int, at_a_time: int) -> float:
    """Return how many bare jobs there are in a second."""
    gate = asyncio.Semaphore(at_a_time)
    job = Job(source=work.bare, files=FILES, collect=(".",))

    async def one() -> None:
        async with gate:
            outcome = await sandbox.arun(job)
            if outcome.files.get("a.txt") != b"one\n":
                raise SystemExit(f"a job went wrong: {outcome}")

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return count / (time.perf_counter() - began)


def main() -> None:
    """Measure each kind of work."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--at-a-time", type=int, default=2)
    options = parser.parse_args()
    card = discover().get(SandboxCard, "local").card
    sandbox = card.sandbox.model_validate({"slots": options.at_a_time})  # type: ignore[attr-defined]
    sandbox.open()
    for work in WORKS:
        for measure in (environments, bare):  # the first time is for the lines to be warm
            asyncio.run(measure(work, sandbox, 20, options.at_a_time))
        ours = asyncio.run(environments(work, sandbox, options.count, options.at_a_time))
        theirs = asyncio.run(bare(work, sandbox, options.count, options.at_a_time))
        told = f"{work.name:8} {ours:7.1f}/s  bare {theirs:7.1f}/s  ratio {ours / theirs:.2f}\n"
        sys.stdout.write(told)
    sandbox.close()


if __name__ == "__main__":
    main()
