"""`judge/rank`: the attempts of a group are put in order, all at once."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

from rewardhub import Judge, JudgeReply, Score, Trajectory
from rewardhub_judge.asking import NEUTRAL, NoVerdict, Question, Spending
from rewardhub_judge.comparing import Bout, Members, Pair, all_pairs
from rewardhub_judge.fencing import Fences
from rewardhub_judge.judged import fenced_task, task_texts
from rewardhub_judge.pairwise import Comparing
from rewardhub_judge.verdicts import (
    JudgeVerdict,
    MalformedVerdictError,
    parse_verdict,
    schema_of,
)

__all__ = ["Rank"]


class RankVerdict(JudgeVerdict):
    """The numbers of the answers from the best to the worst, after the reason."""

    reason: str
    ranking: tuple[int, ...]


class Rank(Comparing):
    """The win rate of each attempt over the others of its group, from two rankings of all.

    The judge ranks all answers in an order that is drawn from the task, and again in the reverse
    order. A pair that both rankings put alike is a win, any other is a tie. That takes 2 questions
    instead of the n(n - 1) of `judge/pairwise`, and a judge with a larger eye. Where no ranking can
    be got on these answers, they are compared in pairs, by the rules of `judge/pairwise`. Else the
    rules are the same: equal texts tie, an answer with a fault of its own is worth 0, one without
    others 0.5, and usage is shared out.
    """

    pack_template: ClassVar[str] = "rank"
    variables: ClassVar[frozenset[str]] = frozenset({"answers", "mark", "question", "task"})

    @property
    def identity(self) -> Mapping[str, Any]:
        """Both prompts, and the patterns of the injection guard."""
        return {**super().identity, "pair_template": self.pair_template.identity}

    async def grade_group(self, trajectories: Sequence[Trajectory], judge: Judge) -> list[Score]:
        """Rank the members."""
        task = task_texts(trajectories[0])
        too_long = self.too_long(task)
        if too_long is not None:
            return [too_long] * len(trajectories)
        members = self.members(trajectories, judge)
        pairs = all_pairs(members.compared)
        return members.scores(pairs, await self._ranked(judge, task, members))

    async def _ranked(
        self, judge: Judge, task: Sequence[str], members: Members
    ) -> dict[Pair, Bout]:
        texts = members.texts
        pairs = list(combinations(range(len(texts)), 2))
        if not pairs:
            return {}
        order = _drawn_order(len(texts), task)
        orders = (order, order[::-1])
        spending = Spending()
        questions = [self._list(task, texts, each) for each in orders]
        got = await self._asking.verdicts(judge, questions, spending)
        if not isinstance(got, NoVerdict):
            bouts = _agreed(pairs, got, orders)
        elif got.control:
            broken = f"the judge ranks no answers, not even neutral ones: {got.control}"
            bouts = {pair: Bout(broken=broken) for pair in pairs}
        else:
            bouts = await self.bouts(judge, task, texts, pairs)
        for bout in bouts.values():
            bout.spending.take(spending, 1.0 / len(pairs))
        return bouts

    def _list(
        self, task: Sequence[str], texts: Sequence[str], order: Sequence[int]
    ) -> Question[RankVerdict]:
        shown = [texts[place] for place in order]
        fences = Fences([*task, *shown])
        messages = self._template.messages(
            {
                "mark": fences.mark,
                "task": fenced_task(task, fences),
                "question": self.question,
                "answers": [fences.around(f"answer {n}", text) for n, text in enumerate(shown, 1)],
            }
        )
        control = partial(self._list, task, [NEUTRAL] * len(texts), order)
        return Question(messages, schema_of(RankVerdict), partial(_read, len(texts)), control)


def _drawn_order(count: int, task: Sequence[str]) -> list[int]:
    order = list(range(count))
    digest = hashlib.sha256("\0".join(task).encode("utf-8", "replace")).digest()
    random.Random(digest).shuffle(order)  # noqa: S311  # a draw that can be repeated, no secret
    return order


def _read(count: int, reply: JudgeReply) -> RankVerdict:
    verdict = parse_verdict(reply.text, RankVerdict)
    if sorted(verdict.ranking) != list(range(1, count + 1)):
        raise MalformedVerdictError(
            f"`ranking` has each of the numbers 1 to {count} exactly once, and it is "
            f"{list(verdict.ranking[: 2 * count])}"
        )
    return verdict


def _agreed(
    pairs: Sequence[Pair], rankings: Sequence[RankVerdict], orders: Sequence[Sequence[int]]
) -> dict[Pair, Bout]:
    places: list[dict[int, int]] = [
        {order[number - 1]: place for place, number in enumerate(ranking.ranking)}
        for ranking, order in zip(rankings, orders, strict=True)
    ]
    told = " The other way round: ".join(ranking.reason for ranking in rankings)
    bouts: dict[Pair, Bout] = {}
    for one, other in pairs:
        better = {place[one] < place[other] for place in places}
        won = better.pop() if len(better) == 1 else None
        points = (0.5, 0.5) if won is None else (1.0, 0.0) if won else (0.0, 1.0)
        bouts[one, other] = Bout(points, told)
    return bouts
