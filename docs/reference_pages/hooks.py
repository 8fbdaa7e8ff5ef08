"""One page for each hook: what it is for, its card, an example, and who implements it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from reference_pages.markdown import code, join, read_doc
from reference_pages.plugins import ROOT, brought
from reference_pages.sources import all_fields, class_source, field_table
from rewardhub.host import Card, hookspecs

EXAMPLES = ROOT / "docs" / "examples"
WHEN = """
Called without arguments when a registry is built, in each process that builds one: worker
processes build their own. It yields cards and changes nothing.
"""


def names() -> list[str]:
    """Return the names of all hooks, in their order."""
    return [name for name in vars(hookspecs) if name.startswith("rewardhub_")]


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each page."""
    for name in names():
        yield f"hooks/{name}.md", _page(name)


def about(name: str) -> str:
    """Return what a hook is for, in one line."""
    return read_doc(inspect.getdoc(getattr(hookspecs, name))).first


def _page(name: str) -> str:
    function = getattr(hookspecs, name)
    doc = read_doc(inspect.getdoc(function))
    card = hookspecs.CARDS.get(name)
    call = f"{name}({', '.join(inspect.signature(function).parameters)})"
    example = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").strip()
    parts = [f"# {name}", f"```text\n{call}\n```", doc.body]
    if doc.section("Args"):
        lines = "\n".join(f"- `{key}`: {text}" for key, text in doc.section("Args").items())
        parts.append(lines)
    if card is not None:
        parts.append(WHEN)
    parts += ["## Example", f"```python\n{example}\n```"]
    if card is not None and issubclass(card, Card):
        parts += _card(card)
    return join(*parts)


def _card(card: type[Card]) -> list[str]:
    fields = [each for each in all_fields(card) if each.name != "signature"]
    parts = [
        f"## {card.__name__}",
        class_source(card).doc.body,
        field_table(fields),
    ]
    found = brought(card)
    if found:
        lines = (f"- {owner}: {', '.join(map(code, named))}" for owner, named in found.items())
        parts += ["## In this repository", "\n".join(lines)]
    return parts
