"""Rewards for language models: graders as plugins, composed by one YAML file.

Everything public is here; packs import this module and nothing below it. Each name is imported
when it is first used, so that a command that needs none of them starts at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardhub.cli.codes import ExitCode
    from rewardhub.cli.running import How
    from rewardhub.cli.score import score_files
    from rewardhub.cli.session import Session, command, command_app
    from rewardhub.contracts import (
        DEFAULT_READS,
        BatchGrader,
        Budgeted,
        Check,
        Environment,
        Grader,
        GroupGrader,
        Job,
        Judge,
        JudgeReply,
        Limits,
        Model,
        Options,
        Outcome,
        Policy,
        Preload,
        Program,
        ProgramEndedError,
        RawRow,
        Reader,
        ReadOptions,
        Sandbox,
        Turn,
        Usage,
        Verdict,
        Workers,
        Writer,
        waiting,
    )
    from rewardhub.engine import Cache, Engine, RewardSource
    from rewardhub.errors import (
        GradingError,
        InfrastructureError,
        RecordError,
        RewardhubError,
        RowError,
        SpecError,
        TaskError,
        UnknownNameError,
        UsageError,
    )
    from rewardhub.expression import Expression, ExpressionError
    from rewardhub.expression import parse as parse_expression
    from rewardhub.host import (
        AttackCard,
        CommandCard,
        EnvironmentCard,
        GraderCard,
        JudgeCard,
        ModelCard,
        PolicyCard,
        ReaderCard,
        Registry,
        SandboxCard,
        SpecCard,
        TaskSourceCard,
        WriterCard,
        discover,
        hookimpl,
        registry_of,
    )
    from rewardhub.records import (
        Message,
        Observation,
        Part,
        PolicyInfo,
        Reward,
        Score,
        SpanReward,
        Step,
        StepValue,
        Task,
        ToolCall,
        Trajectory,
        read_reward,
        read_task,
        read_trajectory,
    )
    from rewardhub.scoring import ascore, ascore_all, score, score_all
    from rewardhub.spec import Route, Spec
    from rewardhub.spec.load import check as check_reward
    from rewardhub.spec.load import load as load_reward
    from rewardhub.text import Span, TemplateFacts, normalise, response_of, split_steps

__all__ = [
    "DEFAULT_READS",
    "AttackCard",
    "BatchGrader",
    "Budgeted",
    "Cache",
    "Check",
    "CommandCard",
    "Engine",
    "Environment",
    "EnvironmentCard",
    "ExitCode",
    "Expression",
    "ExpressionError",
    "Grader",
    "GraderCard",
    "GradingError",
    "GroupGrader",
    "How",
    "InfrastructureError",
    "Job",
    "Judge",
    "JudgeCard",
    "JudgeReply",
    "Limits",
    "Message",
    "Model",
    "ModelCard",
    "Observation",
    "Options",
    "Outcome",
    "Part",
    "Policy",
    "PolicyCard",
    "PolicyInfo",
    "Preload",
    "Program",
    "ProgramEndedError",
    "RawRow",
    "ReadOptions",
    "Reader",
    "ReaderCard",
    "RecordError",
    "Registry",
    "Reward",
    "RewardSource",
    "RewardhubError",
    "Route",
    "RowError",
    "Sandbox",
    "SandboxCard",
    "Score",
    "Session",
    "Span",
    "SpanReward",
    "Spec",
    "SpecCard",
    "SpecError",
    "Step",
    "StepValue",
    "Task",
    "TaskError",
    "TaskSourceCard",
    "TemplateFacts",
    "ToolCall",
    "Trajectory",
    "Turn",
    "UnknownNameError",
    "Usage",
    "UsageError",
    "Verdict",
    "Workers",
    "Writer",
    "WriterCard",
    "ascore",
    "ascore_all",
    "check_reward",
    "command",
    "command_app",
    "discover",
    "hookimpl",
    "load_reward",
    "normalise",
    "parse_expression",
    "read_reward",
    "read_task",
    "read_trajectory",
    "registry_of",
    "response_of",
    "score",
    "score_all",
    "score_files",
    "split_steps",
    "waiting",
]

_HOMES = ("errors", "records", "text", "expression", "contracts", "host", "engine", "spec")
"""Where the names live; the homes that are quick to import come first."""

_RENAMED = {
    "ExitCode": "rewardhub.cli.codes:ExitCode",
    "How": "rewardhub.cli.running:How",
    "Session": "rewardhub.cli.session:Session",
    "check_reward": "rewardhub.spec:check",
    "command": "rewardhub.cli.session:command",
    "command_app": "rewardhub.cli.session:command_app",
    "load_reward": "rewardhub.spec:load",
    "parse_expression": "rewardhub.expression:parse",
    "score_files": "rewardhub.cli.score:score_files",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `rewardhub` has no `{name}`")
    module, _, attribute = _RENAMED.get(name, f":{name}").partition(":")
    value = getattr(importlib.import_module(module or _home_of(name)), attribute)
    globals()[name] = value
    return value


def _home_of(name: str) -> str:
    homes = (f"rewardhub.{home}" for home in _HOMES)
    found = (home for home in homes if name in importlib.import_module(home).__all__)
    return next(found, "rewardhub.scoring")


def __dir__() -> list[str]:
    return __all__
