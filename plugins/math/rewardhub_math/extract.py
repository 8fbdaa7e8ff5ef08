r"""Which answer counts: written rules that look at the attempt only, never at the reference.

1. The last *statement* counts: a box (``\boxed{}``, ``\fbox{}``) or a marker
   (``the answer is``, ``Answer:``, ``####``, ``A:``, ``<answer>``).
2. Statements that are joined (side by side, by a comma, *and*, *or*, or by
   *alternatively*, *maybe*) are one answer: a list. A list is right only if the
   reference is that list, so hedging wins nothing.
3. A statement that is denied (``is not \boxed{5}``) states nothing. One that is
   taken back (*wait, it should be 6*) counts for what is put in its place, or
   for nothing.
4. Without any statement, a text that is nothing but an answer is the answer;
   else what the last sentence asserts that asserts a value.
5. An answer that is cut off before its end is none: an open box, or the end of
   a truncated attempt.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from rewardhub_math.limits import MAX_CHARS
from rewardhub_math.prose import DENIAL, DENIED_AFTER, HEDGE, has_values, is_bare, last_assertion
from rewardhub_math.tidy import closing_brace


class Extracted(NamedTuple):
    """The text of the answer, or None and the reason why there is none."""

    answer: str | None
    reason: str = ""


class Box(NamedTuple):
    """A box in a text; ``content`` is None if it is not closed."""

    start: int
    end: int
    content: str | None


class _Statement(NamedTuple):
    start: int
    end: int
    answer: str


_BOX = re.compile(r"\\{1,2}f?box(?:ed)?(?![A-Za-z])\s*(?:(\{)|(\\?\w+))?")
_MARKER = re.compile(
    r"<answer>\s*|^[ \t]*#{4}\s*|^[ \t]*A:\s*"
    r"|\banswers?\b[*_\s]*(?:(?:to|for|of|here|then|therefore|thus)\b[^.:\n]{0,60}?)?[*_\s]*"
    r"(?::|=|\b(?:is|are|equals|(?:would|should|must|could|might|may|can|will) be)\b)"
    r"[*_:\s]*(?:(?:that|simply|just|thus|therefore|then|indeed|either)\b\s*)?"
    r"|\b(?:correct|right|best) (?:option|choice) is[*_:\s]*"
    r"|\banswers?\b[*_\s:]*(?=\$|\\\[|\\\(|\n\s*[-+$\\\d(])",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNS_OF_A_STATEMENT = ("box", "nswer", "NSWER", "####", "A:", "a:", "ption", "hoice")
_DISPLAY = re.compile(r"\\\[.*?\\\]|\$\$.*?\$\$", re.DOTALL)
_MARKED_END = re.compile(r"</answer>|[.!?](?=\s|\*|$)|\n|<\||$", re.IGNORECASE)
_ASIDE = re.compile(
    r",?\s+(?:because|since|as|although|though|even though|while|which|where|but|rather than)\b"
    r"|(?:,|\s+and)\s+not\b",
    re.IGNORECASE,
)
_MAX_GAP = 100
_MAX_STATEMENTS = 32
_LONGEST_WORDS = 200
_JOINT = re.compile(
    r"(?:[^\w\\]|_|\\[()\[\],;! ]|\\q?quad|\\(?:text|mbox|mathrm)"
    rf"|\b(?:and|or|also|{HEDGE})\b)*",
    re.IGNORECASE,
)
_JOINT_AT_END = re.compile(r"[^.!?]*\b(?:and|or)\b[\s${}()\\\[]*", re.IGNORECASE)
_NAMED = re.compile(r"(?<![A-Za-z\\])([A-Za-z](?:_\w|_\{\w+\})?)\s*=[\s$\\(\[]*$")
_ALTERNATIVE = re.compile(
    rf"(?:^|[.;,!?]\s*)(?:or\b|alternatively|otherwise|{HEDGE}|another (?:answer|possibility))",
    re.IGNORECASE,
)
_RESTATED = r"(?:equivalently|simply|just|in other words|i\.e|about|approx|roughly)"
_HEDGED = re.compile(
    rf"[\s$)\]*,;\\]*\(?\s*(?:or|alternatively)\b(?!,?\s*{_RESTATED})[\s,]*(?:{HEDGE}\s*)?"
    r"(?=[$\\(]*[-+\u2212]?\.?\d|\$|\\\(|\\frac|\\sqrt)",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    rf"{DENIAL}(?:\s+(?:equals?(?: to)?|be|the (?:final )?answer|just|simply))*[\s:$(\\\[*]*$",
    re.IGNORECASE,
)
_DENIAL_HINTS = ("no", "ne", "n't", "rul", "exclu", "elimin", "correct", "wrong", "≠")
_DENIED_VALUE = re.compile(
    r"(?:(?:definitely|certainly|clearly|surely|probably|actually)\s+)*(?:not|never)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|scratch that|on second thoughts?|oops|no)\b[\s,.:;!-]*"
    r"|\b(?:that|this|it|which)(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct))\b"
    r"[\s,.:;!-]*"
    r"|\bi (?:have )?made an? (?:mistake|error)\b[\s,.:;!-]*",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"wrong|incorrect|not|mistake|error|scratch|oops", re.IGNORECASE)
_ASSERTED = re.compile(
    r"(?:(?:it|this|that|the (?:correct |right |final |actual )?(?:answer|result|value))"
    r"(?:'s| is| should be| must be| equals)|should be|must be|i mean|rather)?[\s:$*\\(\[]*"
    r"[-+\u2212]?[.\d\\$]",
    re.IGNORECASE,
)
_SILENT = " \t\r\n.$)]}*\\"


def extract(text: str, *, cut_off: bool = False) -> Extracted:
    """The answer that ``text`` gives, by the rules above.

    ``cut_off`` says that the attempt was truncated: then only an answer counts
    that was closed before the end. Takes time linear in the length of the text.
    """
    statements = _statements(text, cut_off=cut_off)
    if isinstance(statements, str):
        return Extracted(None, statements)
    if not statements:
        return _without_statement(text, cut_off=cut_off)
    answers = _last_joined(statements, text)
    tail = text[statements[-1].end :]
    if not tail.strip(_SILENT):
        return Extracted(";".join(answers))
    return _after_second_thoughts(answers, tail)


def stated(reference: str) -> str:
    """The answer that a reference states by rules 1 and 2, else all of its text."""
    if not any(sign in reference for sign in _SIGNS_OF_A_STATEMENT):
        return reference
    statements = _statements(reference, cut_off=False)
    if isinstance(statements, str) or not statements:
        return reference
    return ";".join(_last_joined(statements, reference))


def boxes(text: str) -> Iterator[Box]:
    """The outermost boxes of ``text``, in order; the last may be open."""
    seen = 0
    for match in _BOX.finditer(text):
        if match.start() < seen:
            continue
        end = closing_brace(text, match.end()) if match[1] else match.end()
        if end < 0:
            yield Box(match.start(), len(text), None)
            return
        seen = end + 1 if match[1] else end
        content = text[match.end() : end] if match[1] else match[2] or ""
        yield Box(match.start(), seen, content.strip())


def _statements(text: str, *, cut_off: bool) -> list[_Statement] | str:
    """Every statement that may count, in order; a reason if the last is cut off or empty."""
    found = list(boxes(text))
    if found and found[-1].content is None:
        return "the last box is not closed"
    boxed = [
        _Statement(box.start, box.end, box.content)
        for box in found[-_MAX_STATEMENTS:]
        if box.content is not None and not _is_denied(text, box.start, box.end)
    ]
    end = found[-1].end if found else 0
    markers: list[_Statement] = []
    if text[end:].strip(_SILENT):
        markers = _marked(text, end, after_box=bool(boxed), cut_off=cut_off)
    if boxed and not markers and not boxed[-1].answer:
        return "the last box is empty"
    if found and not boxed and not markers:
        return "what is in the box is denied"
    return [*boxed, *markers]


def _last_joined(statements: list[_Statement], text: str) -> list[str]:
    """The answers of the last statement and of those that are joined to it."""
    joined = [statements[-1]]
    for earlier in reversed(statements[:-1]):
        if not _are_joined(text[earlier.end : joined[0].start]):
            break
        joined.insert(0, earlier)
    if len(joined) == 1:
        return [joined[0].answer]
    return list(dict.fromkeys(_with_name(statement, text) for statement in joined))


def _with_name(statement: _Statement, text: str) -> str:
    r"""``x=5`` for ``x = \boxed{5}``: in a list it matters which value is whose."""
    named = _NAMED.search(text, max(0, statement.start - 20), statement.start)
    if named is None or "=" in statement.answer:
        return statement.answer
    return f"{named[1]}={statement.answer}"


def _is_denied(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 60) : start].lower()
    if any(hint in before for hint in _DENIAL_HINTS) and _DENIED_BEFORE.search(before):
        return True
    return DENIED_AFTER.match(text, end, end + 60) is not None


def _marked(text: str, start: int, *, after_box: bool, cut_off: bool) -> list[_Statement]:
    """The marked statements from ``start``; after a box only those that are bare values."""
    found: list[_Statement] = []
    for match in deque(_MARKER.finditer(text, start), _MAX_STATEMENTS):
        limit = match.end() + MAX_CHARS
        display = _DISPLAY.match(text, match.end(), limit)
        end = display or _MARKED_END.search(text, match.end(), limit)
        if end is None:
            continue
        answer = display[0] if display else text[match.end() : end.start()]
        answer = _ASIDE.split(answer, maxsplit=1)[0].strip(" *_\t")
        unfinished = cut_off and not display and end.end() == len(text) and end[0] != "</answer>"
        if not answer or unfinished or _DENIED_VALUE.match(answer):
            continue
        bare = is_bare(answer)
        if after_box and not (bare and has_values(answer)):
            continue
        if not bare:
            answer = last_assertion(answer) or answer
        found.append(_Statement(match.start(), end.end() if display else end.start(), answer))
    return found


def _are_joined(gap: str) -> bool:
    gap = _NAMED.sub("", " ".join(gap.split()))
    if len(gap) > _MAX_GAP:
        return False
    if _JOINT.fullmatch(gap):
        return True
    alternative = _JOINT_AT_END.fullmatch(gap) or _ALTERNATIVE.search(gap)
    return bool(alternative) and not _CORRECTION.search(gap)


def _after_second_thoughts(answers: list[str], tail: str) -> Extracted:
    """What is left of the answer after what was said behind it."""
    hedged = _HEDGED.match(tail)
    if hedged:
        more = last_assertion(_rest_of_statement(tail, hedged.end()))
        return Extracted(";".join([*answers, more or ""]))
    for correction in islice(_CORRECTION.finditer(tail), _MAX_STATEMENTS):
        if _ASSERTED.match(tail, correction.end()):
            instead = last_assertion(_rest_of_statement(tail, correction.end()))
            if instead:
                return Extracted(instead)
        if _TAKEN_BACK.search(correction[0]):
            return Extracted(None, "the last answer is taken back")
    return Extracted(";".join(answers))


def _rest_of_statement(text: str, start: int) -> str:
    end = _MARKED_END.search(text, start, start + MAX_CHARS)
    return text[start : end.start() if end else start + MAX_CHARS]


def _without_statement(text: str, *, cut_off: bool) -> Extracted:
    stripped = text.strip()
    if not stripped:
        return Extracted(None, "the text is empty")
    if cut_off:
        return Extracted(None, "the text was cut off before it stated an answer")
    if is_bare(stripped):
        return Extracted(stripped)
    answer = last_assertion(stripped)
    if answer is None and len(stripped) <= _LONGEST_WORDS and not has_values(stripped):
        answer = stripped  # an answer in words
    return Extracted(answer, "" if answer else "no sentence asserts a value")
