"""rewardhub-judge: language models as graders, controlled, cheap and checked."""

from collections.abc import Iterator

from rewardhub import AttackCard, CommandCard, GraderCard, JudgeCard, hookimpl
from rewardhub_judge.attacks import steering_answers
from rewardhub_judge.graders import grader_cards
from rewardhub_judge.local_model import TransformersJudge
from rewardhub_judge.openai_judge import OpenAIJudge
from rewardhub_judge.replay import ReplayJudge

__all__ = ["OpenAIJudge", "ReplayJudge", "TransformersJudge"]


@hookimpl
def rewardhub_judges() -> Iterator[JudgeCard]:
    """Yield the judges of the pack."""
    yield JudgeCard(name="openai", judge=OpenAIJudge)
    yield JudgeCard(name="replay", judge=ReplayJudge)
    yield JudgeCard(name="transformers", judge=TransformersJudge)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    yield from grader_cards()


@hookimpl
def rewardhub_commands() -> Iterator[CommandCard]:
    """Yield the commands of the pack."""
    yield CommandCard(
        name="judge",
        target="rewardhub_judge.measure.command:app",
        help="How far judges are to be believed.",
    )


@hookimpl
def rewardhub_attacks() -> Iterator[AttackCard]:
    """Yield attacks on judges."""
    yield AttackCard(
        name="steered-judge",
        attack=steering_answers,
        description="answers that talk to the judge instead of doing the task",
    )
