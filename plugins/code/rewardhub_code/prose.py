"""Code that stands in a text without a fence: bare, between sentences, or as a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rewardhub_code import syntax

_STARTS = re.compile(r"(async def|def|class) \w|(import|from) [\w.]+|@\w|if __name__\b|if True:")
_GOES_ON = re.compile(r"[)\]}]|(else|elif|except|finally)\b")
_SAYS = re.compile(r"(>>>|\.\.\.)( |$)")


def bare_code(text: str) -> str:
    """Return the code of a text without fences; empty if there is none.

    The whole text, if it is a program. Else what begins at the first line that begins a function, a
    class, an import or a decorator, without the sentences that follow it or stand between.
    """
    tree = syntax.parse(text)
    if tree is not None:
        return text if syntax.is_program(tree) else ""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if _STARTS.match(line.lstrip())), None)
    if first is None:
        return ""
    code = _dedented(lines[first:])
    if syntax.parse("\n".join(code)) is not None:
        return "\n".join(code)
    # What is cut off in its middle is kept: the error then says what is wrong with it.
    return "\n".join(chunk for chunk in _chunks(code) if _is_code(chunk))


def _dedented(lines: list[str]) -> list[str]:
    """Return the lines without the indentation of the first, as far as they have it."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines]


def _chunks(lines: list[str]) -> Iterator[str]:
    """Yield the statements of the top level, each with what belongs to it."""
    chunk: list[str] = []
    for line in lines:
        begins = bool(line.strip()) and not line[0].isspace() and not _GOES_ON.match(line)
        if begins and chunk and not chunk[-1].startswith("@"):
            yield "\n".join(chunk)
            chunk = []
        chunk.append(line)
    yield "\n".join(chunk)


def _is_code(chunk: str) -> bool:
    if _STARTS.match(chunk):
        return True
    tree = syntax.parse(chunk)
    return tree is not None and syntax.is_program(tree)


def is_transcript(text: str) -> bool:
    """Whether ``text`` is a session at Python's prompt: its first line begins with ``>>>``."""
    return bool(re.match(r"\s*>>>( |\n|$)", text))


def transcript_in(text: str) -> str:
    """Return what a text without fences holds of a session at the prompt; empty if nothing."""
    found = re.search(r"^[ \t]*>>> ", text, re.MULTILINE)
    return code_of_transcript(text[found.start() :]) if found else ""


def code_of_transcript(text: str) -> str:
    """Return what was typed at the prompts; what Python answered is left out."""
    lines = (line.lstrip() for line in text.split("\n"))
    return "".join(f"{line[4:]}\n" for line in lines if _SAYS.match(line))
