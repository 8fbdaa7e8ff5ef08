"""What to train on next, and how often: tasks weighted by how much there is to learn from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rewardhub.doors.labels import Label
from rewardhub.errors import UsageError
from rewardhub.export.difficulty import Difficulty, Prior
from rewardhub.records import Task
from rewardhub.records.base import digest_of, dump_json
from rewardhub.report.gap import need_success
from rewardhub.report.scored import ScoredPair, ScoredRun
from rewardhub.report.shelf import Shelf

TRAINING = frozenset({"", "train", "training"})
"""Splits whose tasks may be trained on. A task of any other split is held out."""

Aside = Literal["held-out", "always", "never", "unjudged", "two-contents", "no-text"]

ASIDE: dict[Aside, str] = {
    "held-out": "its split is not a training split, or a held-out task has the same messages",
    "always": "it surely passes nearly always",
    "never": "it surely passes hardly ever",
    "unjudged": "success is known of none of its attempts",
    "two-contents": "one run has tasks of different content under its id",
    "no-text": "its messages hold more than texts (images, tool calls), which a prompt cannot",
}
"""Why a task is set aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a curriculum is made.

    Attributes:
        prior: of every pass rate.
        keep: the share of an attempt that still counts once a later run is added, in [0, 1].
        stages: how many bands of difficulty there are, of equal width in the pass rate.
        never: a task that surely passes at most this often is set aside.
        always: a task that surely passes at least this often is set aside.
        sure: how probable that must be.
    """

    prior: Prior = field(default_factory=Prior)
    keep: float = 0.5
    stages: int = 3
    never: float = 0.05
    always: float = 0.95
    sure: float = 0.9

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= 1:
            raise UsageError(f"`--keep {self.keep:g}`: what is kept of old attempts is in [0, 1].")
        if self.stages < 1:
            raise UsageError(f"`--stages {self.stages}`: there is at least one stage.")
        if not 0 <= self.never < self.always <= 1:
            raise UsageError(
                f"`--never {self.never:g} --always {self.always:g}`: pass rates lie in [0, 1], "
                "and the first is the lower one."
            )
        if not 0.5 <= self.sure < 1:
            raise UsageError(f"`--sure {self.sure:g}`: a probability in [0.5, 1).")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON."""
        return {
            "prior": [self.prior.a, self.prior.b],
            "keep": self.keep,
            "stages": self.stages,
            "never": self.never,
            "always": self.always,
            "sure": self.sure,
        }


@dataclass(slots=True, kw_only=True)
class Candidate:
    """One task, as far as the runs know it.

    Attributes:
        task: its id; ``domain``: its domain; ``digest``: of the whole task.
        content: the digest without split and metadata: what attempts depend on.
        messages: the digest of its messages.
        run: the number of the run that had it last.
        attempts: how many runs had; ``judged``: with a known success.
        difficulty: what is believed of its pass rate.
        aside: why it is set aside, or None.
    """

    task: str
    domain: str
    digest: str
    content: str
    messages: str
    run: int
    difficulty: Difficulty
    attempts: int = 0
    judged: int = 0
    aside: Aside | None = None

    @property
    def name(self) -> str:
        """What its prompt is kept under."""
        return f"{self.domain}\n{self.task}\n{self.digest}"

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON."""
        return {
            "task": self.task,
            "domain": self.domain,
            "digest": self.digest,
            "attempts": self.attempts,
            "judged": self.judged,
            **self.difficulty.to_json(),
        }


@dataclass(slots=True)
class Curriculum:
    """Every task of some runs, with its place.

    Attributes:
        settings: how it was made.
        runs: the folders and spec digests of the runs, in order.
        stages: candidates by band of difficulty, the easiest band first; a band may be empty.
        aside: candidates that are set aside.
        changed: tasks whose content changed from one run to a later one: begun anew.
    """

    settings: Settings
    runs: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])
    stages: list[list[Candidate]] = field(default_factory=list[list[Candidate]])
    aside: list[Candidate] = field(default_factory=list[Candidate])
    changed: int = 0

    @property
    def weight(self) -> float:
        """The sum of all weights."""
        return math.fsum(each.difficulty.weight for stage in self.stages for each in stage)

    @property
    def reasons(self) -> Counter[str]:
        """Why tasks are set aside -> how many."""
        return Counter(str(each.aside) for each in self.aside)


def make_curriculum(runs: Sequence[ScoredRun], settings: Settings, shelf: Shelf) -> Curriculum:
    """Return the curriculum of some runs.

    Each later run is of a policy that was trained further: before it is added, all that is known
    fades by ``settings.keep``. Attempts whose success is not known tell nothing, and count only
    as attempts.

    Args:
        runs: in the order in which they were made.
        settings: how.
        shelf: takes the prompt of each task, by the `Candidate.name`.

    Raises:
        UsageError: if a run knows no success or comes twice, if an input is not what it was, or
            if no task is left to train on.
    """
    if not runs:
        raise UsageError("A curriculum needs at least one run.")
    made = Curriculum(settings)
    pool = _Pool(settings, shelf)
    for number, run in enumerate(runs):
        if any(run.path.resolve() == path.resolve() for path, _ in made.runs):
            raise UsageError(f"The run `{run.path}` is named twice: each counts once.")
        made.runs.append((run.path, str(run.described.get("digest", ""))))
        pool.fade()
        known = False
        for pair in run.pairs():
            known = known or pair.reward.success is not None
            pool.note(pair, number)
        need_success(run, known=known)
    made.changed = pool.changed
    _place(made, pool)
    return made


@dataclass(slots=True)
class _Pool:
    """The tasks, while the attempts at them come in.

    Attributes:
        candidates: by domain and id.
        held: digests of the messages of tasks that are held out.
        changed: tasks whose content changed from one run to a later one.
    """

    settings: Settings
    shelf: Shelf
    candidates: dict[tuple[str, str], Candidate] = field(
        default_factory=dict[tuple[str, str], Candidate]
    )
    held: set[str] = field(default_factory=set[str])
    changed: int = 0

    def fade(self) -> None:
        """Let all that is known count for less: the policy has been trained on."""
        for each in self.candidates.values():
            each.difficulty = each.difficulty.faded(self.settings.keep)

    def note(self, pair: ScoredPair, number: int) -> None:
        """Take in one attempt of the run with this number."""
        task, success = pair.trajectory.task, pair.reward.success
        candidate = self.candidates.get((task.domain, task.id))
        if candidate is None or candidate.digest != task.digest:
            candidate = self._renewed(candidate, task, number)
        candidate.run = number
        candidate.attempts += 1
        if success is not None:
            candidate.judged += 1
            candidate.difficulty = candidate.difficulty.after(success)

    def _renewed(self, known: Candidate | None, task: Task, number: int) -> Candidate:
        """Return the candidate of a task that is not as it was known."""
        messages = digest_of([message.model_dump(mode="json") for message in task.messages])
        if (task.split or "") not in TRAINING:
            self.held.add(messages)
        asked = task.model_dump(mode="json", exclude={"split", "metadata"}, exclude_none=True)
        content = digest_of(asked)
        if known is not None and known.content == content:
            known.digest = task.digest
        elif known is not None and known.run == number:
            known.aside = "two-contents"
            return known
        else:
            self.changed += known is not None
            known = Candidate(
                task=task.id, domain=task.domain, digest=task.digest, content=content,
                messages=messages, run=number, difficulty=Difficulty(self.settings.prior),
            )  # fmt: skip
            self.candidates[task.domain, task.id] = known
        self._keep_prompt(known, task)
        return known

    def _keep_prompt(self, candidate: Candidate, task: Task) -> None:
        prompt = prompt_of(task)
        if prompt is None:
            candidate.aside = candidate.aside or "no-text"
        elif self.shelf.get(candidate.name) is None:
            row = {"prompt": prompt, "label": Label.of(task).to_text()}
            self.shelf.put(candidate.name, dump_json(row))


def prompt_of(task: Task) -> list[dict[str, str]] | None:
    """Return the messages of a task as a trainer's chat template takes them.

    None where there are none, or where they hold more than texts.
    """
    messages = task.for_policy().messages
    plain = all(
        isinstance(each.content, str) and not each.tool_calls and each.tool_call_id is None
        for each in messages
    )
    if not messages or not plain:
        return None
    return [{"role": each.role, "content": each.text} for each in messages]


def _place(made: Curriculum, pool: _Pool) -> None:
    settings = made.settings
    made.stages = [[] for _ in range(settings.stages)]
    for _, each in sorted(pool.candidates.items()):
        each.aside = _aside(each, pool.held, settings)
        if each.aside is not None:
            made.aside.append(each)
            continue
        band = int((1.0 - each.difficulty.pass_rate) * settings.stages)
        made.stages[min(band, settings.stages - 1)].append(each)
    for stage in made.stages:
        stage.sort(key=lambda each: -each.difficulty.pass_rate)
    if not any(made.stages):
        why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(made.reasons.items()))
        raise UsageError(
            f"No task is left to train on ({why or 'the runs are empty'}). Bring other tasks, or "
            "draw the lines elsewhere: `--never`, `--always`, `--sure`."
        )


def _aside(candidate: Candidate, held: set[str], settings: Settings) -> Aside | None:
    if candidate.messages in held:
        return "held-out"
    if candidate.aside is not None:
        return candidate.aside
    if not candidate.judged:
        return "unjudged"
    difficulty = candidate.difficulty
    if difficulty.below(settings.never) >= settings.sure:
        return "never"
    if 1.0 - difficulty.below(settings.always) >= settings.sure:
        return "always"
    return None
