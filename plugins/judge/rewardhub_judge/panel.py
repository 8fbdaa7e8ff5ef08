"""`judge/panel`: several judges, each with one vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import Grader, InfrastructureError, Judge, Score, Trajectory
from rewardhub_judge.criteria import Criteria
from rewardhub_judge.reference import Reference

__all__ = ["Panel"]

Asks: TypeAlias = Literal["criteria", "reference"]

_GRADERS: Mapping[Asks, type[Criteria | Reference]] = {
    "criteria": Criteria,
    "reference": Reference,
}


@dataclass(frozen=True, slots=True)
class _Juror:
    """What became of one judge's vote.

    Attributes:
        name: the judge's name in the spec.
        vote: its value; None where it withheld its vote.
        broke: the Score or the error of a juror that broke; None where it voted, or where it gave
            no verdict on this answer alone.
        score: its Score, if there is one.
    """

    name: str
    vote: float | None
    broke: Score | InfrastructureError | None = None
    score: Score | None = None


class Panel(Grader):
    """The common verdict of several judges, all asked what one grader asks.

    A juror that gives no verdict withholds its vote; it is never counted as a 0 of its own.

    - ``median``: the median of the votes, where more than half of the panel voted.
    - ``majority``: 1 if more than half of the *whole* panel votes at least `passes`, else 0. A tie
      of an even panel is no majority.

    Where the withheld votes could still change that, the outcome is open: it is a graded 0 if no
    verdict could be got on this answer though on a neutral one, and else *failed*, with the fault
    of the juror that broke. Metrics: ``votes``, ``agreement`` (the share of pairs of votes that are
    equal), ``steering``, and the usage of all jurors.
    """

    asks: Asks = "criteria"
    """What each juror is asked: what `judge/criteria` or `judge/reference` asks."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of that grader."""
    rule: Literal["median", "majority"] = "median"
    """How the votes are counted."""
    passes: float = Field(default=1.0, gt=0, le=1)
    """For ``majority``: the value from which on a vote is for the answer."""
    _grader: Criteria | Reference = PrivateAttr()

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        self._grader = _GRADERS[self.asks].model_validate(self.options)
        return self

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the grader depends on that is asked."""
        return self._grader.identity

    async def grade(self, trajectory: Trajectory, judges: Mapping[str, Judge]) -> Score:
        """Ask each juror, and count the votes."""
        import asyncio

        names = list(judges)
        results = await asyncio.gather(
            *(self._grader.grade(trajectory, judges[name]) for name in names),
            return_exceptions=True,
        )
        jurors = [_juror(name, result) for name, result in zip(names, results, strict=True)]
        scores = [juror.score for juror in jurors if juror.score is not None]
        abstained = next((score for score in scores if score.status == "abstained"), None)
        if abstained is not None:
            return abstained
        return self._counted(jurors)

    def _counted(self, jurors: Sequence[_Juror]) -> Score:
        votes = [juror.vote for juror in jurors if juror.vote is not None]
        withheld = len(jurors) - len(votes)
        metrics = _metrics(jurors, votes)
        evidence = {"jurors": {juror.name: _told(juror) for juror in jurors}}
        cost = sum(juror.score.cost for juror in jurors if juror.score is not None)
        value = self._value(votes, len(jurors), withheld)
        if value is not None:
            reason = f"{self.rule} of {len(votes)} votes of {len(jurors)}: {value:.3g}"
            return Score.of(value, reason, metrics=metrics, evidence=evidence, cost=cost)
        broke = [juror.broke for juror in jurors if juror.broke is not None]
        if not broke:
            reason = f"no verdict could be got on this answer from {withheld} of {len(jurors)}"
            return Score.of(0.0, reason, metrics=metrics, evidence=evidence, cost=cost)
        error = next((each for each in broke if isinstance(each, InfrastructureError)), None)
        if error is not None:
            raise error  # the engine may try again, and what was answered is kept
        reason = (
            f"{withheld} of {len(jurors)} judges gave no verdict, which leaves the outcome open"
        )
        return Score.fail(reason, fault="grader", evidence=evidence, cost=cost)

    def _value(self, votes: Sequence[float], panel: int, withheld: int) -> float | None:
        """Return what the votes come to; None where those withheld could change it."""
        if self.rule == "median":
            return float(median(votes)) if 2 * len(votes) > panel else None
        for_it = sum(vote >= self.passes for vote in votes)
        if 2 * for_it > panel:
            return 1.0
        return None if 2 * (for_it + withheld) > panel else 0.0


def _juror(name: str, result: Score | BaseException) -> _Juror:
    if isinstance(result, InfrastructureError):
        return _Juror(name, None, broke=result)
    if isinstance(result, BaseException):
        raise result
    if result.status == "failed":
        return _Juror(name, None, broke=result, score=result)
    if result.evidence.get("no_verdict"):
        return _Juror(name, None, score=result)
    return _Juror(name, result.value, score=result)


def _told(juror: _Juror) -> dict[str, Any]:
    if juror.score is None:
        return {"vote": None, "reason": str(juror.broke)}
    told: dict[str, Any] = {"vote": juror.vote, "reason": juror.score.reason}
    return told | {"evidence": dict(juror.score.evidence)}


def _metrics(jurors: Sequence[_Juror], votes: Sequence[float]) -> dict[str, float]:
    pairs = list(combinations(votes, 2))
    alike = sum(abs(one - other) <= 1e-9 for one, other in pairs)
    metrics = {
        "votes": float(len(votes)),
        "agreement": alike / len(pairs) if pairs else 1.0,
        "steering": 0.0,
    }
    for juror in jurors:
        usage = {} if juror.score is None else juror.score.metrics
        metrics["steering"] = max(metrics["steering"], usage.get("steering", 0.0))
        for name in ("judge_calls", "judge_cached", "prompt_tokens", "completion_tokens"):
            metrics[name] = metrics.get(name, 0.0) + usage.get(name, 0.0)
    return metrics
