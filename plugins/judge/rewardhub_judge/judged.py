"""What all graders that ask a judge share: options, what is settled before, Scores with usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import Judge, Options, Score, StepValue, Trajectory
from rewardhub_judge.asking import Asking, NoVerdict, Spending
from rewardhub_judge.fencing import Fences
from rewardhub_judge.guard import Guard, Steering, patterns_digest, steering_in
from rewardhub_judge.prompts import Template, pack_template, template_in

__all__ = ["Judged", "Sheet", "task_texts"]


class Judged(Options):
    """The base of the graders that ask a judge."""

    pack_template: ClassVar[str]
    variables: ClassVar[frozenset[str]]

    template: Path | None = None
    """A file of your own in place of the pack's template: Jinja2, with its version in the first
    line and a block ``user``. Relative paths start at the working directory."""
    guard: Guard = "flag"
    """What is done about a text that tries to steer the judge: ``off``, ``flag`` (noted in the
    Score's evidence and in the metric ``steering``) or ``zero`` (graded 0, and not asked)."""
    max_characters: int = Field(default=50_000, ge=1)
    """How long a graded text may be; a longer one is graded 0. Nothing is cut."""
    max_task_characters: int = Field(default=100_000, ge=1)
    """How long the task (its messages and its reference) may be; with a longer one it abstains."""
    _template: Template = PrivateAttr()
    _asking: Asking = PrivateAttr(default_factory=Asking)

    @model_validator(mode="after")
    def _has_a_template(self) -> Self:
        if self.template is None:
            self._template = pack_template(self.pack_template, self.variables)
        else:
            self._template = template_in(self.template, self.variables)
        return self

    @property
    def identity(self) -> Mapping[str, Any]:
        """The prompt, and the patterns of the injection guard."""
        guard = {} if self.guard == "off" else {"guard": patterns_digest()}
        return {"template": self._template.identity, **guard}

    def sheet(self, judge: Judge, text: str) -> Sheet:
        """Return an empty sheet for the grading of ``text``; one that is too long is not read."""
        read = self.guard != "off" and len(text) <= self.max_characters
        return Sheet(judge, self._template, steering_in(text) if read else ())

    def too_long(self, texts: Sequence[str]) -> Score | None:
        """Return the Score where what the task says is too long to be judged at all."""
        length = sum(map(len, texts))
        if length <= self.max_task_characters:
            return None
        return Score.abstain(
            f"the task alone has {length:,} characters, and `max_task_characters` is "
            f"{self.max_task_characters:,}"
        )

    def fault_of(self, text: str, sheet: Sheet) -> str:
        """Return why a text is graded 0 without asking; empty if it is not."""
        if not text.strip():
            return "the answer is empty"
        if len(text) > self.max_characters:
            return (
                f"the answer has {len(text):,} characters, and at most {self.max_characters:,} "
                "are judged"
            )
        if self.guard == "zero" and sheet.steering:
            first = sheet.steering[0]
            return f"the answer tries to steer the judge ({first.kind}): {first.excerpt}"
        return ""


def task_texts(trajectory: Trajectory) -> list[str]:
    """Return what the task says, one text for each message, with its role where there are more."""
    messages = trajectory.task.messages
    if len(messages) == 1:
        return [messages[0].text]
    return [f"{message.role}: {message.text}" for message in messages]


def fenced_task(texts: Sequence[str], fences: Fences) -> str:
    """Return the task in a fence of its own; empty where it says nothing."""
    told = "\n\n".join(texts)
    return fences.around("task", told) if told.strip() else ""


@dataclass(slots=True)
class Sheet:
    """What is noted while one text is graded: findings, usage, and the Score at the end."""

    judge: Judge
    template: Template
    steering: tuple[Steering, ...] = ()
    spending: Spending = field(default_factory=Spending)

    def score(
        self,
        value: float,
        reason: str,
        *,
        metrics: Mapping[str, float] | None = None,
        evidence: Mapping[str, Any] | None = None,
        step_values: Sequence[StepValue] = (),
    ) -> Score:
        """Return a graded Score with what was noted."""
        return Score.of(
            value,
            reason,
            step_values=step_values,
            metrics={**(metrics or {}), **self._metrics()},
            evidence={**(evidence or {}), **self.evidence()},
            cost=self.spending.cost,
        )

    def fail(self, reason: str, evidence: Mapping[str, Any] | None = None) -> Score:
        """Return the Score of a judge that cannot do it; never the policy's doing."""
        noted = {**(evidence or {}), **self.evidence(), "usage": self.spending.metrics}
        return Score.fail(reason, fault="grader", evidence=noted, cost=self.spending.cost)

    def without(self, nothing: NoVerdict) -> Score:
        """Return the Score where no verdict could be got: 0 if it is the text's doing."""
        evidence: dict[str, Any] = {"no_verdict": True, "tries": list(nothing.tries)}
        if nothing.is_the_answers_doing:
            reason = f"no verdict could be got on this answer: {nothing.problem}"
            return self.score(0.0, reason, evidence=evidence)
        evidence["control"] = nothing.control
        return self.fail(
            f"the judge gives no verdict, and none on a neutral answer either: {nothing.control}",
            evidence,
        )

    def _metrics(self) -> dict[str, float]:
        return {"steering": float(len(self.steering)), **self.spending.metrics}

    def evidence(self) -> dict[str, Any]:
        """Return who judged by which prompt, and what the guard found."""
        noted: dict[str, Any] = {
            "judge": dict(self.judge.identity),
            "template": dict(self.template.identity),
        }
        if self.steering:
            noted["steering"] = [
                {"kind": each.kind, "excerpt": each.excerpt} for each in self.steering
            ]
        return noted
