"""rewardhub-rules: rules on the answer, checked without a model."""

from collections.abc import Iterator
from pathlib import Path

from rewardhub import AttackCard, GraderCard, Limits, ReaderCard, SpecCard, hookimpl
from rewardhub_rules.attacks import hollow_answers
from rewardhub_rules.code_block import CodeBlock
from rewardhub_rules.formulas import Expression
from rewardhub_rules.instructions import (
    InstructionList,
    InstructionReader,
    Instructions,
    has_instructions,
)
from rewardhub_rules.json_schema import JsonSchema
from rewardhub_rules.matching import Contains, NoForbidden, Regex
from rewardhub_rules.measures import Length, Repetition
from rewardhub_rules.speech import Language
from rewardhub_rules.tags import Tags

__all__ = [
    "CodeBlock",
    "Contains",
    "Expression",
    "Instructions",
    "JsonSchema",
    "Language",
    "Length",
    "NoForbidden",
    "Regex",
    "Repetition",
    "Tags",
]

_OF_MATCHING = Limits(cpu_seconds=2.0, wall_seconds=30.0, memory_mb=1024)
"""What one match or validation may use in a worker."""

_OF_LANGUAGES = Limits(cpu_seconds=60.0, wall_seconds=300.0)
"""The first short text makes lingua load all its models, which takes seconds."""

_OF_ATTEMPT = (
    "final_text",
    "steps.text",
    "steps.reasoning",
    "steps.tool_calls",
    "steps.observations",
    "status",
    *(f"{of}{name}" for name in ("tokens", "seconds", "cost") for of in ("", "steps.")),
)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    # A check that an option can stand in for is a path that the grader reads, not one of the
    # card's `checks`: those must be on every task.
    answer = ("final_text",)
    yield GraderCard(
        name="rules/instructions",
        grader=Instructions,
        reads=answer,
        checks={"instructions": InstructionList},
        limits=_OF_LANGUAGES,
    )
    yield GraderCard(name="rules/code-block", grader=CodeBlock, reads=answer)
    yield GraderCard(
        name="rules/json-schema",
        grader=JsonSchema,
        reads=(*answer, "task.checks.json_schema"),
        limits=_OF_MATCHING,
    )
    yield GraderCard(
        name="rules/regex",
        grader=Regex,
        reads=(*answer, "task.checks.regex"),
        limits=_OF_MATCHING,
    )
    yield GraderCard(
        name="rules/contains", grader=Contains, reads=(*answer, "task.checks.contains")
    )
    yield GraderCard(
        name="rules/no-forbidden",
        grader=NoForbidden,
        reads=(*answer, "task.checks.no_forbidden"),
        limits=_OF_MATCHING,
    )
    yield GraderCard(
        name="rules/tags", grader=Tags, reads=("steps.text", "steps.reasoning", "status")
    )
    yield GraderCard(name="rules/length", grader=Length, reads=answer)
    yield GraderCard(
        name="rules/language",
        grader=Language,
        reads=(*answer, "task.messages", "task.checks.language"),
        limits=_OF_LANGUAGES,
    )
    yield GraderCard(name="rules/repetition", grader=Repetition, reads=answer)
    yield GraderCard(name="rules/expression", grader=Expression, reads=_OF_ATTEMPT)


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    """Yield the readers of the pack."""
    yield ReaderCard(
        name="ifeval",
        reader=InstructionReader,
        recognises=has_instructions,
        suffixes=(".jsonl",),
        rank=1,  # such rows may look like plain completions, too
        description="`prompt`, `instruction_id_list`, `kwargs` and `response`, as IFEval has them",
    )


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    """Yield the reward specs that the pack ships."""
    yield SpecCard(
        name="rules/tidy-answer",
        path=Path(__file__).parent / "specs" / "tidy-answer.yaml",
        description="an answer that is whole, says something once, and has no boilerplate",
    )


@hookimpl
def rewardhub_attacks() -> Iterator[AttackCard]:
    """Yield the attacks that the pack knows."""
    yield AttackCard(
        name="rules-hollow-answers",
        attack=hollow_answers,
        domains=("rules",),
        description="answers that have the form and nothing in it",
    )
