"""The rules of the gap report, as data: the signs, the thresholds, and what each deficit suggests.

A *sign* is something that can be seen in one unsuccessful attempt, and it speaks for one deficit.
A deficit is the verdict where the share of unsuccessful attempts that show a sign of it is surely
above `Thresholds.holds`: the lower end of its interval is. So few attempts give no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rewardhub.errors import UsageError, did_you_mean

Deficit = Literal["usage", "behaviour", "knowledge"]
Verdict = Literal["usage", "behaviour", "knowledge", "mixed", "none", "unknown"]

DEFICITS: tuple[Deficit, ...] = ("usage", "behaviour", "knowledge")


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that is seen in an unsuccessful attempt.

    Attributes:
        deficit: what it speaks for.
        says: what was seen, for a person.
    """

    deficit: Deficit
    says: str


SIGNS: Mapping[str, Sign] = {
    "wrong-format": Sign("usage", "a gate for the format closed"),
    "no-answer": Sign("usage", "it ended without a final text"),
    "truncated": Sign("usage", "it was cut off before its end"),
    "unknown-tool": Sign("usage", "it called a tool that the task does not list"),
    "broken-arguments": Sign("usage", "the arguments of a call were no JSON object"),
    "call-in-text": Sign("usage", "a tool call stands in its text, where nobody could parse it"),
    "invalid-call": Sign("usage", "agent/valid-calls found an invalid call"),
    "unread-input": Sign("usage", "hardly anything of its long input comes up in what it wrote"),
    "loop": Sign("behaviour", "the same call with the same result, or the same text, came often"),
    "same-call-after-error": Sign("behaviour", "a call that failed was made again unchanged"),
    "error-left": Sign("behaviour", "an error was never mended"),
    "stopped-early": Sign("behaviour", "it stopped without acting, or far earlier than successes"),
    "others-succeed": Sign("behaviour", "others of its group succeed: k tries beat one by far"),
    "reached-unused": Sign("behaviour", "the right answer came up in the group; nobody gave it"),
    "beyond-reach": Sign(
        "knowledge", "well-formed and sound, yet no try of the group came near the reference"
    ),
}
"""Name -> sign."""

SUGGESTIONS: Mapping[Verdict, str] = {
    "usage": "Teach the form first: SFT on a few well-formed attempts, or a format gate in the "
    "reward.",
    "behaviour": "It can do it, but not reliably: RL on these tasks, or preference pairs of its "
    "own successful and unsuccessful attempts.",
    "knowledge": "No try comes near, so RL has nothing to reinforce: SFT on demonstrations, or "
    "easier tasks first.",
    "mixed": "Several deficits: mend usage first, then train behaviour, then teach knowledge; the "
    "list of tasks says which has which.",
    "none": "Every attempt succeeded: leave these out of training, keep them for regression.",
    "unknown": "Sample more attempts for each task (8 or more), or look at examples by hand.",
}
"""Verdict -> what it suggests."""

SIGN_SUGGESTIONS: Mapping[str, str] = {
    "truncated": "Give a longer budget of tokens or steps, or put a cost on length.",
    "unread-input": "Check that the input fits the context; train on long inputs.",
    "unknown-tool": "Check that the chat template shows the policy its tools.",
    "broken-arguments": "Check the tool-call format of the chat template.",
    "call-in-text": "Check the tool-call parser: it may not be the one of this model.",
}
"""Sign -> what it suggests besides, where it is common."""


class Thresholds(BaseModel):
    """Where the rules draw their lines; each may be set by ``--set NAME=VALUE``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    holds: float = Field(default=0.3, gt=0, lt=1)
    """A deficit holds where the lower end of the interval of its share is at least this."""
    least: int = Field(default=3, ge=1)
    """Verdicts need this many unsuccessful attempts of a task, or tasks of a domain with some."""
    much_better: float = Field(default=0.3, gt=0, le=1)
    """How far pass@k over all attempts must lie above pass@1 for others' success to be a sign."""
    beyond_after: int = Field(default=8, ge=1)
    """From this many judged attempts on, a task without any success is beyond reach."""
    loop_calls: int = Field(default=3, ge=2)
    """So often the same call with the same result, or the same text, is a loop."""
    early: float = Field(default=0.5, gt=0, le=1)
    """Early is an attempt of at most this share of the steps of its shortest successful sibling."""
    long_input: int = Field(default=8000, ge=1)
    """An input of at least this many characters is long."""
    read_share: float = Field(default=0.01, ge=0, le=1)
    """A long input of which less than this share comes up is unread."""
    format_gates: str = "format|schema|parse|syntax|valid"
    """A gate is one for the format if its name holds one of these words (split by ``|``), or if its
    graders are of the pack ``rules``."""


def thresholds_of(settings: Iterable[str]) -> Thresholds:
    """Return the thresholds that ``NAME=VALUE`` texts ask for.

    Raises:
        UsageError: for a name that is none, or a value that it cannot have.
    """
    given: dict[str, Any] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if name not in Thresholds.model_fields or not equals:
            known = ", ".join(f"`{field}`" for field in Thresholds.model_fields)
            hint = did_you_mean(name, Thresholds.model_fields) or f" Known: {known}."
            raise UsageError(f"`--set {each}`: write NAME=VALUE with a threshold's name.{hint}")
        given[name] = value
    try:
        return Thresholds.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"`--set {first['loc'][0]}={first['input']}`: {first['msg']}.") from None
