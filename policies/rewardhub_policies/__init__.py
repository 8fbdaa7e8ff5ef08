"""rewardhub-policies: who tries the tasks, and where."""

from collections.abc import Iterator
from pathlib import Path

from rewardhub import (
    CommandCard,
    EnvironmentCard,
    GraderCard,
    PolicyCard,
    SpecCard,
    TaskSourceCard,
    hookimpl,
)
from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.attempts import attempt
from rewardhub_policies.budget import Budget
from rewardhub_policies.chat import ChatFormat
from rewardhub_policies.chat_parsing import ParsedTurn
from rewardhub_policies.choosing import ChosenPolicy, policy_from
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.environments.workspace import (
    Files,
    Functions,
    PythonSession,
    Shell,
    User,
    Workspace,
)
from rewardhub_policies.limits import AttemptLimits
from rewardhub_policies.local import LocalPolicy
from rewardhub_policies.openai_policy import OpenAIPolicy
from rewardhub_policies.recorded import ReplayPolicy
from rewardhub_policies.replaying import Replay, replay
from rewardhub_policies.script import ScriptPolicy
from rewardhub_policies.shell_checks import ShellCheck, ShellChecks
from rewardhub_policies.shell_tasks import shell_tasks

__all__ = [
    "ActingPolicy",
    "Action",
    "AttemptLimits",
    "Budget",
    "ChatFormat",
    "ChosenPolicy",
    "Environments",
    "LocalPolicy",
    "OpenAIPolicy",
    "ParsedTurn",
    "Replay",
    "ReplayPolicy",
    "ScriptPolicy",
    "ShellCheck",
    "ShellChecks",
    "Workspace",
    "attempt",
    "policy_from",
    "replay",
    "shell_tasks",
]


@hookimpl
def rewardhub_policies() -> Iterator[PolicyCard]:
    """Yield the policies."""
    yield PolicyCard(name="transformers", policy=LocalPolicy)
    yield PolicyCard(name="openai", policy=OpenAIPolicy)
    yield PolicyCard(name="script", policy=ScriptPolicy)
    yield PolicyCard(name="replay", policy=ReplayPolicy)


@hookimpl
def rewardhub_environments() -> Iterator[EnvironmentCard]:
    """Yield the environments."""
    yield EnvironmentCard(name="workspace", environment=Workspace)
    yield EnvironmentCard(name="shell", environment=Shell)
    yield EnvironmentCard(name="files", environment=Files)
    yield EnvironmentCard(name="python", environment=PythonSession)
    yield EnvironmentCard(name="tools", environment=Functions)
    yield EnvironmentCard(name="user", environment=User)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the grader of final files."""
    yield GraderCard(
        name="shell/checks",
        grader=ShellChecks,
        reads=(
            "artifacts.files",
            "artifacts.left_out",
            "artifacts.state",
            "status",
            "task.files",
        ),
        checks={"shell": ShellCheck},
    )


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    """Yield the reward spec of the shell tasks."""
    yield SpecCard(
        name="shell/staged",
        path=Path(__file__).parent / "specs" / "staged.yaml",
        description="Hidden checks on the final files, then how sound the way there was.",
    )


@hookimpl
def rewardhub_task_sources() -> Iterator[TaskSourceCard]:
    """Yield the shell tasks."""
    yield TaskSourceCard(
        name="shell-tasks",
        source=shell_tasks,
        description="Files, git, text and Python debugging in a shell, with hidden checks.",
    )


@hookimpl
def rewardhub_commands() -> Iterator[CommandCard]:
    """Yield the commands that make attempts, and execute recorded ones again."""
    yield CommandCard(
        name="rollout",
        target="rewardhub_policies.rollout.command:app",
        help="Let a policy try tasks, and score every attempt.",
    )
    yield CommandCard(
        name="replay",
        target="rewardhub_policies.replay_command:app",
        help="Execute a recorded trajectory's actions again, and compare the states.",
    )
