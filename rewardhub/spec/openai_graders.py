"""OpenAI grader JSON (string_check, text_similarity, multi, ...) as a reward spec.

Format: the grader objects of OpenAI's evals and reinforcement fine-tuning. What a spec cannot
say is refused by name, at its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rewardhub.expression import is_name
from rewardhub.spec.marks import Mistakes, Node, shown

_GRADERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "string_check": ("text/string-check", ("input", "reference", "operation")),
    "text_similarity": ("text/similarity", ("input", "reference", "evaluation_metric")),
}
"""Type -> the grader of ours, and the fields that are its options."""

_REFUSED = {
    "score_model": "asks a model for a score, and no grader here asks a judge that way yet",
    "label_model": "asks a model for a label, and no grader here asks a judge that way yet",
    "python": "runs code of its own: publish it as a grader of a pack, or grade code with the pack "
    "`code`",
    "endpoint": "asks a server of yours: write a grader that asks it",
}
_NOT_OURS = re.compile(r"\b(?:floor|ceil|exp|sqrt|log|pow|round)\b(?=\s*\()|\^|\*\*|%")


def is_openai_grader(node: Node) -> bool:
    """Whether a file holds a grader of OpenAI, and no reward spec."""
    return "type" in node.fields and not {"rewardhub", "stages", "route"} & node.fields.keys()


def as_spec(node: Node, mistakes: Mistakes) -> Node:
    """Return the reward spec that says the same as an OpenAI grader.

    A single grader is the one part of a stage ``outcome``; the graders of a ``multi`` are its
    parts, and ``calculate_output`` is its formula. The attempt succeeds where the value reaches
    ``pass_threshold``, or 1 where there is none. The reward lies in [0, 1].

    Args:
        node: the grader's object.
        mistakes: takes what cannot be translated.
    """
    translation = _Translation(node, mistakes)
    kind = node.text("type")
    if kind == "multi":
        return translation.multi()
    entry = translation.entry(node, _name_of(node))
    formula = None if entry is None else entry.text("as")
    return translation.spec([entry] if entry else [], formula, {})


def _name_of(node: Node) -> str:
    name = re.sub(r"\W+", "_", node.text("name")).strip("_")
    return name if is_name(name) else "score"


class _Translation:
    def __init__(self, node: Node, mistakes: Mistakes) -> None:
        self.node = node
        self.mistakes = mistakes

    def multi(self) -> Node:
        """Return the spec of a ``multi`` grader."""
        self._refuse_others(self.node, ("type", "name", "graders", "calculate_output"))
        graders = self.node.fields.get("graders")
        if graders is None or not graders.fields:
            mark = self.node.mark if graders is None else graders.mark
            self.mistakes.add(
                mark, "A `multi` grader has `graders`: a mapping of names to graders."
            )
            return self.spec([], None, {})
        # One grader may stand there without a name around it; then its own is used.
        named: Mapping[str, Node] = graders.fields
        if "type" in named and isinstance(named["type"].value, str):
            named = {_name_of(graders): graders}
        entries = [self.entry(grader, name) for name, grader in named.items()]
        formula = self.node.fields.get("calculate_output")
        if formula is None or not isinstance(formula.value, str):
            mark = self.node.mark if formula is None else formula.mark
            problem = "A `multi` grader has `calculate_output`: a formula over its graders' names."
            self.mistakes.add(mark, problem)
            return self.spec([], None, {})
        for found in _NOT_OURS.finditer(formula.value):
            problem = (
                f"`calculate_output` uses `{found.group()}`, which formulas here do not have. "
            )
            problem += "They have + - * /, min, max and abs."
            self.mistakes.add(formula.inside(found.start()), problem)
        known = [entry for entry in entries if entry is not None]
        return self.spec(known, formula.value, {"formula": formula})

    def entry(self, grader: Node, name: str) -> Node | None:
        """Return the entry of a grader in a stage, or None where it is refused."""
        kind = grader.fields.get("type")
        mark = grader.mark if kind is None else kind.mark
        wanted = kind.value if kind is not None else None
        if not isinstance(wanted, str):
            self.mistakes.add(mark, f"The `type` of a grader is text, not {shown(wanted)}.")
            return None
        if wanted not in _GRADERS:
            known = ", ".join(f"`{each}`" for each in (*_GRADERS, "multi"))
            why = _REFUSED.get(wanted, "is not known here") + f". Translated are {known}."
            if wanted == "multi":
                why = "stands inside of another one. Write one formula over all graders."
            self.mistakes.add(mark, f"A `{wanted}` grader {why}")
            return None
        if not is_name(name):
            self.mistakes.add(grader.key, f"`{name}` is no name that a formula can use.")
            return None
        use, options = _GRADERS[wanted]
        self._refuse_others(grader, ("type", "name", "pass_threshold", *options))
        given = {key: grader.fields[key] for key in options if key in grader.fields}
        for key in options:
            if key not in given:
                self.mistakes.add(grader.mark, f"A `{wanted}` grader has `{key}`.")
        fields: dict[str, Any] = {"use": self._made(use), "as": self._made(name)}
        return self._made({**fields, "options": self._made(given)})

    def spec(self, entries: list[Node], formula: str | None, extra: Mapping[str, Node]) -> Node:
        """Return the whole spec; a made-up one where there is nothing to run, behind mistakes."""
        stage = {"name": self._made("outcome"), "graders": self._made(entries), **extra}
        name = self.node.text("name") or self.node.text("type")
        fields: dict[str, Any] = {
            "rewardhub": self._made(1),
            "name": self._made(name),
            "range": self._made([self._made(0), self._made(1)]),
            "stages": self._made([self._made(stage)]),
        }
        if formula is not None:
            fields["success"] = self._made(f"({formula}) >= {self._threshold()}")
        return self._made(fields)

    def _threshold(self) -> float | int:
        node = self.node.fields.get("pass_threshold")
        if node is None:
            return 1
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            problem = f"`pass_threshold` is a number, not {shown(value)}."
            self.mistakes.add(node.mark, problem)
            return 1
        return value

    def _refuse_others(self, grader: Node, known: tuple[str, ...]) -> None:
        for key, value in grader.fields.items():
            if key not in (*known, "pass_threshold", "id"):
                problem = f"`{key}` of a `{grader.text('type')}` grader is not known here."
                self.mistakes.add(value.key, problem)

    def _made(self, value: Any) -> Node:
        return Node(value, self.node.mark, self.node.mark)
