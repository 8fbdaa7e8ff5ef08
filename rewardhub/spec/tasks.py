"""A reward file against the tasks and the door that it is meant for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rewardhub.contracts import narrower
from rewardhub.records import Task, explain_validation
from rewardhub.spec.drafts import PartDraft, SpecDraft
from rewardhub.spec.marks import Mark, Mistakes
from rewardhub.spec.model import field_of
from rewardhub.spec.route import RouteDraft

EXAMPLES = 3
"""How many tasks with the same kind of mistake are shown; the others are counted."""

K = TypeVar("K")


def check_tasks(draft: SpecDraft | RouteDraft, tasks: Iterable[Task], mistakes: Mistakes) -> None:
    """Note the checks that tasks lack or that are malformed, and the tasks that no route takes.

    A check that is lacking is a warning where the part stands in an optional stage, which adds 0
    for such tasks, and a mistake elsewhere.
    """
    wanted = {id(spec): _wanted(spec) for spec in specs_of(draft)}
    astray = _Tally[str]()
    lacking = _Tally[tuple[PartDraft, str]]()
    malformed = _Tally[str]()
    count = 0
    for task in tasks:
        count += 1
        spec = _spec_for(draft, task, astray)
        if spec is None:
            continue
        for (key, model), parts in wanted[id(spec)].items():
            if key in task.checks:
                reason = _why_malformed(task, key, model)
                if reason:
                    malformed.add(key, f"`checks.{key}` of the task `{task.id}`: {reason}.")
                continue
            for part in parts:
                lacking.add((part, key), f"`{task.id}`")
    _tell_astray(draft, astray, mistakes)
    _tell_lacking(lacking, count, mistakes)
    _tell_malformed(malformed, mistakes)


def check_door(draft: SpecDraft | RouteDraft, fills: Sequence[str], mistakes: Mistakes) -> None:
    """Note every grader that reads a path which a door that fills ``fills`` leaves empty."""
    for spec in specs_of(draft):
        for part in spec.parts:
            if part.registered is None:
                continue
            card = part.registered.card
            paths = narrower((*card.all_reads, *filter(None, [card.group_by])), fills)
            if paths:
                listed = ", ".join(f"`{path}`" for path in paths)
                problem = f"`{card.name}` reads {listed}, which this door does not fill. Use "
                advice = "another door, or a grader that does without."
                mark = part.node.fields["use"].mark
                mistakes.add(mark, f"{part.where}: {problem}{advice}")


def specs_of(draft: SpecDraft | RouteDraft) -> list[SpecDraft]:
    """Return the specs of a reward file, each once."""
    if isinstance(draft, SpecDraft):
        return [draft]
    every = [*draft.specs.values(), *([draft.default] if draft.default else [])]
    return list({id(spec): spec for spec in every}.values())


class _Tally(Generic[K]):
    """How often each mistake was met, with a few examples."""

    def __init__(self) -> None:
        self.counts: Counter[K] = Counter()
        self.examples: dict[K, list[str]] = {}

    def add(self, key: K, example: str) -> None:
        self.counts[key] += 1
        examples = self.examples.setdefault(key, [])
        if len(examples) < EXAMPLES:
            examples.append(example)

    def listed(self, key: K) -> str:
        more = ", ..." if self.counts[key] > EXAMPLES else ""
        return ", ".join(self.examples[key]) + more


def _wanted(spec: SpecDraft) -> dict[tuple[str, type[BaseModel]], list[PartDraft]]:
    """Return key and model of each check that ``spec`` wants -> the parts that grade by it."""
    wanted: dict[tuple[str, type[BaseModel]], list[PartDraft]] = {}
    for part in spec.parts:
        if part.registered is None:
            continue
        for key, model in part.registered.card.checks.items():
            wanted.setdefault((key, model), []).append(part)
    return wanted


def _spec_for(draft: SpecDraft | RouteDraft, task: Task, astray: _Tally[str]) -> SpecDraft | None:
    if isinstance(draft, SpecDraft):
        return draft
    value = str(field_of(task, draft.by))
    if value in draft.values and value != "default":
        return draft.specs.get(value)
    if "default" not in draft.values:
        astray.add(value, f"`{task.id}`")
    return draft.default


def _why_malformed(task: Task, key: str, model: type[BaseModel]) -> str:
    try:
        model.model_validate(task.checks[key])
    except ValidationError as error:
        return explain_validation(error, model)
    return ""


def _tasks(count: int) -> str:
    return "1 task has" if count == 1 else f"{count} tasks have"


def _tell_astray(draft: SpecDraft | RouteDraft, astray: _Tally[str], mistakes: Mistakes) -> None:
    for value, count in astray.counts.items():
        assert isinstance(draft, RouteDraft)
        mistakes.add(
            draft.node.fields["route"].mark,
            f"{_tasks(count)} `{draft.by}` `{value}`, which the route does not list "
            f"({astray.listed(value)}). Add a line for it, or a `default`.",
        )


def _tell_lacking(lacking: _Tally[tuple[PartDraft, str]], tasks: int, mistakes: Mistakes) -> None:
    for (part, key), count in lacking.counts.items():
        mark = part.node.fields["use"].mark
        problem = f"{_tasks(count)} no `checks.{key}` (of {tasks}): {lacking.listed((part, key))}. "
        if part.stage.shape is not None and part.stage.shape.optional:
            advice = "The stage, which is optional, adds 0 to their rewards."
            mistakes.warn(mark, f"{part.where}: {problem}{advice}")
        else:
            advice = f"`{part.node.text('use')}` grades by it: add it, or route them elsewhere."
            mistakes.add(mark, f"{part.where}: {problem}{advice}")


def _tell_malformed(malformed: _Tally[str], mistakes: Mistakes) -> None:
    for key, count in malformed.counts.items():
        for example in malformed.examples[key]:
            mistakes.add(Mark(), example)
        if count > EXAMPLES:
            problem = f"`checks.{key}` is malformed in {count - EXAMPLES} more tasks."
            mistakes.add(Mark(), problem)
