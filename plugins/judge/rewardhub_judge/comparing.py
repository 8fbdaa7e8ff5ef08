"""What `judge/pairwise` and `judge/rank` share: bouts between answers, and win rates."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from rewardhub import Score
from rewardhub_judge.asking import Spending
from rewardhub_judge.judged import Sheet

__all__ = ["Bout", "Members", "all_pairs", "some_pairs"]

Pair = tuple[int, int]


@dataclass(slots=True)
class Bout:
    """One comparison of two different answers.

    Attributes:
        points: of the first and of the second: 1 and 0, or 0.5 each for a tie; 0 and 0 where both
            spoiled it.
        told: what the judge said, or why the points are what they are.
        orders: what became of the first and of the second, shown first (``as_first``) and shown
            second (``as_second``); empty where no verdicts tell.
        broken: why the judge could give no verdict, which is nobody's doing; then no points count.
        spending: what it took.
    """

    points: tuple[float, float] = (0.5, 0.5)
    told: str = ""
    orders: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    broken: str = ""
    spending: Spending = field(default_factory=Spending)


class Members:
    """The members of a group: their texts, and what is settled without asking.

    A member with a fault of its own (empty, too long, steering) is worth 0, and each of the others
    beats it. Members with equal texts tie, and share the bouts of their text.

    Args:
        texts: the final texts, in order.
        faults: why a member is worth 0; empty for those that are compared.
        sheets: one for each member.

    Attributes:
        texts: the different texts of the members that are compared.
    """

    def __init__(
        self, texts: Sequence[str], faults: Sequence[str], sheets: Sequence[Sheet]
    ) -> None:
        self._faults = faults
        self._sheets = sheets
        compared = [text.strip() for text, fault in zip(texts, faults, strict=True) if not fault]
        self.texts = list(dict.fromkeys(compared))
        self._text_of = [
            None if fault else self.texts.index(text.strip())
            for text, fault in zip(texts, faults, strict=True)
        ]
        self.compared = [i for i, text in enumerate(self._text_of) if text is not None]

    def text_pair(self, pair: Pair) -> Pair | None:
        """Return the texts of two members that are compared, the lower one first; None if equal."""
        first, second = (self._text_of[i] for i in pair)
        assert first is not None
        assert second is not None
        return None if first == second else (min(first, second), max(first, second))

    def scores(self, pairs: Sequence[Pair], bouts: Mapping[Pair, Bout]) -> list[Score]:
        """Return the Scores: the win rate of each member over those it met in ``pairs``."""
        self._share_spending(bouts)
        return [self._score(member, pairs, bouts) for member in range(len(self._faults))]

    def _share_spending(self, bouts: Mapping[Pair, Bout]) -> None:
        for pair, bout in bouts.items():
            for text in pair:
                owners = [i for i, each in enumerate(self._text_of) if each == text]
                for owner in owners:
                    self._sheets[owner].spending.take(bout.spending, 0.5 / len(owners))

    def _score(self, member: int, pairs: Sequence[Pair], bouts: Mapping[Pair, Bout]) -> Score:
        sheet = self._sheets[member]
        if self._faults[member]:
            return sheet.score(0.0, self._faults[member])
        met = [pair for pair in pairs if member in pair]
        points: list[float] = [1.0 for fault in self._faults if fault]
        told: list[dict[str, object]] = []
        for pair in met:
            other = pair[0] if pair[1] == member else pair[1]
            texts = self.text_pair(pair)
            bout = Bout(told="equal texts") if texts is None else bouts[texts]
            if bout.broken:
                return sheet.fail(bout.broken)
            place = 0 if texts is None else texts.index(self._text_of[member] or 0)
            points.append(bout.points[place])
            entry = {"against": other, "points": bout.points[place], "told": bout.told}
            told.append({**entry, **bout.orders[place]})
        if not points:
            return sheet.score(0.5, "there is nothing to compare it with")
        won, tied = points.count(1.0), points.count(0.5)
        return sheet.score(
            sum(points) / len(points),
            f"{won} won, {tied} tied, {len(points) - won - tied} lost of {len(points)}",
            metrics={"won": float(won), "tied": float(tied), "bouts": float(len(points))},
            evidence={"bouts": told},
        )


def all_pairs(members: Sequence[int]) -> list[Pair]:
    """Return each pair of members once."""
    return list(combinations(members, 2))


def some_pairs(members: Sequence[int], opponents: int, seed: Sequence[str]) -> list[Pair]:
    """Return pairs in which each member meets about ``opponents`` others.

    The first rounds of a round robin by the circle method, after a shuffle that is drawn from
    ``seed``. With an odd number of members one sits out in each round; who would sit out in all of
    them meets its neighbour.
    """
    order: list[int | None] = list(members)
    digest = hashlib.sha256("\0".join(seed).encode("utf-8", "replace")).digest()
    random.Random(digest).shuffle(order)  # noqa: S311  # a draw that can be repeated, no secret
    if len(order) % 2:
        order.append(None)
    pairs: list[Pair] = []
    for _ in range(min(opponents, len(order) - 1)):
        half = len(order) // 2
        for one, other in zip(order[:half], reversed(order[half:]), strict=True):
            if one is not None and other is not None:
                pairs.append((min(one, other), max(one, other)))
        order = [order[0], order[-1], *order[1:-1]]
    met = {member for pair in pairs for member in pair}
    for member in members:
        if member not in met and len(members) > 1:
            other = next(each for each in members if each != member)
            pairs.append((min(member, other), max(member, other)))
    return pairs
