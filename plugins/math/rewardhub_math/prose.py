"""Values in running text: what a sentence asserts, and what it denies or only asks."""

import re
from collections.abc import Iterator

from rewardhub_math.exact import read_number
from rewardhub_math.limits import MAX_CHARS
from rewardhub_math.tidy import tidy

HEDGE = r"(?:maybe|perhaps|possibly|probably|it (?:could|might|may) (?:also )?be)"
DENIAL = (
    r"(?:\b(?:not|never|isn't|isnt|aren't|wasn't|cannot|can't|couldn't|won't|neither|nor"
    r"|rule[sd]? out|ruling out|excluded?|eliminated?|incorrect|wrong)\b|\\not\b|\\neq?\b|≠)"
)
_BLOCK = r"\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)|(?<![\\\d])\$[^$\n]+\$(?!\d)"
_VALUE = re.compile(
    rf"{_BLOCK}|(?<![\w.,^])[$€£¥]?[-+\u2212]?[$€£¥]?(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)"
    r"(?:\s?/\s?\d+|[eE][-+]?\d+|\s?[\u00d7x*]\s?10\^\{?-?\d+\}?)?"
    r"(?:\s?\\?%|\s?percent\b|\s?pct\b|\s?[a-zA-Z]{1,2}[²³])?(?![A-Za-z\d_^(])",
    re.DOTALL,
)
_MATH = re.compile(_BLOCK, re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?](?=[\s*]|$)|\n")
_JOINT = re.compile(rf"[\s,;&*]*(?:(?:and|or|{HEDGE})\b[\s,]*)*", re.IGNORECASE)
# What only bounds or excludes a value does not assert it.
_BOUND = (
    r"\b(?:(?:less|more|greater|fewer|other) than|at (?:least|most)|except|excluding|including"
    r"|(?:any|every)thing but|opposite of)\b"
)
# "is not", but no longer once the sentence goes on to say what is.
_DENIED = re.compile(
    rf"(?:{DENIAL}|{_BOUND})(?:\s+equals?(?:\s+to)?)?"
    r"(?:(?!\b(?:is|it's|are|equals?|but|so)\b|=|,).)*$",
    re.IGNORECASE | re.DOTALL,
)
DENIED_AFTER = re.compile(
    r"[\s$)\]*,;:\\]*(?:which\s+)?(?:is|was|are|cannot|can't|isn't|seems)\s*"
    r"(?:(?:definitely|certainly|clearly|actually|be|also)\s+)*"
    r"(?:not\b|wrong|incorrect|false|impossible)"
    r"|[\s$)\]*,;:\\]*(?:cannot|can't|isn't)\s+(?:be\s+)?(?:right|correct|the|an?)\b"
    r"|[\s$)\]*,;:\\]*\b(?:or|and)\s+(?:not|any|anything|all|every)\b",
    re.IGNORECASE,
)
_COMMANDS = re.compile(r"\\(?:text|mbox|mathrm|begin|end)\s*\{[^{}]*\}|\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_MATHEMATICAL = frozenset(
    [
        *("sqrt", "pi", "sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "mod"),
        *("inf", "infinity", "oo", "in", "or", "and", "base"),
    ]
)
_LONGEST_BARE = 200


def is_bare(text: str) -> bool:
    """Whether ``text`` is nothing but an answer: mathematics, a labelled number, one word."""
    text = text.strip()
    if not text or len(text) > _LONGEST_BARE:
        return False
    rest = _COMMANDS.sub(" ", _MATH.sub(" ", text))
    words = [word for word in _WORD.findall(rest) if word.lower() not in _MATHEMATICAL]
    if not words or (len(words) == 1 and words[0] == text.strip(" .*\"'")):
        return "\n" not in rest.strip()
    return "\n" not in text and read_number(tidy(text)) is not None


def last_assertion(text: str) -> str | None:
    """The value that the last asserting sentence of ``text`` ends with, or None.

    Values that are joined by commas, *and* or *or* are one list. Questions
    assert nothing, and neither does what stands behind *not*, *at least* or
    *except* in its clause or before *is wrong*.
    """
    text = text[-MAX_CHARS:]
    values = list(_VALUE.finditer(text))
    for index in range(len(values) - 1, -1, -1):
        if _is_asserted(text, values, index):
            first = index
            while first and _JOINT.fullmatch(text, values[first - 1].end(), values[first].start()):
                first -= 1
            return ";".join(value[0] for value in values[first : index + 1])
    return None


def has_values(text: str) -> bool:
    """Whether any number or mathematics stands in ``text``."""
    return _VALUE.search(text) is not None


def _is_asserted(text: str, values: list[re.Match[str]], index: int) -> bool:
    value = values[index]
    start = max((m.end() for m in _ends(text, value.start())), default=0)
    end = _SENTENCE_END.search(text, value.end())
    if (end and end[0] == "?") or DENIED_AFTER.match(text, value.end()):
        return False
    if index and values[index - 1].end() > start:
        start = values[index - 1].end()
        # "where $n$ is ..." names a variable; the value of the sentence has digits.
        if not any(character.isdigit() for character in value[0]) and "=" not in value[0]:
            return not any(c.isdigit() for c in values[index - 1][0])
    return _DENIED.search(text, start, value.start()) is None


def _ends(text: str, before: int) -> Iterator[re.Match[str]]:
    return _SENTENCE_END.finditer(text, max(0, before - 500), before)
