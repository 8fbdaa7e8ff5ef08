"""rewardhub-prm: reward models as graders, for steps and for outcomes."""

from collections.abc import Iterator
from pathlib import Path

from rewardhub import AttackCard, CommandCard, GraderCard, SpecCard, hookimpl
from rewardhub_prm.attacks import hollow_steps
from rewardhub_prm.outcome import Outcome
from rewardhub_prm.steps import StepRewards

__all__ = ["Outcome", "StepRewards"]

_READS = ("steps.text", "task.messages")


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    yield GraderCard(name="prm/steps", grader=StepRewards, reads=_READS, gives=("steps",))
    yield GraderCard(name="prm/outcome", grader=Outcome, reads=_READS)


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    """Yield the spec of the pack."""
    yield SpecCard(
        name="prm/process",
        path=Path(__file__).parent / "specs" / "process.yaml",
        description="The lowest step of a process reward model, beside the outcome.",
    )


@hookimpl
def rewardhub_commands() -> Iterator[CommandCard]:
    """Yield the commands of the pack."""
    yield CommandCard(
        name="prm",
        target="rewardhub_prm.command:app",
        help="Train a process reward model, and measure one.",
    )


@hookimpl
def rewardhub_attacks() -> Iterator[AttackCard]:
    """Yield the attacks that the pack knows."""
    yield AttackCard(
        name="prm-hollow-steps",
        attack=hollow_steps,
        domains=("prm",),
        description="answers that hold the marks of sound steps and nothing else",
    )
