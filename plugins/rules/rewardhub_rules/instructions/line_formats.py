"""IFBench, family ``format``: what lines begin with, and how they follow each other."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from rewardhub_rules.instructions.kinds import Finding, Instruction, Text, at_least, needs
from rewardhub_rules.instructions.words import words_of
from rewardhub_rules.sentences import split_sentences

__all__ = ["LineIndent", "List", "NoBulletsBullets", "SubBullets", "Thesis"]


class LineIndent(Instruction):
    """Each line is indented more than the one before it, like stairs."""

    name: ClassVar[str] = "format:line_indent"

    def check(self, text: str) -> Finding:
        """Compare the indents of lines that are not blank; one line is no stairs."""
        lines = [line.expandtabs() for line in text.split("\n") if line.strip()]
        indents = [len(line) - len(line.lstrip()) for line in lines]
        if len(indents) < 2:
            return Finding(False, "it has one line")
        wrong = next((at for at, (a, b) in enumerate(pairwise(indents), 2) if b <= a), 0)
        return needs(not wrong, f"line {wrong} is not indented more than the one before")


class List(Instruction):
    """A list of items, each marked by ``sep`` in place of a bullet."""

    name: ClassVar[str] = "format:list"

    sep: Text

    @cached_property
    def _item(self) -> re.Pattern[str]:
        return re.compile(rf"^[^\S\n]*{re.escape(self.sep.strip())}", re.MULTILINE)

    def check(self, text: str) -> Finding:
        """Count the lines that begin with the mark."""
        return at_least(len(self._item.findall(text)), 2, "items")


_BULLET = re.compile(r"[ \t]*\*(?!\*)[ \t]*(?=\S)")
_SUB_BULLET = re.compile(r"[ \t]*-(?!-)[ \t]*(?=\S)")


class SubBullets(Instruction):
    """Bullet points marked ``*``, each with a bullet point marked ``-`` below it."""

    name: ClassVar[str] = "format:sub-bullets"

    def check(self, text: str) -> Finding:
        """Count, for each line with a bullet, the lines with a sub-bullet before the next."""
        below: list[int] = []
        for line in text.split("\n"):
            if _BULLET.match(line):
                below.append(0)
            elif below and _SUB_BULLET.match(line):
                below[-1] += 1
        if not below:
            return Finding(False, "it has no bullet points")
        return needs(all(below), f"bullet point {below.index(min(below)) + 1} has none below it")


class NoBulletsBullets(Instruction):
    """At least two sentences that end in a period, then at least two bullet points marked ``*``."""

    name: ClassVar[str] = "format:no_bullets_bullets"

    def check(self, text: str) -> Finding:
        """Look at what stands before, in and after the list; it may go on in indented lines."""
        lines = text.split("\n")
        bullets = [at for at, line in enumerate(lines) if _BULLET.match(line)]
        if len(bullets) < 2:
            return at_least(len(bullets), 2, "bullet points")
        before = split_sentences("\n".join(lines[: bullets[0]]))
        stated = sum(sentence.rstrip("\"'\u201d\u2019)*_").endswith(".") for sentence in before)
        if stated < 2:
            return at_least(stated, 2, "sentences before the list")
        listed = (line for line in lines[bullets[0] :] if line.strip())
        stray = any(not (_BULLET.match(line) or line[0].isspace()) for line in listed)
        return needs(not stray, "a text follows the list")


_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t].*|<h([1-6])\b[^>\n]*>.*?</h\1>|\*\*[^*\n]+\*\*:?[ \t]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_ITALIC = re.compile(
    r"<(i|em)\b[^>]*>(?P<thesis>(?:(?!</?\1\b).)*)</\1>", re.DOTALL | re.IGNORECASE
)


class Thesis(Instruction):
    """Each section begins with a statement in the italics of HTML, and goes on after it."""

    name: ClassVar[str] = "format:thesis"

    def check(self, text: str) -> Finding:
        """Look at the start of each section; headings part them, and without one there is one."""
        headings = list(_HEADING.finditer(text))
        ends = [*(heading.start() for heading in headings[1:]), len(text)]
        bodies = [text[a.end() : end] for a, end in zip(headings, ends, strict=False)] or [text]
        for number, body in enumerate(bodies, 1):
            italic = _ITALIC.match(re.sub(r"\A(?:\s|<(?:p|div|section)\b[^>]*>)+", "", body))
            if not italic or not words_of(italic["thesis"]):
                return Finding(False, f"section {number} does not begin in italics")
            if not words_of(re.sub("<[^>]*>", " ", italic.string[italic.end() :])):
                return Finding(False, f"section {number} has nothing after its thesis")
        return Finding(True, f"each of {len(bodies)} sections")
