"""`judge/pairwise`: the attempts of a group meet in pairs, each pair in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from rewardhub import GroupGrader, Judge, JudgeReply, Score, Trajectory
from rewardhub_judge.asking import NEUTRAL, NoVerdict, Question, Spending, together
from rewardhub_judge.comparing import Bout, Members, Pair, all_pairs, some_pairs
from rewardhub_judge.fencing import Fences
from rewardhub_judge.judged import Judged, fenced_task, task_texts
from rewardhub_judge.prompts import Template, pack_template
from rewardhub_judge.verdicts import JudgeVerdict, parse_verdict, schema_of

__all__ = ["QUESTION", "Comparing", "Pairwise"]

Winner: TypeAlias = Literal["first", "second", "tie"]

_WON: Mapping[Winner, str] = {"first": "won", "second": "lost", "tie": "tied"}
_LOST: Mapping[Winner, str] = {"first": "lost", "second": "won", "tie": "tied"}
"""What a winner means for the answer that is shown first, and for the one that is shown second."""

QUESTION = (
    "Which answer does what the task asks better? What is right comes before what is complete, and "
    "that before how it is written."
)
_VARIABLES = frozenset({"first", "mark", "question", "second", "task"})


class PairVerdict(JudgeVerdict):
    """Which of two answers is better, after the reason."""

    reason: str
    winner: Winner


class Comparing(Judged, GroupGrader):
    """The base of the graders that compare the attempts of a group."""

    question: str = Field(default=QUESTION, min_length=1)
    """What makes one answer better than another."""

    def members(self, trajectories: Sequence[Trajectory], judge: Judge) -> Members:
        """Return the members, those among them that are worth 0 by themselves marked."""
        texts = [each.final_text for each in trajectories]
        sheets = [self.sheet(judge, text) for text in texts]
        faults = [self.fault_of(text, sheet) for text, sheet in zip(texts, sheets, strict=True)]
        return Members(texts, faults, sheets)

    @property
    def pair_template(self) -> Template:
        """The prompt for two answers."""
        return pack_template("pairwise", _VARIABLES)

    async def bouts(
        self, judge: Judge, task: Sequence[str], texts: Sequence[str], pairs: Sequence[Pair]
    ) -> dict[Pair, Bout]:
        """Return the bout of each pair of texts."""
        asked = list(dict.fromkeys(pairs))
        done = await together(self._bout(judge, task, texts[a], texts[b]) for a, b in asked)
        return dict(zip(asked, done, strict=True))

    async def _bout(self, judge: Judge, task: Sequence[str], one: str, other: str) -> Bout:
        spending = Spending()
        questions = [self._pair(task, one, other), self._pair(task, other, one)]
        got = await self._asking.verdicts(judge, questions, spending)
        if isinstance(got, NoVerdict):
            return await self._spoiled(judge, task, (one, other), got, spending)
        forth, back = got
        told = f"in this order {forth.winner}: {forth.reason} The other way round {back.winner}: "
        told += back.reason
        points = {("first", "second"): (1.0, 0.0), ("second", "first"): (0.0, 1.0)}
        agreed = points.get((forth.winner, back.winner), (0.5, 0.5))
        orders = (
            {"as_first": _WON[forth.winner], "as_second": _LOST[back.winner]},
            {"as_first": _WON[back.winner], "as_second": _LOST[forth.winner]},
        )
        return Bout(agreed, told, orders, spending=spending)

    async def _spoiled(
        self,
        judge: Judge,
        task: Sequence[str],
        pair: tuple[str, str],
        nothing: NoVerdict,
        spending: Spending,
    ) -> Bout:
        """Return the bout of two answers on which no verdict could be got.

        Two neutral answers got one, so it is the doing of these. Which of them did it is told by
        the same request with the neutral answer in place of each.
        """
        if nothing.control:
            broken = "the judge compares no answers, not even two neutral ones: "
            return Bout(broken=broken + nothing.control, spending=spending)
        one, other = pair
        mended = [
            not await self._asking.control(judge, self._pair(task, *each), spending)
            for each in ((NEUTRAL, other), (one, NEUTRAL))
        ]
        if mended[0] == mended[1] and mended[0]:
            # Only both together are too much for the judge: the longer one takes more of the room.
            longer = len(one) - len(other)
            points = (0.5, 0.5) if not longer else (0.0, 1.0) if longer > 0 else (1.0, 0.0)
        else:
            points = (float(mended[1]), float(mended[0]))
        told = f"no verdict could be got on this pair: {nothing.problem}"
        return Bout(points, told, spending=spending)

    def _pair(self, task: Sequence[str], first: str, second: str) -> Question[PairVerdict]:
        fences = Fences([*task, first, second])
        messages = self.pair_template.messages(
            {
                "mark": fences.mark,
                "task": fenced_task(task, fences),
                "question": self.question,
                "first": fences.around("first answer", first),
                "second": fences.around("second answer", second),
            }
        )
        control = partial(self._pair, task, NEUTRAL, NEUTRAL)
        return Question(messages, schema_of(PairVerdict), _read, control)


def _read(reply: JudgeReply) -> PairVerdict:
    return parse_verdict(reply.text, PairVerdict)


class Pairwise(Comparing):
    """The win rate of each attempt over the other attempts of its group, judged in pairs.

    Each pair is asked about in both orders; where the two verdicts do not name the same answer, it
    is a tie, which counts 0.5. Equal texts tie without asking. An answer that is empty, too long or
    steering is worth 0 and loses to all others. An attempt without others is worth 0.5. Usage is
    shared out: half of a pair's to each side. Metrics: ``won``, ``tied``, ``bouts``.
    """

    pack_template: ClassVar[str] = "pairwise"
    variables: ClassVar[frozenset[str]] = _VARIABLES

    opponents: int | None = Field(default=None, ge=1)
    """How many others each attempt meets, in a round robin that is drawn from the task; null: all.
    All pairs of n attempts take n(n - 1) questions."""

    @property
    def pair_template(self) -> Template:
        """The prompt, which may be the user's own."""
        return self._template

    async def grade_group(self, trajectories: Sequence[Trajectory], judge: Judge) -> list[Score]:
        """Compare the members."""
        task = task_texts(trajectories[0])
        too_long = self.too_long(task)
        if too_long is not None:
            return [too_long] * len(trajectories)
        members = self.members(trajectories, judge)
        if self.opponents is None:
            pairs = all_pairs(members.compared)
        else:
            pairs = some_pairs(members.compared, self.opponents, task)
        texts = [each for each in map(members.text_pair, pairs) if each is not None]
        return members.scores(pairs, await self.bouts(judge, task, members.texts, texts))
