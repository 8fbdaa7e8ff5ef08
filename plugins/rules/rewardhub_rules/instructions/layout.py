"""IFEval, families ``detectable_format`` and ``detectable_content``: marks that can be seen."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar

from rewardhub_rules.fences import fences
from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Positive,
    Text,
    Whole,
    at_least,
    exactly,
    needs,
)
from rewardhub_rules.json_text import BadJsonError, read_json

__all__ = [
    "ConstrainedResponse",
    "JsonFormat",
    "MultipleSections",
    "NumberBulletLists",
    "NumberHighlightedSections",
    "NumberPlaceholders",
    "Postscript",
    "Title",
    "unfenced",
]


def unfenced(text: str, *languages: str) -> str:
    """Return what stands in the fenced block that is all of ``text``, or else ``text``, stripped.

    Args:
        text: an answer.
        languages: what the block may say that it holds; it may always say nothing.
    """
    text = text.strip()
    blocks = fences(text)
    if len(blocks) == 1:
        block = blocks[0]
        whole = block.closed and block.start == 0 and block.end == len(text)
        if whole and block.language in {"", *languages}:
            return block.content.strip()
    return text


class JsonFormat(Instruction):
    """The whole answer is JSON: an object or an array, which a fence may enclose."""

    name: ClassVar[str] = "detectable_format:json_format"

    def check(self, text: str) -> Finding:
        """Read the text as JSON."""
        body = unfenced(text, "json")
        if not body.startswith(("{", "[")):
            return Finding(False, "it is no JSON object or array")
        try:
            read_json(body)
        except BadJsonError as error:
            return Finding(False, str(error))
        return Finding(True, "followed")


# A rule (`---`, `* * *`) is no bullet, and neither is `*emphasis*` or a negative number.
_BULLET = re.compile(r"^[ \t]*([*-])(?!(?:[ \t]*\1){2,}[ \t]*$)[ \t]+\S", re.MULTILINE)


class NumberBulletLists(Instruction):
    """Exactly ``num_bullets`` bullet points of Markdown, marked by ``*`` or ``-``."""

    name: ClassVar[str] = "detectable_format:number_bullet_lists"

    num_bullets: Whole

    def check(self, text: str) -> Finding:
        """Count the lines that are bullet points."""
        return exactly(len(_BULLET.findall(text)), self.num_bullets, "bullet points")


_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


class ConstrainedResponse(Instruction):
    """The answer says one of: My answer is yes. / My answer is no. / My answer is maybe."""

    name: ClassVar[str] = "detectable_format:constrained_response"

    def check(self, text: str) -> Finding:
        """Look for the options; to say two of them is no answer."""
        return exactly(sum(option in text for option in _OPTIONS), 1, "of the options")


# As CommonMark has it, emphasis neither begins nor ends with white space: so a bullet, or a sign
# of multiplication, opens none.
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,3})(?![\s*])[^*\n]*(?<!\s)\1(?!\*)")


class NumberHighlightedSections(Instruction):
    """At least ``num_highlights`` parts in ``*emphasis*`` or ``**bold**``."""

    name: ClassVar[str] = "detectable_format:number_highlighted_sections"

    num_highlights: Whole

    def check(self, text: str) -> Finding:
        """Count the parts in emphasis."""
        return at_least(len(_HIGHLIGHT.findall(text)), self.num_highlights, "highlighted parts")


class MultipleSections(Instruction):
    """At least ``num_sections`` sections, each begun by ``section_spliter`` and a number."""

    name: ClassVar[str] = "detectable_format:multiple_sections"

    section_spliter: Text
    num_sections: Positive

    @cached_property
    def _heading(self) -> re.Pattern[str]:
        mark = re.escape(self.section_spliter.strip())
        return re.compile(rf"^[ \t#>*_(\[\"]*{mark}\s?\d+", re.MULTILINE)

    def check(self, text: str) -> Finding:
        """Count the lines that begin a section."""
        return at_least(len(self._heading.findall(text)), self.num_sections, "sections")


class Title(Instruction):
    """A title in double angular brackets: ``<<poem of joy>>``."""

    name: ClassVar[str] = "detectable_format:title"

    def check(self, text: str) -> Finding:
        """Look for a line with a title that says something."""
        lines = text.split("\n") if "<<" in text else ()
        titles = (line.partition("<<")[2].rpartition(">>")[0] for line in lines)
        return needs(any(any(map(str.isalnum, title)) for title in titles), "it has no <<title>>")


_BRACKETS = re.compile(r"\[([^\[\]\n]*)\](?!\()")
_TICKED = frozenset("xX")


class NumberPlaceholders(Instruction):
    """At least ``num_placeholders`` placeholders in square brackets: ``[address]``."""

    name: ClassVar[str] = "detectable_content:number_placeholders"

    num_placeholders: Whole

    def check(self, text: str) -> Finding:
        """Count the brackets that hold something and are no link and no box to tick."""
        held = _BRACKETS.findall(text)
        count = sum(each not in _TICKED and any(map(str.isalnum, each)) for each in held)
        return at_least(count, self.num_placeholders, "placeholders")


_MARKERS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s\b\.?"}


class Postscript(Instruction):
    """A postscript that begins with ``postscript_marker``: ``P.S.`` or ``P.P.S``."""

    name: ClassVar[str] = "detectable_content:postscript"

    postscript_marker: Text

    @cached_property
    def _marker(self) -> re.Pattern[str]:
        marker = self.postscript_marker.strip()
        pattern = _MARKERS.get(marker) or re.escape(marker)
        return re.compile(rf"(?<![\w.]){pattern}(?=.*\w)", re.IGNORECASE | re.DOTALL)

    def check(self, text: str) -> Finding:
        """Look for the marker, with something after it."""
        return needs(self._marker.search(text), f"it has no {self.postscript_marker!r} with a text")
