"""Task, Trajectory, Step, Score, Part, Reward: what crosses the borders of rewardhub."""

from rewardhub.records.base import (
    EMPTY,
    SCHEMA_VERSION,
    ReadOnly,
    Record,
    canonical_json,
    digest_of,
    dump_json,
    explain_validation,
    freeze,
)
from rewardhub.records.migrate import read_task, read_trajectory
from rewardhub.records.reward import (
    Part,
    Reward,
    SpanReward,
    SpecInfo,
    read_reward,
    read_score,
    write_record,
)
from rewardhub.records.score import TOLERANCE, Fault, Score, ScoreStatus, StepValue
from rewardhub.records.task import Message, Observation, PolicyInfo, Step, Task, ToolCall
from rewardhub.records.trajectory import Trajectory, TrajectoryStatus

__all__ = [
    "EMPTY",
    "SCHEMA_VERSION",
    "TOLERANCE",
    "Fault",
    "Message",
    "Observation",
    "Part",
    "PolicyInfo",
    "ReadOnly",
    "Record",
    "Reward",
    "Score",
    "ScoreStatus",
    "SpanReward",
    "SpecInfo",
    "Step",
    "StepValue",
    "Task",
    "ToolCall",
    "Trajectory",
    "TrajectoryStatus",
    "canonical_json",
    "digest_of",
    "dump_json",
    "explain_validation",
    "freeze",
    "read_reward",
    "read_score",
    "read_task",
    "read_trajectory",
    "write_record",
]
