"""What an attempt answered, in a form in which equal answers are equal texts.

The rule, in this order; the last place counts where there are several:

1. what stands between ``<answer>`` and ``</answer>``;
2. what stands in ``\\boxed{...}``;
3. what follows ``####``, ``answer is`` or ``answer:`` on its line;
4. the whole final text, if it has at most `SHORT` characters.

A longer text without a marked answer is no vote. Then case, white space, Markdown, dollar signs,
quotes and the full stop at the end are taken off, and numbers are written one way (1,000.0 as
1000). Whether an answer is right is the grader's verdict alone; this only says which are equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from rewardhub.records import Task, Trajectory

SHORT = 80
"""A final text of at most this many characters is an answer as a whole."""

TELLING = 3
"""A reference of fewer characters than this may stand in a text by chance."""

_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_SAID = re.compile(r"(?:####|\banswer\s+is\b:?|\banswer\s*:)[ \t]*(\S[^\n]*)", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_JOINED_BEFORE = re.compile(r"\w\Z|\w[.,]\Z")
_JOINED_AFTER = re.compile(r"\w|[.,]\w")
_BOX = "\\boxed{"
_AROUND = " \t\r\n*_`'\"$.,;:!"


def answer_of(text: str) -> str:
    """Return the answer in a final text, normalised; empty where there is none."""
    marked = _tagged(text)
    marked = _boxed(text) if marked is None else marked
    if marked is not None:
        return normal(marked)
    said = _SAID.findall(text)
    if said:
        return normal(said[-1])
    return normal(text) if len(text.strip()) <= SHORT else ""


def _tagged(text: str) -> str | None:
    opened: int | None = None
    found: str | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            found, opened = text[opened : tag.start()], None
    return found


def _boxed(text: str) -> str | None:
    start = text.rfind(_BOX)
    if start < 0:
        return None
    depth = 1
    first = start + len(_BOX)
    for place in range(first, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[first:place]
    return None


def normal(text: str) -> str:
    """Return ``text`` in the form in which equal answers are equal."""
    flat = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_AROUND)
    if not _NUMBER.fullmatch(flat):
        return flat
    whole, _, decimals = flat.replace(",", "").removeprefix("+").partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    decimals = decimals.rstrip("0")
    number = f"{digits.lstrip('0') or '0'}{'.' if decimals else ''}{decimals}"
    return number if number == "0" else sign + number


def references_of(task: Task) -> tuple[str, ...]:
    """Return the right answers that a task names, normalised; none where it names no text."""
    given = task.reference
    many: Sequence[object] = given if isinstance(given, list | tuple) else (given,)
    texts = [str(each) for each in many if isinstance(each, str | int | float)]
    kept = (answer_of(text) or normal(text) for text in texts)
    return tuple(dict.fromkeys(each for each in kept if each))


def reaches(trajectory: Trajectory, answer: str, references: Sequence[str]) -> bool | None:
    """Return whether an attempt names a right answer anywhere, or None where nobody can say.

    It does if it is its answer; or if it stands in what the policy wrote, its reasoning and its
    calls included, unless it is shorter than `TELLING` or stands in the question already.
    """
    if not references:
        return None
    if answer in references:
        return True
    asked = normal("\n".join(message.text for message in trajectory.task.messages))
    telling = [each for each in references if len(each) >= TELLING and not _holds(asked, each)]
    written = [normal(text) for text in _written(trajectory)] if telling else []
    return any(_holds(text, each) for each in telling for text in written)


def _written(trajectory: Trajectory) -> Iterable[str]:
    for step in trajectory.steps:
        yield step.text
        yield step.reasoning or ""
        yield from (call.arguments for call in step.tool_calls)


def _holds(text: str, wanted: str) -> bool:
    """Whether ``wanted`` stands in ``text`` by itself, and not inside of a word or a number."""
    place = text.find(wanted)
    while place >= 0:
        end = place + len(wanted)
        before, after = text[max(0, place - 2) : place], text[end : end + 2]
        if not (_JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after)):
            return True
        place = text.find(wanted, place + 1)
    return False
