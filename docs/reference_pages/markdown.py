"""Docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Items = dict[str, str]

_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
_ITEM = re.compile(r"^    (\w[\w.]*): (.*)$")
_LITERAL = re.compile(r"^(.*)::\n\n((?:    .*\n|\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring in parts.

    Attributes:
        body: the text before the sections, as Markdown.
        sections: title of a section -> name -> meaning.
    """

    body: str = ""
    sections: dict[str, Items] = field(default_factory=dict[str, Items])

    @property
    def first(self) -> str:
        """The first paragraph, on one line."""
        return one_line(self.body.partition("\n\n")[0])

    def section(self, title: str) -> Items:
        """Return the items of a section; empty where there is none."""
        return self.sections.get(title, {})


def read_doc(text: str | None) -> Doc:
    """Return the docstring ``text`` in parts."""
    clean = inspect.cleandoc(text or "")
    body, *rest = _SECTION.split(clean)
    sections = {title: _items(part) for title, part in zip(rest[::2], rest[1::2], strict=True)}
    return Doc(prose(body.strip()), sections)


def _items(text: str) -> Items:
    items: Items = {}
    name = ""
    for line in text.strip("\n").splitlines():
        found = _ITEM.match(line)
        if found:
            name, items[found[1]] = found[1], found[2]
        elif name:
            items[name] += f" {line.strip()}"
    return {key: one_line(prose(value)) for key, value in items.items()}


def prose(text: str) -> str:
    """Return reStructuredText as docstrings use it as Markdown: code marks and literal blocks."""
    blocks = _LITERAL.sub(_fenced, f"{text}\n")
    return re.sub(r"(?<!`)``([^`]+)``(?!`)", r"`\1`", blocks).strip()


def _fenced(found: re.Match[str]) -> str:
    code = textwrap.dedent(found[2]).strip()
    return f"{found[1]}:\n\n```text\n{code}\n```\n\n"


def one_line(text: str) -> str:
    """Return ``text`` with each run of white space as one space."""
    return " ".join(text.split())


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, without the columns that are empty in every row."""
    cells = [[one_line(cell).replace("|", "\\|") for cell in row] for row in rows]
    kept = [place for place in range(len(titles)) if any(row[place] for row in cells)]
    lines = [[titles[place] for place in kept], ["---"] * len(kept)]
    lines += [[row[place] for place in kept] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(items: Items) -> str:
    """Return names and meanings as a list."""
    return "\n".join(f"- `{name}`: {meaning}" for name, meaning in items.items())


def code(text: str) -> str:
    """Return ``text`` as code inside a line; empty for an empty text."""
    if not text:
        return ""
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}"


def join(*parts: str) -> str:
    """Return the parts that are not empty, as paragraphs."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())
