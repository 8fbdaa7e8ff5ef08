"""The graders of the pack. Which answer counts is said by the rules of `extract`."""

import re
from fractions import Fraction
from functools import lru_cache

from pydantic import Field

from rewardhub import Grader, Score, TaskError, Trajectory, Workers
from rewardhub_math.equivalence import Settings, Verdict, read, settle
from rewardhub_math.exact import Number, PercentRule, match_numbers
from rewardhub_math.extract import Extracted, boxes, extract, stated
from rewardhub_math.forms import Leaf
from rewardhub_math.symbolic import compare_symbolically
from rewardhub_math.tidy import tidy

_SHOWN = 80


class Equivalent(Grader):
    r"""Full marks for an answer that is mathematically the same as the reference.

    The reference is a bare answer, or a text that states one as an attempt would
    (``\boxed{18}``, ``#### 18``). Strings, numbers and words are settled inline;
    only the rest goes to sympy, in a worker. A reference that cannot be read
    abstains whatever the answer is; an answer that cannot be read gets 0.
    """

    precision: int = Field(default=6, ge=1, le=15)
    """Significant digits to which decimals must agree; exact forms must be equal."""
    allow_set_relation: bool = True
    """Whether ``2 < x < 3`` answers a question whose reference is ``(2, 3)``."""
    strict: bool = True
    """Whether names of variables count; if not, ``f(y)`` answers for ``f(x)``."""

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Compare the answer that counts with the reference."""
        reference = _reference(trajectory)
        extracted = _answer(trajectory)
        verdict = self._compare(extracted.answer or "", reference, workers)
        return _score(verdict, extracted, reference)

    def _compare(self, answer: str, reference: str, workers: Workers) -> Verdict:
        settings = Settings(self.precision, self.allow_set_relation, self.strict)
        settled = settle(read(answer), read(reference), settings)
        if settled is not None:
            return settled
        return workers.call(
            compare_symbolically,
            answer,
            reference,
            **settings._asdict(),
        )


class Numeric(Grader):
    """Full marks for a plain number within a tolerance of the reference.

    Values match if they differ by at most ``absolute``, or by at most
    ``relative`` times the larger of the two. The reference must be a plain
    number: an integer, decimal, fraction, percentage or amount with a unit.
    """

    relative: float = Field(default=1e-6, ge=0, lt=1)
    """Tolerance as a share of the larger value."""
    absolute: float = Field(default=0.0, ge=0)
    """Tolerance in the unit of the numbers."""
    percent: PercentRule = "either"
    """What 50% is without its sign: its share 0.5, its points 50, or either."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Compare the answer that counts with the reference, as numbers."""
        reference = _reference(trajectory)
        wanted = _number(reference)
        if wanted is None:
            raise TaskError(f"the reference {_short(reference)} is not a plain number")
        extracted = _answer(trajectory)
        if extracted.answer is None:
            return Score.of(0, extracted.reason)
        found = _number(extracted.answer)
        if found is None:
            return Score.of(0, f"the answer {_short(extracted.answer)} is not a plain number")
        same = match_numbers(found, wanted, self._agree, self.percent)
        return _score("same" if same else "different", extracted, reference)

    def _agree(self, one: Number, other: Number) -> bool:
        tolerance = max(
            Fraction(self.absolute),
            Fraction(self.relative) * max(abs(one.value), abs(other.value)),
        )
        return abs(one.value - other.value) <= tolerance


_LETTER = re.compile(r"(?:(?:option|choice)\s*)?\(?([A-Za-z])\)?", re.IGNORECASE)
_OPTION = re.compile(
    r"(?:\b(?:option|choice)\s+|(?<![A-Za-z]))(?:\(([A-Z])\)|([A-Z])[).:](?=\s|$)"
    r"|(?<=ption )([A-Z])\b|(?<=hoice )([A-Z])\b)|\*\*\(?([A-Z])\)?[.:]?\*\*",
)


class Choice(Grader):
    """Full marks for the letter of the right option, alone or with its text.

    ``B``, ``(b)``, ``B. Paris``, ``option B`` and ``\\boxed{\\text{(B)}}`` are one
    answer; two letters are none. With a reference such as ``(B) Paris`` the text
    alone is right too.
    """

    letters: str = Field(default="ABCDE", pattern="^[A-Z]+$")
    """The letters of the options."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Compare the chosen letter with the reference's."""
        reference = _reference(trajectory)
        wanted = self._letters(reference)
        if len(wanted) != 1:
            raise TaskError(f"the reference {_short(reference)} is not one of {self.letters}")
        extracted = _answer(trajectory)
        chosen = self._letters(extracted.answer or "")
        text = _OPTION.sub("", tidy(reference), count=1).strip()
        if not chosen and text and tidy(extracted.answer or "").casefold() == text.casefold():
            chosen = wanted
        if not chosen and trajectory.status != "truncated":
            chosen = self._letters(trajectory.final_text.strip().rpartition("\n")[2])
        if len(chosen) != 1:
            several = f"it names {len(chosen)} options" if chosen else "it names no option"
            return Score.of(0, extracted.reason or several)
        return _score("same" if chosen == wanted else "different", extracted, reference)

    def _letters(self, text: str) -> set[str]:
        """The options that ``text`` names."""
        tidied = tidy(text)
        alone = [_LETTER.fullmatch(part.strip()) for part in re.split("[;,]", tidied)]
        if all(alone):
            found = {match[1].upper() for match in alone if match}
        else:
            found = {next(filter(None, match.groups())) for match in _OPTION.finditer(tidied)}
        return found & set(self.letters)


_END = re.compile(r"[\s.$)\]*\\]*")


class BoxedFormat(Grader):
    r"""Full marks for a text with exactly one ``\boxed{}``, closed, not empty, at its end.

    Only punctuation and the ends of formulas may follow the box. Reads no
    reference: whether the answer is right is for another grader.
    """

    at_end: bool = True
    """Whether the box must be the last thing in the text."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Look at the boxes of the final text."""
        text = trajectory.final_text
        found = list(boxes(text))
        if len(found) != 1:
            return Score.of(0, f"there are {len(found)} boxes" if found else "there is no box")
        box = found[0]
        if box.content is None:
            return Score.of(0, "the box is not closed")
        if next(boxes(box.content), None) is not None:
            return Score.of(0, "there is a box in the box")
        if not any(character.isalnum() for character in tidy(box.content)):
            return Score.of(0, "the box is empty")
        if self.at_end and not _END.fullmatch(text, box.end):
            return Score.of(0, "the box is not at the end")
        return Score.of(1, "one closed box at the end" if self.at_end else "one closed box")


def _reference(trajectory: Trajectory) -> str:
    """The answer that the task's reference states.

    Raises:
        TaskError: if the reference is missing, or neither text nor a number.
    """
    reference = trajectory.task.reference
    if isinstance(reference, str):
        return _stated(reference)
    if isinstance(reference, bool) or not isinstance(reference, int | float):
        kind = "missing" if reference is None else f"a {type(reference).__name__}"
        raise TaskError(f"the reference is {kind}; it should be text or a number")
    return str(reference)


# The attempts at one task are graded one after the other.
_stated = lru_cache(maxsize=1024)(stated)


def _answer(trajectory: Trajectory) -> Extracted:
    return extract(trajectory.final_text, cut_off=trajectory.status == "truncated")


def _number(text: str) -> Number | None:
    form = read(text).form
    return form.number if isinstance(form, Leaf) else None


def _score(verdict: Verdict, extracted: Extracted, reference: str) -> Score:
    if verdict == "reference_unreadable":
        problem = read(reference).problem or "it is no mathematics that can be parsed"
        raise TaskError(f"the reference {_short(reference)} cannot be read: {problem}")
    if extracted.answer is None:
        return Score.of(0, extracted.reason)
    answer = _short(extracted.answer)
    if verdict == "answer_unreadable":
        problem = read(extracted.answer).problem or "it is no mathematics that can be parsed"
        return Score.of(0, f"the answer {answer} cannot be read: {problem}")
    same = verdict == "same"
    return Score.of(same, f"the answer {answer} is {'' if same else 'not '}{_short(reference)}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
