"""What plugins implement: graders, formats, resources, policies, environments."""

from rewardhub.contracts.acting import Environment, Policy, Turn
from rewardhub.contracts.budget import Budgeted
from rewardhub.contracts.described import Check
from rewardhub.contracts.formats import RawRow, Reader, ReadOptions, Writer
from rewardhub.contracts.grader import (
    AnyGrader,
    BatchGrader,
    Grader,
    GroupGrader,
    Options,
    Verdict,
)
from rewardhub.contracts.limits import Limits
from rewardhub.contracts.resource import Resource, Several
from rewardhub.contracts.resources import (
    KINDS,
    Judge,
    JudgeReply,
    Model,
    Usage,
    Workers,
)
from rewardhub.contracts.sandbox import (
    Job,
    Outcome,
    Preload,
    Program,
    ProgramEndedError,
    Sandbox,
)
from rewardhub.contracts.signature import Signature, read_signature
from rewardhub.contracts.view import DEFAULT_READS, narrower, tree_of, values_of, view_of
from rewardhub.contracts.waiting import waiting

__all__ = [
    "DEFAULT_READS",
    "KINDS",
    "AnyGrader",
    "BatchGrader",
    "Budgeted",
    "Check",
    "Environment",
    "Grader",
    "GroupGrader",
    "Job",
    "Judge",
    "JudgeReply",
    "Limits",
    "Model",
    "Options",
    "Outcome",
    "Policy",
    "Preload",
    "Program",
    "ProgramEndedError",
    "RawRow",
    "ReadOptions",
    "Reader",
    "Resource",
    "Sandbox",
    "Several",
    "Signature",
    "Turn",
    "Usage",
    "Verdict",
    "Workers",
    "Writer",
    "narrower",
    "read_signature",
    "tree_of",
    "values_of",
    "view_of",
    "waiting",
]
