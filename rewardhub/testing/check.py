"""`check_cases`: holds graders to a file of cases."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardhub.contracts import Judge, Resource, Sandbox
from rewardhub.engine.grade import Runner
from rewardhub.errors import Mistake, RewardhubError, UsageError
from rewardhub.host import GraderCard, Registry, discover
from rewardhub.records import EMPTY, Score, Trajectory, canonical_json, explain_validation
from rewardhub.records.base import build
from rewardhub.testing.bench import Bench
from rewardhub.testing.cases import Case, Expectation, Kind, read_cases
from rewardhub.testing.fakes import FakeJudge, FakeSandbox

DEMANDED: tuple[Kind, ...] = ("full", "zero", "exploit")
"""What each grader of a file must have at least one case of."""


def check_cases(
    path: Path | str,
    registry: Registry | None = None,
    *,
    waive: Mapping[tuple[str, Kind], str] | None = None,
    **resources: Resource,
) -> None:
    """Hold graders to a file of cases: JSON lines, one `Case` each.

    Each case is graded twice and once more beside itself (from a thread; ``async def`` on the
    loop), each time with an equal Score apart from its seconds unless the card says that the
    grader is not deterministic. Each grader in the file needs a full, a zero and an exploit case.

    Args:
        path: the file.
        registry: where graders are looked up; by default all that is installed.
        waive: ``(grader, kind)`` -> the reason why the file has no such case.
        resources: opened resources for graders that ask for them, by parameter; a case may
            bring its own answers for judges and sandboxes.

    Raises:
        AssertionError: with every mistake: file, line, what was expected, what came, the fix.
    """
    __tracebackhide__ = True
    file = Path(path)
    with ExitStack() as stack:
        checker = _Checker(file.name, registry or discover(), resources, stack)
        mistakes = list(checker.check(file, waive or {}))
    if mistakes:
        count = f"{len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''} in {file}:"
        raise AssertionError("\n".join([count, *map(str, mistakes)]))


class _Checker:
    def __init__(
        self, file: str, registry: Registry, resources: Mapping[str, Resource], stack: ExitStack
    ) -> None:
        self._file = file
        self._registry = registry
        self._resources = resources
        self._stack = stack
        self._benches: dict[tuple[str, bytes], Bench] = {}

    def check(self, path: Path, waive: Mapping[tuple[str, Kind], str]) -> Iterator[Mistake]:
        seen: defaultdict[str, set[Kind]] = defaultdict(set)
        for found in read_cases(path):
            if isinstance(found, Mistake):
                yield found
                continue
            line, case = found
            seen[case.grader].add(case.kind)
            try:
                for message in self._check_case(case, line):
                    yield Mistake(message=message, file=self._file, line=line)
            except RewardhubError as error:
                yield Mistake(message=str(error), file=self._file, line=line)
        if not seen:
            yield Mistake(message="There is no case in this file.", file=self._file)
        for message in _missing_kinds(seen, waive):
            yield Mistake(message=message, file=self._file)

    def _check_case(self, case: Case, line: int) -> Iterator[str]:
        card = self._registry.grader(case.grader, where=f"{self._file}:{line}").card
        trajectories = case.trajectories()
        if case.kind not in {"malformed_record", "abstain"}:
            yield from _misfits(card, trajectories)
        bench = self._bench(card, case.options)
        runs = self._runs(bench, card, case, trajectories)
        for index, expectation in enumerate(case.wanted()):
            member = f", member {index}" if case.group else ""
            yield from _verdict(case, member, expectation, runs[0][index])
            if card.deterministic:
                yield from _differences(case, member, [run[index] for run in runs])

    def _bench(self, card: GraderCard, options: Mapping[str, Any]) -> Bench:
        key = (card.name, canonical_json(options))
        if key not in self._benches:
            grader = build(card.grader, options)
            self._benches[key] = self._stack.enter_context(Bench(card, grader))
        return self._benches[key]

    def _runner(self, bench: Bench, card: GraderCard, case: Case) -> Runner:
        """Return what grades one run of a case: prepared answers are used up by a run."""
        slots = card.signature.slots
        given: dict[str, Resource | Mapping[str, Resource]] = {
            slot: self._resources[slot] for slot in slots if slot in self._resources
        }
        for slot, answers in case.resources.items():
            kind = slots.get(slot)
            if kind is Judge and slot in card.signature.several:
                given[slot] = {f"judge_{n}": FakeJudge(each) for n, each in enumerate(answers, 1)}
            elif kind is Judge:
                given[slot] = FakeJudge(answers)
            elif kind is Sandbox:
                given[slot] = FakeSandbox(answers)
            else:
                raise UsageError(
                    f"`resources` prepares `{slot}`, and `{card.name}` asks for no judge or "
                    "sandbox by that name."
                )
        return bench.runner(given)

    def _runs(
        self, bench: Bench, card: GraderCard, case: Case, trajectories: Sequence[Trajectory]
    ) -> list[list[Score]]:
        """Return the Scores of three runs: the first, another, and one beside another."""
        first, second, third = (self._runner(bench, card, case) for _ in range(3))
        run = bench.grade(first, trajectories)
        if card.signature.is_async:

            async def both() -> tuple[list[Score], list[Score]]:
                return await asyncio.gather(
                    bench.agrade(second, trajectories), bench.agrade(third, trajectories)
                )

            return [run, *bench.finish(both)]
        again = bench.grade(second, trajectories)
        with ThreadPoolExecutor(1) as thread:
            return [run, again, thread.submit(bench.grade, third, trajectories).result()]


def _misfits(card: GraderCard, trajectories: Sequence[Trajectory]) -> Iterator[str]:
    for key, model in card.checks.items():
        for value in (each.task.checks[key] for each in trajectories if key in each.task.checks):
            try:
                model.model_validate(value)
            except ValidationError as error:
                yield (
                    f"The checks of this case do not fit `{card.name}`: `{key}`: "
                    f"{explain_validation(error, model)}. Mend them, or call the case "
                    "`malformed_record`."
                )


def _verdict(case: Case, member: str, expected: Expectation, score: Score) -> Iterator[str]:
    if not expected.met_by(score):
        yield (
            f"`{case.grader}`, {case.kind}{member} ({case.why}): expected {expected.text}, got "
            f"{_told(score)}. {expected.fix}."
        )


def _told(score: Score) -> str:
    said = f"graded {score.value:g}" if score.value is not None else score.status
    fault = f", fault {score.fault}" if score.fault else ""
    return f"{said}{fault} ({score.reason or 'no reason given'})"


def _differences(case: Case, member: str, scores: Sequence[Score]) -> Iterator[str]:
    first = _lasting(scores[0])
    advice = (
        "Keep no state between calls and draw randomness from the task's digest, or say "
        "`deterministic=False` on the card."
    )
    for how, score in zip(("the second time", "beside itself"), scores[1:], strict=True):
        other = _lasting(score)
        for name in (each.name for each in fields(Score)):
            if getattr(first, name) != getattr(other, name):
                yield (
                    f"`{case.grader}`{member} gave another Score {how}: {name} was "
                    f"{getattr(first, name)!r}, then {getattr(other, name)!r}. {advice}"
                )
                break


def _lasting(score: Score) -> Score:
    """Return ``score`` without what differs between runs: seconds, and the trace of a failure."""
    evidence = score.evidence if score.status == "graded" else EMPTY
    return replace(score, seconds=0.0, evidence=evidence)


def _missing_kinds(
    seen: Mapping[str, set[Kind]], waive: Mapping[tuple[str, Kind], str]
) -> Iterator[str]:
    for grader, kinds in sorted(seen.items()):
        for kind in DEMANDED:
            if kind not in kinds and not waive.get((grader, kind)):
                yield (
                    f"`{grader}` has no {kind} case. Add a line with its kind, or waive it with a "
                    f'reason: `waive={{("{grader}", "{kind}"): "..."}}`.'
                )
    for grader, kind in waive:
        if kind in seen.get(grader, ()) or grader not in seen or kind not in DEMANDED:
            yield f"`waive` names `{grader}`, {kind}, and nothing is missing there: leave it out."
