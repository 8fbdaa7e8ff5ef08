"""Rewards for language models: graders as plugins, composed by one YAML file.

Everything public is here; packs import this module and nothing below it. Each name is imported
when it is first used, so that a command that needs none of them starts at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardhub.audit.task_files import read_tasks
    from rewardhub.builtin.endpoints import ChatEndpoint, ChatReply
    from rewardhub.builtin.formats.reading import read_trajectories
    from rewardhub.builtin.models import (
        Generated,
        Lease,
        ModelFiles,
        TextGenerator,
        device_of,
        dtype_of,
        lease_model,
        load_model,
        load_tokenizer,
    )
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
        explain_validation,
        read_reward,
        read_task,
        read_trajectory,
    )
    from rewardhub.report.scored import ScoredPair, ScoredRow, ScoredRun, open_run
    from rewardhub.scoring import ascore, ascore_all, score, score_all
    from rewardhub.spec import Route, Spec
    from rewardhub.spec.load import check as check_reward
    from rewardhub.spec.load import load as load_reward
    from rewardhub.spec.options import options_of
    from rewardhub.text import (
        Span,
        StepPlace,
        TemplateFacts,
        normalise,
        response_of,
        split_steps,
        split_trajectory,
    )

__all__ = [
    "DEFAULT_READS",
    "AttackCard",
    "BatchGrader",
    "Budgeted",
    "Cache",
    "ChatEndpoint",
    "ChatReply",
    "Check",
    "CommandCard",
    "Engine",
    "Environment",
    "EnvironmentCard",
    "ExitCode",
    "Expression",
    "ExpressionError",
    "Generated",
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
    "Lease",
    "Limits",
    "Message",
    "Model",
    "ModelCard",
    "ModelFiles",
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
    "ScoredPair",
    "ScoredRow",
    "ScoredRun",
    "Session",
    "Span",
    "SpanReward",
    "Spec",
    "SpecCard",
    "SpecError",
    "Step",
    "StepPlace",
    "StepValue",
    "Task",
    "TaskError",
    "TaskSourceCard",
    "TemplateFacts",
    "TextGenerator",
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
    "device_of",
    "discover",
    "dtype_of",
    "explain_validation",
    "hookimpl",
    "lease_model",
    "load_model",
    "load_reward",
    "load_tokenizer",
    "normalise",
    "open_run",
    "options_of",
    "parse_expression",
    "read_reward",
    "read_task",
    "read_tasks",
    "read_trajectories",
    "read_trajectory",
    "registry_of",
    "response_of",
    "score",
    "score_all",
    "score_files",
    "split_steps",
    "split_trajectory",
    "waiting",
]

_HOMES = ("errors", "records", "text", "expression", "contracts", "host", "engine", "spec")
"""Where the names live; the homes that are quick to import come first."""

_RENAMED = {
    "ChatEndpoint": "rewardhub.builtin.endpoints:ChatEndpoint",
    "ChatReply": "rewardhub.builtin.endpoints:ChatReply",
    "ExitCode": "rewardhub.cli.codes:ExitCode",
    "Generated": "rewardhub.builtin.models:Generated",
    "How": "rewardhub.cli.running:How",
    "Lease": "rewardhub.builtin.models:Lease",
    "ModelFiles": "rewardhub.builtin.models:ModelFiles",
    "Session": "rewardhub.cli.session:Session",
    "TextGenerator": "rewardhub.builtin.models:TextGenerator",
    "ScoredPair": "rewardhub.report.scored:ScoredPair",
    "ScoredRow": "rewardhub.report.scored:ScoredRow",
    "ScoredRun": "rewardhub.report.scored:ScoredRun",
    "check_reward": "rewardhub.spec:check",
    "command": "rewardhub.cli.session:command",
    "command_app": "rewardhub.cli.session:command_app",
    "device_of": "rewardhub.builtin.models:device_of",
    "dtype_of": "rewardhub.builtin.models:dtype_of",
    "lease_model": "rewardhub.builtin.models:lease_model",
    "load_model": "rewardhub.builtin.models:load_model",
    "load_reward": "rewardhub.spec:load",
    "load_tokenizer": "rewardhub.builtin.models:load_tokenizer",
    "open_run": "rewardhub.report.scored:open_run",
    "options_of": "rewardhub.spec.options:options_of",
    "parse_expression": "rewardhub.expression:parse",
    "read_tasks": "rewardhub.audit.task_files:read_tasks",
    "read_trajectories": "rewardhub.builtin.formats.reading:read_trajectories",
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
