"""`agent/asks-when-needed`: does the attempt ask the user what only the user can say?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field

from rewardhub import Grader, Score, StepValue, Trajectory
from rewardhub_agent.checks import AsksCheck, check_of
from rewardhub_agent.faults import counted
from rewardhub_agent.finding import tells
from rewardhub_agent.turns import Turn, is_tool, turns_of

_MARK = re.compile(r"\?(?![\w=&/%])|[\uff1f\u061f\u037e]")
"""A question mark that ends something, and not one inside of an address."""
_REQUEST = re.compile(
    r"\b(?:please|kindly|could you|can you|would you|i need|i will need|i'll need)\b"
    r"[^.!?]{0,80}?\b(?:provide|confirm|tell|share|specify|clarify|give|let me know|know)\b"
    r"|\blet me know\b",
    re.IGNORECASE,
)


class AsksWhenNeeded(Grader):
    """The attempt asks for what it lacks before it acts, and for nothing else.

    A turn asks if it makes no call and its text has a question mark or an English request
    ("please provide ..."), or if it calls a tool of ``ask_tools``. It asks for a fact if one of
    the fact's words is in its text. The value is the share of the needed facts that are asked
    for before the first call of a tool that needs them, times ``(1 - penalty)`` for each turn that
    asks in vain: for a fact that the user has given, again for one that was asked for, or, before
    that first call, for nothing that is needed. ("Anything else?" at the end is not in vain.)

    A turn that asks for a needed fact for the first time has value 1, one that asks in vain 0, and
    the first call of a tool that needs them has the share of the facts asked for by then. Other
    turns have none.
    """

    penalty: float = Field(default=0.5, gt=0, le=1)
    """What one question in vain takes of what is left."""
    ask_tools: tuple[str, ...] = ("ask_user", "ask_human", "ask_followup_question")
    """Tools that ask the user."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Go through the questions until the first call that needs the answers, and beyond."""
        check = check_of(trajectory, "asks", AsksCheck)
        asked: set[int] = set()
        values: list[StepValue] = []
        vain = 0
        in_time: float | None = None
        for step, turn in enumerate(turns_of(trajectory)):
            question = self._question(turn)
            if question is not None:
                value, reason = _worth(question, check, asked, acted=in_time is not None)
                if value is not None:
                    vain += not value
                    values.append(StepValue(step, value, reason=reason))
            elif in_time is None and self._acts(turn, check):
                in_time = _share(check, asked)
                values.append(StepValue(step, in_time, reason=_reason(check, asked)))
        share = _share(check, asked) if in_time is None else in_time
        return Score.of(
            share * (1.0 - self.penalty) ** vain,
            f"{_reason(check, asked)}; {counted(vain, 'question')} in vain",
            step_values=values,
            metrics={"questions_in_vain": float(vain)},
        )

    def _question(self, turn: Turn) -> str | None:
        """Return what the turn asks, or None if it asks nothing."""
        asking = [call for call in turn.calls if call.name in self.ask_tools]
        if asking:
            return " ".join([turn.text, *(call.key for call in asking)])
        if turn.calls or not (_MARK.search(turn.text) or _REQUEST.search(turn.text)):
            return None
        return turn.text

    def _acts(self, turn: Turn, check: AsksCheck) -> bool:
        return any(
            not check.before or any(is_tool(call.name, name) for name in check.before)
            for call in turn.calls
        )


def _worth(
    question: str, check: AsksCheck, asked: set[int], *, acted: bool
) -> tuple[float | None, str]:
    """Return the value of a question and why, and note what it asks for."""
    needed = {n for n, words in enumerate(check.needed) if _mentions(question, words)}
    new = needed - asked
    asked |= needed
    known = next((words[0] for words in check.given if _mentions(question, words)), None)
    if known is not None:
        return 0.0, f"it asks for {known}, which the user has given"
    if needed and not new:
        return 0.0, "it asks again"
    if not new:
        return (None, "") if acted else (0.0, "it asks for nothing that is needed")
    return 1.0, f"it asks for {', '.join(check.needed[n][0] for n in sorted(new))}"


def _mentions(text: str, words: Sequence[str]) -> bool:
    return any(tells(text, word) for word in words)


def _share(check: AsksCheck, asked: set[int]) -> float:
    return len(asked) / len(check.needed) if check.needed else 1.0


def _reason(check: AsksCheck, asked: set[int]) -> str:
    if not check.needed:
        return "nothing need be asked"
    return f"{len(asked)} of {counted(len(check.needed), 'needed fact')} asked for"
