"""`agent/pass-k` and `robustness/stable`: does it come out the same way every time?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import Grader, GroupGrader, Score, TaskError, Trajectory
from rewardhub_agent.finding import plain_text
from rewardhub_agent.goal_state import GoalState
from rewardhub_agent.outputs import Outputs
from rewardhub_agent.tool_calls import ToolCalls

Outcome: TypeAlias = Literal["recorded", "goal-state", "outputs", "tool-calls", "answers"]

_GRADERS: Mapping[str, type[Grader]] = {
    "goal-state": GoalState,
    "outputs": Outputs,
    "tool-calls": ToolCalls,
}


class OutcomeGrader(GroupGrader):
    """The base of group graders that need to know whether each attempt was right.

    A group grader sees attempts and not their Scores, so it takes the outcome from the record or
    grades it itself.
    """

    outcome: Outcome = "recorded"
    """Where it comes from: ``recorded`` (`key` in the trajectory's metadata), or this pack's
    ``goal-state``, ``outputs`` or ``tool-calls``, of which only full marks are right; or, for
    `robustness/stable` alone, ``answers``: the final texts, of which nobody knows what is right."""
    key: str = "success"
    """For ``recorded``: the name in ``Trajectory.metadata``; dots lead into nested objects. True
    and numbers of at least 1 are right."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the grader that ``outcome`` names."""
    _grader: Grader | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _options_have_a_grader(self) -> Self:
        if self.options and self.outcome not in _GRADERS:
            raise ValueError(f"`options` are for {', '.join(_GRADERS)}, not for {self.outcome}")
        return self

    def model_post_init(self, _context: Any) -> None:
        """Make the grader of the outcome, so that wrong options are found before a run."""
        if self.outcome in _GRADERS:
            self._grader = _GRADERS[self.outcome].model_validate(self.options)

    def is_right(self, trajectory: Trajectory) -> bool | None:
        """Return whether an attempt was right; None if its task or record does not tell."""
        if self._grader is None:
            return _recorded(trajectory.metadata, self.key)
        try:
            verdict: Any = self._grader.grade(trajectory)
        except TaskError:
            return None
        return None if verdict.value is None else verdict.value == 1.0


def _recorded(metadata: Mapping[str, Any], key: str) -> bool | None:
    value: Any = metadata
    for name in key.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value >= 1 if isinstance(value, bool | int | float) else None


class PassK(OutcomeGrader):
    """How sure it is that ``k`` attempts at the task would all be right: pass^k of the group.

    With c of n attempts right the value is C(c, k) / C(n, k), the unbiased estimator of pass^k in
    tau-bench (Yao et al. 2024, arXiv 2406.12045, section 3); its mean over tasks is the reported
    figure. Each member gets it. In a group of fewer than k, k is the size of the group. Members
    whose outcome is not known abstain and are left out. Metrics: ``completion_rate`` (c / n, the
    task completion rate), ``pass_hat_k``, ``pass_at_k`` (Chen et al. 2021, arXiv 2107.03374),
    ``attempts``.
    """

    k: int = Field(default=4, ge=1)
    """How many attempts must all be right."""

    @model_validator(mode="after")
    def _knows_what_is_right(self) -> Self:
        if self.outcome == "answers":
            raise ValueError("pass^k needs an outcome that is right or wrong, not `answers`")
        return self

    def grade_group(self, trajectories: Sequence[Trajectory]) -> Sequence[Score]:
        """Count the attempts that were right."""
        right = [self.is_right(each) for each in trajectories]
        known = [each for each in right if each is not None]
        unknown = _unknown(self.outcome, self.key)
        if not known:
            return [Score.abstain(unknown)] * len(right)
        score = self._score(sum(known), len(known))
        return [Score.abstain(unknown) if each is None else score for each in right]

    def _score(self, right: int, attempts: int) -> Score:
        k = min(self.k, attempts)
        value = comb(right, k) / comb(attempts, k)
        return Score.of(
            value,
            f"{right} of {attempts} attempts right, so pass^{k} is {value:.3g}",
            metrics={
                "completion_rate": right / attempts,
                "pass_hat_k": value,
                "pass_at_k": 1.0 - comb(attempts - right, k) / comb(attempts, k),
                "attempts": float(attempts),
            },
        )


def _unknown(outcome: str, key: str) -> str:
    if outcome == "recorded":
        return f"the row records no `{key}` that is true, false or a number"
    return f"`agent/{outcome}` cannot grade this attempt, so its outcome is not known"


class Stable(OutcomeGrader):
    """How stable the outcome is if the same task is asked in variants.

    Variants share ``task.metadata.variant_of``, the id of the original, which belongs to them.
    With an outcome that is right or wrong, a right attempt gets the share of variants that come
    out right (several attempts at one variant share its vote), and a wrong one gets 0: being
    wrong every time is stable, too, and worth nothing. So no attempt gains by being wrong.

    With ``outcome: answers`` nothing says what is right, and an attempt gets the share of the
    other variants that end in the same final text (without regard to case, spaces and commas).
    Alone it gets 0.5. A policy that answers everything alike is stable by that measure, so use it
    beside an outcome. An empty final text agrees with nothing.

    Metrics: ``agreement`` (the share of pairs of attempts that come out alike), ``variants``.
    """

    def grade_group(self, trajectories: Sequence[Trajectory]) -> Sequence[Score]:
        """Compare the outcomes of the variants."""
        tasks = [each.task.id for each in trajectories]
        if self.outcome == "answers":
            return _alike(tasks, [plain_text(each.final_text).strip() for each in trajectories])
        return _right(
            tasks,
            [self.is_right(each) for each in trajectories],
            _unknown(self.outcome, self.key),
        )


def _right(tasks: Sequence[str], right: Sequence[bool | None], unknown: str) -> list[Score]:
    by_variant: defaultdict[str, list[bool]] = defaultdict(list)
    for task, each in zip(tasks, right, strict=True):
        if each is not None:
            by_variant[task].append(each)
    if not by_variant:
        return [Score.abstain(unknown)] * len(right)
    share = sum(sum(each) / len(each) for each in by_variant.values()) / len(by_variant)
    known = [each for each in right if each is not None]
    metrics = {"agreement": _agreement(known), "variants": float(len(by_variant))}
    told = f"{share:.0%} of {len(by_variant)} variants come out right"
    scores = {
        True: Score.of(share, told, metrics=metrics),
        False: Score.of(0, f"this attempt is wrong; {told}", metrics=metrics),
    }
    return [Score.abstain(unknown) if each is None else scores[each] for each in right]


def _alike(tasks: Sequence[str], answers: Sequence[str]) -> list[Score]:
    by_variant: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for task, answer in zip(tasks, answers, strict=True):
        by_variant[task][answer] += 1
    shares: defaultdict[str, float] = defaultdict(float)
    for counts in by_variant.values():
        for answer, count in counts.items():
            shares[answer] += count / counts.total()
    metrics = {"agreement": _agreement(answers), "variants": float(len(by_variant))}
    others = len(by_variant) - 1
    scores: list[Score] = []
    for task, answer in zip(tasks, answers, strict=True):
        if not answer:
            scores.append(Score.of(0, "there is no final text", metrics=metrics))
        elif not others:
            scores.append(Score.of(0.5, "there is no other variant", metrics=metrics))
        else:
            counts = by_variant[task]
            share = (shares[answer] - counts[answer] / counts.total()) / others
            reason = f"{share:.0%} of {others} other variants end in the same answer"
            scores.append(Score.of(share, reason, metrics=metrics))
    return scores


def _agreement(outcomes: Sequence[object]) -> float:
    """Return the share of pairs that are alike; 1 where there is no pair."""
    pairs = comb(len(outcomes), 2)
    if not pairs:
        return 1.0
    return sum(comb(count, 2) for count in Counter(outcomes).values()) / pairs
