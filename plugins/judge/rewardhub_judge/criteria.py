"""`judge/criteria`: a list of criteria, each answered with a reason and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from rewardhub import Grader, Judge, JudgeReply, Score, Trajectory
from rewardhub_judge.asking import NEUTRAL, NoVerdict, Question, UnfitJudgeError
from rewardhub_judge.checks import (
    NOT_APPLICABLE,
    Criterion,
    criteria_of,
    fitting,
    range_of,
    shape_of,
    single_shape,
)
from rewardhub_judge.expectation import LOGPROBS, expectation_of
from rewardhub_judge.fencing import Fences
from rewardhub_judge.judged import Judged, Sheet, fenced_task, task_texts
from rewardhub_judge.verdicts import parse_verdict, schema_of

__all__ = ["Criteria"]

_MOST_LEVELS = 9


@dataclass(frozen=True, slots=True)
class _Answer:
    """The verdict on one criterion: what it is worth, or None where it does not apply."""

    value: float | None
    verdict: bool | float | str
    reason: str
    outside: float | None = None


class Criteria(Judged, Grader):
    """The weighted mean of a judge's verdicts on criteria.

    The criteria are the task's (``checks.judge``), or else those of the options. Each is answered
    with a reason and then a verdict. A criterion that does not apply is left out of the mean; one
    of them, at least, always counts. Metrics: one for each criterion that applies, by its name.
    """

    pack_template: ClassVar[str] = "criteria"
    variables: ClassVar[frozenset[str]] = frozenset({"answer", "criteria", "mark", "task"})

    criteria: tuple[Criterion, ...] = ()
    """The criteria of tasks that bring none."""
    together: bool = True
    """Whether one question asks for all criteria; else each has a question of its own, which costs
    more and keeps one verdict from colouring the next."""
    combine: Literal["mean", "points"] = "mean"
    """``mean``: the weighted mean, to which a negated criterion adds its weight where the fault is
    not there. ``points``: a negated criterion takes its weight away where the fault is there and
    adds nothing else; the sum is divided by the weights of the others and held in [0, 1]
    (HealthBench, Arora et al. 2025, arXiv 2505.08775)."""
    expectation: bool = False
    """Whether a verdict is the expectation over the log-probabilities of its menu, which is finer
    than the likeliest one; for binary and ordinal criteria, with ``together: false``."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        fitting(self.criteria)
        if self.expectation and self.together:
            raise ValueError("`expectation` needs `together: false`: a question for each criterion")
        problem = self._problem(self.criteria) if self.criteria else ""
        if problem:
            raise ValueError(problem)
        return self

    def _problem(self, criteria: Sequence[Criterion]) -> str:
        """Return why the options do not go with these criteria; empty if they do."""
        if self.combine == "points" and all(c.negated or c.optional for c in criteria):
            return "`combine: points` needs a criterion that is neither negated nor optional"
        if self.expectation:
            for each in criteria:
                if each.kind == "numeric" or len(each.levels) > _MOST_LEVELS:
                    return (
                        f"`expectation` takes binary criteria and at most {_MOST_LEVELS} levels, "
                        f"and `{each.name or each.question[:40]}` is none of these"
                    )
        return ""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        """Ask for the criteria."""
        criteria = criteria_of(trajectory, self.criteria)
        problem = self._problem(criteria)
        if problem:
            return Score.abstain(f"the task's criteria do not fit: {problem}")
        task = task_texts(trajectory)
        answer = trajectory.final_text
        too_long = self.too_long(task)
        if too_long is not None:
            return too_long
        sheet = self.sheet(judge, answer)
        fault = self.fault_of(answer, sheet)
        if fault:
            return sheet.score(0.0, fault)
        return await self._judged(criteria, task, answer, sheet)

    async def _judged(
        self, criteria: tuple[Criterion, ...], task: Sequence[str], answer: str, sheet: Sheet
    ) -> Score:
        groups = [criteria] if self.together else [(each,) for each in criteria]
        questions = [self._question(group, task, answer) for group in groups]
        try:
            got = await self._asking.verdicts(sheet.judge, questions, sheet.spending)
        except UnfitJudgeError as error:
            return sheet.fail(str(error))
        if isinstance(got, NoVerdict):
            return sheet.without(got)
        answers = [answer for each in got for answer in each]
        return _scored(criteria, answers, self.combine, sheet)

    def _question(
        self,
        criteria: tuple[Criterion, ...],
        task: Sequence[str],
        answer: str,
        control: bool = False,
    ) -> Question[list[_Answer]]:
        fences = Fences([*task, answer])
        shape = shape_of(criteria) if self.together else single_shape(criteria[0])
        messages = self._template.messages(
            {
                "mark": fences.mark,
                "task": fenced_task(task, fences),
                "answer": fences.around("answer", answer),
                "criteria": [_shown(each, alone=not self.together) for each in criteria],
            }
        )
        return Question(
            messages,
            schema_of(shape),
            partial(self._read, criteria),
            None if control else lambda: self._question(criteria, task, NEUTRAL, control=True),
            LOGPROBS if self.expectation else 0,
        )

    def _read(self, criteria: tuple[Criterion, ...], reply: JudgeReply) -> list[_Answer]:
        if self.together:
            said = parse_verdict(reply.text, shape_of(criteria)).model_dump(by_alias=True)
            return [_answer(each, said[each.name]) for each in criteria]
        (criterion,) = criteria
        answer = _answer(criterion, parse_verdict(reply.text, single_shape(criterion)).model_dump())
        if not self.expectation or answer.value is None:
            return [answer]
        expected = expectation_of(reply, criterion.menu)
        verdicts = (False, True) if criterion.kind == "binary" else range_of(criterion.levels)
        value = expected.mean([criterion.value_of(each) for each in verdicts])
        return [_Answer(value, answer.verdict, answer.reason, expected.outside)]


def _answer(criterion: Criterion, said: Mapping[str, Any]) -> _Answer:
    verdict = said["verdict"]
    value = None if verdict == NOT_APPLICABLE else criterion.value_of(verdict)
    return _Answer(value, verdict, said["reason"])


def _shown(criterion: Criterion, *, alone: bool) -> dict[str, Any]:
    """Return a criterion as the template sees it."""
    example = {"binary": "true or false", "ordinal": "a level", "numeric": "a number"}
    return {
        "name": criterion.name,
        "question": criterion.question,
        "kind": criterion.kind,
        "levels": list(criterion.levels),
        "range": [f"{bound:g}" for bound in criterion.range or ()],
        "optional": criterion.optional,
        "verdict": example[criterion.kind],
        "alone": alone,
    }


def _scored(
    criteria: Sequence[Criterion], answers: Sequence[_Answer], combine: str, sheet: Sheet
) -> Score:
    pairs = list(zip(criteria, answers, strict=True))
    counted = [(c, a.value) for c, a in pairs if a.value is not None]
    if combine == "points":
        total = sum(c.weight for c, _ in counted if not c.negated)
        points = sum(c.weight * (v - 1.0 if c.negated else v) for c, v in counted)
    else:
        total = sum(c.weight for c, _ in counted)
        points = sum(c.weight * v for c, v in counted)
    value = min(1.0, max(0.0, points / total))
    lowest = min(counted, key=lambda each: each[1])
    reasons = {c.name: a.reason for c, a in pairs}
    reason = f"{lowest[0].name}: {reasons[lowest[0].name]}" if lowest[1] < 1 else "all criteria met"
    outside = [a.outside for a in answers if a.outside is not None]
    metrics = {c.name: v for c, v in counted}
    return sheet.score(
        value,
        reason,
        metrics=metrics | ({"outside": max(outside)} if outside else {}),
        evidence={
            "verdict": {c.name: {"reason": a.reason, "verdict": a.verdict} for c, a in pairs}
        },
    )
