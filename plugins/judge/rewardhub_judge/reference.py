"""`judge/reference`: does the final answer agree with the reference?"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field

from rewardhub import Grader, Judge, JudgeReply, Score, Trajectory
from rewardhub_judge.asking import NEUTRAL, NoVerdict, Question, UnfitJudgeError
from rewardhub_judge.expectation import LOGPROBS, Expectation, expectation_of
from rewardhub_judge.fencing import Fences
from rewardhub_judge.judged import Judged, Sheet, fenced_task, task_texts
from rewardhub_judge.verdicts import JudgeVerdict, parse_verdict, schema_of

__all__ = ["Reference"]

Agreement: TypeAlias = Literal["agrees", "partly", "contradicts", "no answer"]
_MENU: tuple[Agreement, ...] = get_args(Agreement)


class ReferenceVerdict(JudgeVerdict):
    """How an answer stands to the reference, after the reason."""

    reason: str
    verdict: Agreement


class Reference(Judged, Grader):
    """Whether the final answer says what the reference says.

    ``agrees`` counts 1, ``partly`` (right as far as it goes, and something is missing) `partly`,
    ``contradicts`` and ``no answer`` 0. A task without a reference abstains.
    """

    pack_template: ClassVar[str] = "reference"
    variables: ClassVar[frozenset[str]] = frozenset({"answer", "mark", "reference", "task"})

    partly: float = Field(default=0.5, ge=0, le=1)
    """What an answer counts that is right as far as it goes."""
    match_first: bool = True
    """Whether an answer equal to the reference, apart from case, white space and a full stop at its
    end, gets 1 without asking."""
    expectation: bool = False
    """Whether the value is the expectation over the log-probabilities of the menu, which is finer
    than the likeliest verdict."""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        """Compare, and ask where the texts differ."""
        reference = _text_of(trajectory.task.reference)
        if not reference.strip():
            return Score.abstain("the task has no reference")
        task = task_texts(trajectory)
        answer = trajectory.final_text
        too_long = self.too_long([*task, reference])
        if too_long is not None:
            return too_long
        sheet = self.sheet(judge, answer)
        if self.match_first and answer.strip() and _plain(answer) == _plain(reference):
            return sheet.score(1.0, "the answer is the reference")
        fault = self.fault_of(answer, sheet)
        if fault:
            return sheet.score(0.0, fault)
        question = self._question(task, reference, answer)
        try:
            got = await self._asking.verdict(judge, question, sheet.spending)
        except UnfitJudgeError as error:
            return sheet.fail(str(error))
        return sheet.without(got) if isinstance(got, NoVerdict) else self._scored(*got, sheet)

    def _question(
        self, task: Sequence[str], reference: str, answer: str, control: bool = False
    ) -> Question[tuple[ReferenceVerdict, Expectation | None]]:
        fences = Fences([*task, reference, answer])
        messages = self._template.messages(
            {
                "mark": fences.mark,
                "task": fenced_task(task, fences),
                "reference": fences.around("reference", reference),
                "answer": fences.around("answer", answer),
            }
        )
        return Question(
            messages,
            schema_of(ReferenceVerdict),
            partial(_read, self.expectation),
            None if control else lambda: self._question(task, reference, NEUTRAL, control=True),
            LOGPROBS if self.expectation else 0,
        )

    def _scored(
        self, verdict: ReferenceVerdict, expected: Expectation | None, sheet: Sheet
    ) -> Score:
        values: Mapping[str, float] = {"agrees": 1.0, "partly": self.partly}
        value = values.get(verdict.verdict, 0.0)
        metrics: dict[str, float] = {}
        if expected is not None:
            value = expected.mean([values.get(each, 0.0) for each in _MENU])
            metrics["outside"] = expected.outside
        return sheet.score(
            value,
            f"{verdict.verdict}: {verdict.reason}",
            metrics=metrics,
            evidence={"verdict": verdict.model_dump()},
        )


def _read(with_expectation: bool, reply: JudgeReply) -> tuple[ReferenceVerdict, Expectation | None]:
    verdict = parse_verdict(reply.text, ReferenceVerdict)
    return verdict, expectation_of(reply, _MENU) if with_expectation else None


def _text_of(reference: Any) -> str:
    if reference is None or isinstance(reference, str):
        return reference or ""
    return json.dumps(_plain_json(reference), ensure_ascii=False)


def _plain_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_json(item) for key, item in value.items()}
    return [_plain_json(item) for item in value] if isinstance(value, tuple | list) else value


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).removesuffix(".").rstrip()
