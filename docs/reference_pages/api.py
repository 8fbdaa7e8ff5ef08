"""The public names of `rewardhub` and of `rewardhub.testing`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import rewardhub
from reference_pages.markdown import bullets, code, join
from reference_pages.sources import (
    ClassSource,
    assigned,
    class_source,
    field_table,
    function_source,
    method_text,
    terms,
    value_doc,
)
from rewardhub import testing
from rewardhub.errors import RewardhubError
from rewardhub.host import Card, hookspecs
from rewardhub.records import Record

DATA = ("Part", "PolicyInfo", "Reward", "Score", "Span", "SpanReward", "StepValue")
HOMES = {
    "DEFAULT_READS": "rewardhub.contracts.view",
    "RewardSource": "rewardhub.engine.engine",
    "Verdict": "rewardhub.contracts.grader",
    "hookimpl": "rewardhub.host.hookspecs",
}
"""Where the values that are neither classes nor functions are written."""

INTERNAL = {
    "Engine": ("broken", "compares", "finish", "new_groups", "pool", "run_on_loop", "submit"),
}
"""What is public for other modules of the framework only."""

INTRODUCTION = """
`from rewardhub import ...`: packs and programs import this module and nothing below it. Names are
removed only after two minor versions with a warning. Errors have [a page of their
own](errors.md), and so has [the testing kit](testing.md).
"""
KIT = """
`from rewardhub.testing import ...`: for the tests of packs. `make_task`, `make_trajectory`,
`registry_of`, `fake_judge` and `fake_sandbox` are pytest fixtures, too. How to use them: [test a
grader](../how-to/test-a-grader.md).
"""


def page() -> str:
    """Return the page of `rewardhub`."""
    groups: dict[str, list[str]] = {
        title: [] for title in ("Functions", "Records", "Graders and plugins", "Values")
    }
    cards: list[str] = []
    for name in rewardhub.__all__:
        value = getattr(rewardhub, name)
        if _is(value, Card):
            cards.append(name)
        elif not _is(value, RewardhubError):
            groups[_group(name, value)].append(name)
    parts = ["# The Python API", INTRODUCTION]
    for title, names in groups.items():
        parts += [f"## {title}", *(_entry(rewardhub, name) for name in names)]
    return join(*parts, "## Cards", _cards(cards))


def testing_page() -> str:
    """Return the page of `rewardhub.testing`."""
    again = [name for name in testing.__all__ if name in rewardhub.__all__]
    names = [name for name in testing.__all__ if name not in again]
    kit = [f"## {name}\n\nSee [the Python API](api.md#{name})." for name in again]
    return join("# The testing kit", KIT, *(_entry(testing, name, level=2) for name in names), *kit)


def _is(value: object, base: type[Any]) -> bool:
    return inspect.isclass(value) and issubclass(value, base)


def _group(name: str, value: object) -> str:
    if name in HOMES:
        return "Values"
    if inspect.isfunction(value):
        return "Functions"
    return "Records" if _is(value, Record) or name in DATA else "Graders and plugins"


def _entry(door: ModuleType, name: str, *, level: int = 3) -> str:
    value = getattr(door, name)
    if name in HOMES:
        said = assigned(HOMES[name], name)
        return join(f"### {name}", f"```text\n{name} = {said}\n```", value_doc(HOMES[name], name))
    if inspect.isclass(value):
        return _class(name, value, level)
    source = function_source(value)
    heading = f"{'#' * level} {name}"
    renamed = source.name != name
    text = method_text(source, level).partition("\n\n")[2]
    if renamed:
        text = text.replace(f"{source.name}(", f"{name}(", 1)
    return join(heading, text)


def _class(name: str, cls: type[Any], level: int) -> str:
    source = class_source(cls)
    bases = [base for base in source.bases if base in {*rewardhub.__all__, *testing.__all__}]
    parts = [f"{'#' * level} {name}", f"```text\n{source.call}\n```" if source.call else ""]
    parts += [source.doc.body, terms(source.doc), field_table(source.fields), _attributes(source)]
    parts.append(f"Base: {', '.join(map(code, bases))}." if bases else "")
    hidden = INTERNAL.get(name, ())
    methods = (each for each in source.methods if each.name not in hidden)
    return join(*parts, *(method_text(each, level + 1, name) for each in methods))


def _attributes(source: ClassSource) -> str:
    """Return what a class has that is no field."""
    fields = {each.name for each in source.fields}
    others = source.doc.section("Attributes").items()
    return bullets({name: meaning for name, meaning in others if name not in fields})


def _cards(names: Iterable[str]) -> str:
    hook_of = {card.__name__: hook for hook, card in hookspecs.CARDS.items()}
    about = {name: class_source(getattr(rewardhub, name)).doc.first for name in names}
    return "\n".join(f"- [`{name}`](hooks/{hook_of[name]}.md): {about[name]}" for name in about)
