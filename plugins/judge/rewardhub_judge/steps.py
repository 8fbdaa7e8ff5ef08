"""`judge/steps` and `judge/turns`: each step of an attempt is sound, neutral or unsound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from rewardhub import Grader, Judge, JudgeReply, Score, Trajectory
from rewardhub_judge.asking import NEUTRAL, NoVerdict, Question
from rewardhub_judge.fencing import Fences
from rewardhub_judge.judged import Judged, Sheet, fenced_task, task_texts
from rewardhub_judge.pieces import Piece, TextField, Unit, pieces_of, turns_with_calls
from rewardhub_judge.verdicts import (
    JudgeVerdict,
    MalformedVerdictError,
    parse_verdict,
    schema_of,
)

__all__ = ["Steps", "Turns"]

Soundness: TypeAlias = Literal["sound", "neutral", "unsound"]


class PieceVerdict(JudgeVerdict):
    """The verdict on one piece."""

    piece: int
    reason: str
    verdict: Soundness


class PiecesVerdict(JudgeVerdict):
    """The verdicts on all pieces that were asked about, in order."""

    pieces: tuple[PieceVerdict, ...]


class StepsBase(Judged, Grader):
    """The base of the graders that ask about each step.

    A sound step counts 1, an unsound one 0, and a neutral one, which says nothing that could be
    wrong, `neutral`. A long attempt is asked about in windows of `window` pieces, each question
    showing all that came before; nothing that the policy wrote is cut. Metrics: ``sound``,
    ``neutral`` and ``unsound``, and ``first_unsound``, the number of the first unsound piece from
    1, if there is one.
    """

    pack_template: ClassVar[str] = "steps"
    variables: ClassVar[frozenset[str]] = frozenset(
        {"before", "first", "last", "mark", "pieces", "task"}
    )

    rule: Literal["mean", "min", "first_error"] = "mean"
    """What makes the Score's value: the ``mean`` or the ``min`` of the values, or ``first_error``:
    the share of the pieces that come before the first unsound one."""
    neutral: float | None = Field(default=None, ge=0, le=1)
    """What a neutral step counts; null: it is left out, so that filling pays nothing. An attempt
    of neutral steps only is then worth 0."""
    window: int = Field(default=20, ge=1)
    """About how many pieces one question asks, at most."""

    def pieces(self, trajectory: Trajectory) -> list[Piece]:
        """Return what gets a value each."""
        raise NotImplementedError

    @property
    def field(self) -> TextField:
        """The field that the spans of the pieces are of."""
        return "text"

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        """Ask about each piece."""
        task = task_texts(trajectory)
        too_long = self.too_long(task)
        if too_long is not None:
            return too_long
        pieces = self.pieces(trajectory)
        whole = "\n\n".join(piece.own for piece in pieces)
        sheet = self.sheet(judge, whole)
        fault = self.fault_of(whole, sheet)
        if fault:
            return sheet.score(0.0, fault)
        starts = range(0, len(pieces), self.window)
        questions = [self._question(task, pieces, start) for start in starts]
        got = await self._asking.verdicts(judge, questions, sheet.spending)
        if isinstance(got, NoVerdict):
            return sheet.without(got)
        return self._scored(pieces, [verdict for each in got for verdict in each], sheet)

    def _question(
        self, task: Sequence[str], pieces: Sequence[Piece], start: int, control: bool = False
    ) -> Question[tuple[PieceVerdict, ...]]:
        end = min(start + self.window, len(pieces))
        parts = [piece.parts for piece in pieces[:end]]
        fences = Fences([*task, *(text for piece in parts for _, text in piece)])
        numbered = [
            "\n".join(fences.around(f"{what}piece {n}", text) for what, text in piece)
            for n, piece in enumerate(parts, 1)
        ]
        messages = self._template.messages(
            {
                "mark": fences.mark,
                "task": fenced_task(task, fences),
                "before": numbered[:start],
                "pieces": numbered[start:],
                "first": start + 1,
                "last": end,
            }
        )
        neutral = [Piece(0, NEUTRAL)]
        return Question(
            messages,
            schema_of(PiecesVerdict),
            partial(_read, range(start + 1, end + 1)),
            None if control else lambda: self._question(task, neutral, 0, control=True),
        )

    def _scored(
        self, pieces: Sequence[Piece], verdicts: Sequence[PieceVerdict], sheet: Sheet
    ) -> Score:
        worth: Mapping[Soundness, float | None] = {
            "sound": 1.0,
            "neutral": self.neutral,
            "unsound": 0.0,
        }
        values = [worth[each.verdict] for each in verdicts]
        counts = Counter(each.verdict for each in verdicts)
        first = next((each for each in verdicts if each.verdict == "unsound"), None)
        known = [value for value in values if value is not None]
        if self.rule == "first_error":
            value = 1.0 if first is None else (first.piece - 1) / len(pieces)
            value = value if known else 0.0
        elif self.rule == "min":
            value = min(known, default=0.0)
        else:
            value = sum(known) / len(known) if known else 0.0
        reason = f"{counts['sound']} of {len(pieces)} pieces are sound"
        if first is not None:
            reason += f"; the first that is not is {first.piece}: {first.reason}"
        metrics = {name: float(counts[name]) for name in worth}
        return sheet.score(
            value,
            reason,
            metrics=metrics | ({} if first is None else {"first_unsound": float(first.piece)}),
            evidence={"verdict": [each.model_dump() for each in verdicts]},
            step_values=[
                piece.valued(value, self.field, f"{verdict.verdict}: {verdict.reason}")
                for piece, value, verdict in zip(pieces, values, verdicts, strict=True)
            ],
        )


class Steps(StepsBase):
    """How many steps of an attempt a judge finds sound, each with a value and its span.

    Sound counts 1, unsound 0, and neutral `neutral`. A long attempt is asked about in windows of
    `window` pieces, each question showing all that came before; nothing is cut. Metrics: ``sound``,
    ``neutral``, ``unsound``, and ``first_unsound``, the number of the first unsound piece.
    """

    unit: Unit = "paragraph"
    """What gets a value: each ``paragraph`` of a turn (blank lines part them, outside of code and
    display math), or each ``turn`` as a whole."""
    of: TextField = "text"
    """Which field of a turn is judged: ``text``, or ``reasoning``."""

    def pieces(self, trajectory: Trajectory) -> list[Piece]:
        """Return the paragraphs, or the turns."""
        return pieces_of(trajectory, self.unit, self.of)

    @property
    def field(self) -> TextField:
        """The field that is judged."""
        return self.of


class Turns(StepsBase):
    """How many turns of an agent a judge finds sound, with their calls and what came back.

    As `judge/steps`, over whole turns. What tools returned is shown and not judged: it is none of
    the policy's text, so no limit and no guard holds for it, and of a long one both ends are shown.
    """

    observation: int = Field(default=2_000, ge=2)
    """How many characters of what a tool returned are shown: its two ends, and how much is left
    out between them."""

    def pieces(self, trajectory: Trajectory) -> list[Piece]:
        """Return the turns that say or call something."""
        return turns_with_calls(trajectory, self.observation)


def _read(numbers: range, reply: JudgeReply) -> tuple[PieceVerdict, ...]:
    verdict = parse_verdict(reply.text, PiecesVerdict)
    said = [each.piece for each in verdict.pieces]
    if said == list(numbers):
        return verdict.pieces
    asked = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
    missing = [str(number) for number in numbers if number not in said]
    extra = [str(number) for number in dict.fromkeys(said) if number not in numbers]
    twice = [str(number) for number in dict.fromkeys(said) if said.count(number) > 1]
    problems = [
        f"{what}: {', '.join(which[:20])}"
        for what, which in (("missing", missing), ("not asked about", extra), ("twice", twice))
        if which
    ]
    raise MalformedVerdictError(
        f"each of the pieces {asked} has one entry, in order; {'; '.join(problems) or 'disorder'}"
    )
