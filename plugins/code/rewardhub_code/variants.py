"""``code/hidden-variants``: more inputs than the task shows, judged by its reference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, PrivateAttr

from rewardhub import Sandbox, Score, TaskError, Trajectory
from rewardhub_code.checks import CodeCheck, VariantsCheck
from rewardhub_code.compare import is_same
from rewardhub_code.inputs import own_inputs
from rewardhub_code.inside import plain
from rewardhub_code.relations import relations_of
from rewardhub_code.running import (
    CodeGrader,
    TaskBook,
    TestsRun,
    environment,
    no_code,
    score_of,
)
from rewardhub_code.solution import CallsRun, Reply, TestResult, call_all
from rewardhub_code.strategies import apart, draw, varied

_SHOWN = 200
_SPARE = 3
"""How many inputs are drawn for each that is wanted, where some are left out."""
_DAY = 86_400.0
_BROAD = frozenset({"Exception", "BaseException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An input, and what the reference made of it."""

    args: tuple[Any, ...]
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The variants of a task, or why it can have none."""

    variants: tuple[Variant, ...] = ()
    fault: str = ""


class HiddenVariants(CodeGrader):
    """1 if the solution does what the reference does on inputs that the task does not show.

    The inputs are drawn from the task's strategies (``checks.code.variants.arguments``), or are
    its own with one argument changed, within the bounds of all and so that what holds between the
    arguments of all still does. A task that has rules for its inputs which do not show in its tests
    should say strategies: a right solution may do as it likes with inputs that break them.

    What is right is what the reference returns, run in the sandbox, once per task. Left out are
    inputs on which it raises (unless ``raises`` is set), returns no plain value, or two different
    ones in two runs, the second under another clock. All attempts at a task get the same inputs.
    """

    count: int = Field(default=50, ge=1, le=1000)
    """How many inputs are drawn."""
    partial: bool = False
    """Whether the value is the share of inputs, instead of all or nothing."""

    _findings: TaskBook[Finding] = PrivateAttr(default_factory=TaskBook)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return the verdict on the code in the final answer."""
        check = self.check_of(trajectory)
        task = trajectory.task.digest
        reference = self.reference_of(trajectory, check)
        finding = self._findings.get(
            task, lambda: self._find(sandbox, check, reference, self._seed(task))
        )
        if finding.fault:
            raise TaskError(finding.fault)
        variants = finding.variants
        answer = self.answer_of(trajectory, check)
        if not answer.code:
            return no_code(answer)
        run = self._run(sandbox, check, answer.code, [variant.args for variant in variants])
        results = tuple(
            TestResult(name=_shown(variant.args), passed=not reason, reason=reason)
            for variant, reply in zip(variants, run.replies, strict=True)
            for reason in (_difference(variant.reply, reply, check.variants or VariantsCheck()),)
        )
        told = TestsRun(results=results, outcome=run.outcome, tampered=run.tampered)
        return score_of(told, partial=self.partial, evidence=answer.evidence())

    def _seed(self, task: str) -> int:
        """Return a seed that only task and options decide, never an attempt, a spec or the time."""
        known = json.dumps(["code/hidden-variants", task, self.model_dump(mode="json")])
        return int.from_bytes(hashlib.sha256(known.encode()).digest()[:8])

    def _inputs(
        self, section: VariantsCheck, own: Sequence[tuple[Any, ...]], seed: int
    ) -> list[tuple[Any, ...]]:
        if section.arguments:
            return draw(apart(section.arguments), count=self.count, seed=seed)
        relations = relations_of(own)
        drawn = draw(varied(own), count=_SPARE * self.count, seed=seed)
        return [args for args in drawn if all(holds(args) for holds in relations)][: self.count]

    def _find(
        self, sandbox: Sandbox, check: CodeCheck, reference: str | None, seed: int
    ) -> Finding:
        if reference is None:
            return Finding(fault="variants need a reference: `reference` has the right solution")
        if check.entry_point is None:
            return Finding(fault="variants need a function: `checks.code.entry_point`")
        section = check.variants or VariantsCheck()
        own = () if section.arguments else own_inputs(check)
        if not section.arguments and not own:
            return Finding(
                fault="no inputs to vary: say `checks.code.variants.arguments`, or give `calls` "
                "or `unit_tests` whose calls are written out"
            )
        inputs = self._inputs(section, own, seed)
        one = self._run(sandbox, check, reference, inputs)
        other = self._run(sandbox, check, reference, inputs, ahead=_DAY)
        variants = tuple(
            Variant(args=args, reply=reply)
            for args, reply, again in zip(inputs, one.replies, other.replies, strict=True)
            if _counts(reply, section) and not _difference(reply, again, section)
        )
        if not variants:
            return Finding(fault=f"the reference takes none of the inputs: {_first(one.replies)}")
        if all(v.reply.status == "returned" and v.reply.value is None for v in variants):
            return Finding(fault="the reference returns None for each input, as a stub would")
        return Finding(variants=variants)

    def _run(
        self,
        sandbox: Sandbox,
        check: CodeCheck,
        source: str,
        inputs: Sequence[tuple[Any, ...]],
        *,
        ahead: float = 0.0,
    ) -> CallsRun:
        return call_all(
            sandbox,
            source,
            [(args, {}) for args in inputs],
            entry_point=check.entry_point or "",
            limits=self.limits_of(check),
            out=check.unit_tests is not None and check.unit_tests.in_place,
            env=environment(ahead=ahead),
        )


def _counts(reply: Reply, section: VariantsCheck) -> bool:
    return reply.status == "returned" or (section.raises and reply.status == "raised")


def _first(replies: Sequence[Reply]) -> str:
    return next((reply.reason for reply in replies if reply.reason), "its answers differ")


def _difference(wanted: Reply, got: Reply, section: VariantsCheck) -> str:
    """Return how a reply differs from the reference's; empty if it does not."""
    if wanted.status == "raised":
        # Which class exactly is the solution's business, as long as one is a kind of the other.
        alike = ({*wanted.error} & {*got.error}) - _BROAD
        if got.status == "raised" and (alike or wanted.error[0] in _BROAD):
            return ""
        return got.reason or f"it returned {_shown(got.value)} instead of raising {wanted.error[0]}"
    if got.status != "returned":
        return got.reason or got.status
    same = is_same(
        got.value, wanted.value, tolerance=section.tolerance, any_order=section.any_order
    ) and is_same(list(got.args), list(wanted.args), tolerance=section.tolerance)
    return "" if same else f"it returned {_shown(got.value)}, not {_shown(wanted.value)}"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python writes
        text = f"{plain.type_name(value)} with too many digits"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def version() -> str:
    """Return the version of the grader: other versions of hypothesis draw other inputs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"1, hypothesis {version('hypothesis')}"
    except PackageNotFoundError:
        return "1"
