"""Rewards for language models: graders as plugins, composed by one YAML file.

Everything public is here; packs import this module and nothing below it. What takes time to
import (the engine, the spec loader) is imported when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rewardhub.contracts import (
    DEFAULT_READS,
    BatchGrader,
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
    RawRow,
    Reader,
    ReadOptions,
    Sandbox,
    Turn,
    Usage,
    Verdict,
    Workers,
    Writer,
)
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
from rewardhub.text import Span, TemplateFacts, normalise, response_of, split_steps

if TYPE_CHECKING:
    from rewardhub.engine import Cache, Engine, RewardSource
    from rewardhub.scoring import ascore, ascore_all, score, score_all
    from rewardhub.spec import Route, Spec
    from rewardhub.spec.load import check as check_reward
    from rewardhub.spec.load import load as load_reward

__all__ = [
    "DEFAULT_READS",
    "AttackCard",
    "BatchGrader",
    "Cache",
    "CommandCard",
    "Engine",
    "Environment",
    "EnvironmentCard",
    "Expression",
    "ExpressionError",
    "Grader",
    "GraderCard",
    "GradingError",
    "GroupGrader",
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
    "split_steps",
]

_LAZY = {
    "Cache": "rewardhub.engine:Cache",
    "Engine": "rewardhub.engine:Engine",
    "RewardSource": "rewardhub.engine:RewardSource",
    "Route": "rewardhub.spec:Route",
    "Spec": "rewardhub.spec:Spec",
    "ascore": "rewardhub.scoring:ascore",
    "ascore_all": "rewardhub.scoring:ascore_all",
    "check_reward": "rewardhub.spec:check",
    "load_reward": "rewardhub.spec:load",
    "score": "rewardhub.scoring:score",
    "score_all": "rewardhub.scoring:score_all",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `rewardhub` has no `{name}`")
    module, _, attribute = _LAZY[name].partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
