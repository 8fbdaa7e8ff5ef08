"""The reward spec: a YAML file, resolved and checked before anything runs."""

from rewardhub.spec.load import Checked, check, load
from rewardhub.spec.model import (
    Combine,
    Credit,
    Entry,
    Gate,
    ResourceEntry,
    RewardSpec,
    Route,
    Spec,
    Stage,
    StepsRule,
    Training,
    field_of,
)
from rewardhub.spec.schema import json_schema
from rewardhub.spec.show import show

__all__ = [
    "Checked",
    "Combine",
    "Credit",
    "Entry",
    "Gate",
    "ResourceEntry",
    "RewardSpec",
    "Route",
    "Spec",
    "Stage",
    "StepsRule",
    "Training",
    "check",
    "field_of",
    "json_schema",
    "load",
    "show",
]
