"""Expressions of a spec: `when`, `formula` and `success`, and which parts each may read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rewardhub.errors import did_you_mean
from rewardhub.expression import (
    TOLERANCE,
    Expression,
    ExpressionError,
    interval,
    parse,
    why_not_monotone,
)
from rewardhub.spec.drafts import PartDraft, StageDraft
from rewardhub.spec.marks import Mistakes, Node


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression as it stands in the file: under which key, and how messages begin."""

    node: Node
    key: str
    where: str

    @property
    def opening(self) -> str:
        begin = f"{self.where}: " if self.where else ""
        return f"{begin}`{self.key}: {self.node.value}`: "


class Expressions:
    """Reads the expressions of one spec, whose parts are all known by id.

    A part with mistakes keeps its id, so what reads it is no further mistake.
    """

    def __init__(self, stages: Sequence[StageDraft], mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        self.stages = stages
        self.stage_of: Mapping[str, StageDraft] = {
            part.id: stage for stage in reversed(stages) for part in stage.parts if part.id
        }

    def read_all(self) -> None:
        """Read each `when` and each `formula` into its draft."""
        before: list[str] = []
        for stage in self.stages:
            for part in stage.parts:
                part.when = self._when(part, stage, before)
                if part.id:
                    before.append(part.id)
            stage.formula = self._formula(stage)

    def _when(self, part: PartDraft, stage: StageDraft, before: Sequence[str]) -> Expression | None:
        node = part.node.fields.get("when")
        if node is None or not isinstance(node.value, str):
            return None
        text = _Text(node, "when", part.where)
        expression = self._parsed(text, "condition")
        if expression is None:
            return None
        for name in expression.names:
            if name == part.id:
                self._note(text, name, f"A part cannot wait for its own value, `{name}`.")
            elif name in self.stage_of and name not in before:
                problem = f"`{name}` comes later, and a condition reads earlier parts only. Move "
                self._note(text, name, problem + "it up, or this one down.")
            elif name not in before:
                self._unknown(text, name, before)
        self._check_monotone(text, expression, stage)
        self._warn_of_gate(text, expression, stage)
        return expression

    def _warn_of_gate(self, text: _Text, expression: Expression, stage: StageDraft) -> None:
        own = {part.id for part in stage.parts}
        if stage.shape is None or stage.shape.gate is None or own & set(expression.names):
            return
        problem = "Where this is false the part counts as 0, which closes the gate."
        self.mistakes.warn(text.node.mark, text.opening + problem)

    def _formula(self, stage: StageDraft) -> Expression | None:
        node = stage.node.fields.get("formula")
        if node is None or not isinstance(node.value, str):
            return None
        text = _Text(node, "formula", stage.where)
        expression = self._parsed(text, "formula")
        if expression is None:
            return None
        own = [part.id for part in stage.parts if part.id]
        for name in expression.names:
            other = self.stage_of.get(name)
            if other is not None and name not in own:
                problem = f"`{name}` is a part of the stage `{other.name}`, and a formula reads "
                self._note(text, name, problem + "the parts of its own stage only.")
            elif name not in own:
                self._unknown(text, name, own)
        for part in stage.parts:
            if part.id and part.id not in expression.names:
                problem = f"The formula does not read `{part.id}`, so it changes nothing."
                self.mistakes.warn(part.node.mark, f"{part.where}: {problem}")
        self._check_bounds(text, expression)
        self._check_monotone(text, expression, stage)
        return expression

    def success(self, node: Node | None, root: Node) -> Expression | None:
        """Return the condition of success: what the file says, else the default."""
        if node is None or node.value is None:
            return self._default_success(root)
        if not isinstance(node.value, str):
            return None
        text = _Text(node, "success", "")
        expression = self._parsed(text, "condition")
        if expression is None:
            return None
        for name in expression.names:
            if name not in self.stage_of:
                self._unknown(text, name, list(self.stage_of))
        read = [self.stage_of[name] for name in expression.names if name in self.stage_of]
        # It has no stage of its own, so any stage that it reads may say `monotone: false`.
        free = next((stage for stage in read if _says_not_monotone(stage)), None)
        self._check_monotone(text, expression, free)
        return expression

    def _default_success(self, root: Node) -> Expression | None:
        outcome = next((stage for stage in self.stages if stage.name == "outcome"), None)
        ids = [part.id for part in outcome.parts] if outcome else list(self.stage_of)
        if outcome is not None and len(ids) == 1:
            return parse(f"{ids[0]} == 1") if ids[0] in self.stage_of else None
        why = "the stage `outcome` has several parts" if outcome else "no stage is called `outcome`"
        known = [name for name in ids if name]
        if not known:
            return None  # said already: there are no graders, or none has an id
        choice = f"`success: {known[0]} == 1`"
        others = "" if len(known) == 1 else f" (parts: {', '.join(f'`{name}`' for name in known)})"
        self.mistakes.add(root.mark, f"Say what success is, as {choice}{others}: {why}.")
        return None

    def _parsed(self, text: _Text, kind: Literal["condition", "formula"]) -> Expression | None:
        try:
            expression = parse(str(text.node.value))
        except ExpressionError as error:
            self._refused(text, error)
            return None
        if expression.is_condition != (kind == "condition"):
            name = expression.names[0] if expression.names else "tests"
            problem = (
                f"This is a number, and `{text.key}` is true or false. Compare it: `{name} == 1`."
                if kind == "condition"
                else f"This is true or false, and a formula is a number, as `0.5 * {name}`."
            )
        elif not expression.names:
            problem = "This reads no part, so it never changes. Name the id of a part."
        else:
            return expression
        self.mistakes.add(text.node.mark, text.opening + problem)
        return None

    def _refused(self, text: _Text, error: ExpressionError) -> None:
        self.mistakes.add(text.node.inside(error.position), text.opening + error.problem)

    def _note(self, text: _Text, name: str, problem: str) -> None:
        found = re.search(rf"\b{re.escape(name)}\b", str(text.node.value))
        mark = text.node.inside(found.start() if found else 0)
        self.mistakes.add(mark, text.opening + problem)

    def _unknown(self, text: _Text, name: str, known: Sequence[str]) -> None:
        listed = f" Known: {', '.join(f'`{other}`' for other in known)}." if known else ""
        hint = did_you_mean(name, known) or listed
        self._note(text, name, f"No part is called `{name}`{_here(text.key)}.{hint}")

    def _check_bounds(self, text: _Text, expression: Expression) -> None:
        try:
            reach = interval(expression)
        except ExpressionError as error:
            self._refused(text, error)
            return
        if reach.low < -TOLERANCE or reach.high > 1 + TOLERANCE:
            problem = f"It reaches from {reach.low:g} to {reach.high:g}, and a value lies in "
            advice = "[0, 1]. Scale it, or cut it by `min` and `max`."
            self.mistakes.add(text.node.mark, text.opening + problem + advice)

    def _check_monotone(
        self, text: _Text, expression: Expression, stage: StageDraft | None
    ) -> None:
        try:
            reason = why_not_monotone(expression)
        except ExpressionError as error:
            self._refused(text, error)
            return
        if reason is not None and not (stage is not None and _says_not_monotone(stage)):
            self.mistakes.add(text.node.mark, text.opening + reason)


def _says_not_monotone(stage: StageDraft) -> bool:
    # A stage whose own shape is broken says nothing, and gets the benefit of the doubt.
    return stage.shape is None or not stage.shape.monotone


def _here(key: str) -> str:
    return {"when": " before this one", "formula": " in this stage"}.get(key, " in this spec")
