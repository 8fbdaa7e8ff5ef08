"""Stand-ins for what packs bring, and reward files in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator

from rewardhub.contracts import (
    DEFAULT_READS,
    Grader,
    GroupGrader,
    Job,
    Judge,
    JudgeReply,
    Model,
    Options,
    Outcome,
    Sandbox,
    Verdict,
    Workers,
)
from rewardhub.host import (
    Card,
    GraderCard,
    JudgeCard,
    ModelCard,
    Registry,
    SandboxCard,
    registry_of,
)
from rewardhub.records import Trajectory
from rewardhub.spec import Spec, check, load


class Plain(Grader):
    """Needs nothing."""

    def grade(self, trajectory: Trajectory) -> Verdict:
        return 1.0


class Budgeted(Grader):
    """Falls from 1 to 0 as the budget is used up."""

    budget: int = 20
    """How many steps are free of reproach."""

    unit: Literal["steps", "turns"] = "steps"
    strict: bool = False
    weights: tuple[float, ...] = ()

    def grade(self, trajectory: Trajectory) -> Verdict:
        return max(0.0, 1 - len(trajectory.steps) / self.budget)


class OfSteps(Grader):
    """Gives values for steps."""

    preset: str

    def grade(self, trajectory: Trajectory) -> Verdict:
        return 1.0


class CodeCheck(BaseModel):
    """What tests need of a task."""

    tests: list[str]


class UnitTests(Grader):
    """Runs tests in a sandbox."""

    timeout: float = 30

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Verdict:
        return 1.0


class Dangerous(Grader):
    """Sends one call to a worker."""

    def grade(self, trajectory: Trajectory, workers: Workers) -> Verdict:
        return 1.0


class Criteria(Grader):
    """Asks a judge."""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Verdict:
        return 1.0


class Panel(Grader):
    """Asks several judges."""

    async def grade(self, trajectory: Trajectory, judges: Mapping[str, Judge]) -> Verdict:
        return 1.0


class Rank(GroupGrader):
    """Compares the attempts of a group."""

    def grade_group(self, trajectories: Sequence[Trajectory]) -> Sequence[Verdict]:
        return [1.0 for _ in trajectories]


class Local(Options, Sandbox):
    """A sandbox that runs nothing."""

    level: int = 1

    def run(self, job: Job) -> Outcome:
        return Outcome(status="ok")

    async def arun(self, job: Job) -> Outcome:
        return self.run(job)


class Endpoint(Options, Judge):
    """A judge that always agrees."""

    model: str
    base_url: str = "http://localhost"
    api_key: SecretStr = SecretStr("from the environment of the author")
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    temperature: float = 0.0
    loud: str = ""

    @field_validator("loud")
    @classmethod
    def _quiet(cls, value: str) -> str:
        if value:
            raise ValueError(f"it must not be {value}")
        return value

    async def ask(
        self, messages: Any, *, schema: Any = None, seed: Any = None, logprobs: int = 0
    ) -> JudgeReply:
        return JudgeReply(text="yes")


class Weights(Options, Model):
    """A model that answers nothing."""

    def forward(self, inputs: Sequence[str], **parameters: Any) -> Sequence[Any]:
        return [None for _ in inputs]


CARDS = (
    GraderCard(name="rules/code-block", grader=Plain),
    GraderCard(name="math/same-number", grader=Plain),
    GraderCard(name="math/2d", grader=Plain),
    GraderCard(
        name="agent/valid-calls",
        grader=Plain,
        gives=("steps",),
        reads=(*DEFAULT_READS, "steps.tool_calls"),
    ),
    GraderCard(name="prm/steps", grader=OfSteps, gives=("steps",)),
    GraderCard(name="code/unit-tests", grader=UnitTests, checks={"code": CodeCheck}),
    GraderCard(name="code/hidden-variants", grader=UnitTests, checks={"code": CodeCheck}),
    GraderCard(name="math/equivalent", grader=Dangerous),
    GraderCard(name="judge/criteria", grader=Criteria),
    GraderCard(name="jury/votes", grader=Panel),
    GraderCard(name="judge/rank", grader=Rank),
    GraderCard(name="cost/steps", grader=Budgeted),
    SandboxCard(name="local", sandbox=Local),
    SandboxCard(name="docker", sandbox=Local),
    SandboxCard(name="either", sandbox=Local),
    JudgeCard(name="openai", judge=Endpoint),
    ModelCard(name="either", model=Weights),
)


@pytest.fixture(scope="session")
def cards() -> tuple[Card, ...]:
    return CARDS


@pytest.fixture(scope="session")
def registry() -> Registry:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("rewardhub.builtin.rewardhub_sandboxes")
        return registry_of(*CARDS)


@pytest.fixture(autouse=True)
def toys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the names of the built-in sandboxes to the toys."""
    monkeypatch.delattr("rewardhub.builtin.rewardhub_sandboxes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory of the test, so that messages have short names of files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[..., str]:
    """Return a function that writes a reward file and returns its name."""

    def write_file(text: str, name: str = "spec.yaml") -> str:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return name

    return write_file


HEAD = "rewardhub: 1\nname: own/spec\n"


@pytest.fixture
def mistakes(registry: Registry, folder: Path) -> Callable[..., list[str]]:
    """Return a function that gives every mistake of `spec.yaml`; warnings are marked.

    The text begins on line 3: two lines with format and name stand before it.
    """

    def mistakes_of(text: str, *, head: str = HEAD, **arguments: Any) -> list[str]:
        content = head + dedent(text).lstrip("\n")
        (folder / "spec.yaml").write_text(content, encoding="utf-8")
        found = check("spec.yaml", registry, **arguments).mistakes
        return [f"{'' if each.level == 'error' else 'warning: '}{each}" for each in found]

    return mistakes_of


@pytest.fixture
def parsed(registry: Registry, folder: Path) -> Callable[[str], Spec]:
    """Return a function that loads `spec.yaml`, with the same two lines before the text."""

    def spec_of(text: str) -> Spec:
        content = HEAD + dedent(text).lstrip("\n")
        (folder / "spec.yaml").write_text(content, encoding="utf-8")
        spec = load("spec.yaml", registry)
        assert isinstance(spec, Spec)
        return spec

    return spec_of
