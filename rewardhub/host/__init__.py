"""Hooks, cards, registry: what is installed, and who owns it."""

from rewardhub.host.cards import (
    AttackCard,
    Card,
    CommandCard,
    EnvironmentCard,
    GraderCard,
    JudgeCard,
    ModelCard,
    PolicyCard,
    ReaderCard,
    SandboxCard,
    SpecCard,
    TaskSourceCard,
    WriterCard,
    resource_class,
)
from rewardhub.host.hookspecs import hookimpl
from rewardhub.host.plugins import PluginSource
from rewardhub.host.registry import (
    CARD_KINDS,
    Manifest,
    Registered,
    Registry,
    discover,
    from_manifest,
    registry_of,
)

__all__ = [
    "CARD_KINDS",
    "AttackCard",
    "Card",
    "CommandCard",
    "EnvironmentCard",
    "GraderCard",
    "JudgeCard",
    "Manifest",
    "ModelCard",
    "PluginSource",
    "PolicyCard",
    "ReaderCard",
    "Registered",
    "Registry",
    "SandboxCard",
    "SpecCard",
    "TaskSourceCard",
    "WriterCard",
    "discover",
    "from_manifest",
    "hookimpl",
    "registry_of",
    "resource_class",
]
