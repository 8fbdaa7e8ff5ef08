"""Every error that rewardhub raises on purpose."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import rewardhub
from reference_pages.markdown import bullets, join
from reference_pages.sources import class_source
from rewardhub import errors

INTRODUCTION = """
Each message says what is wrong, where, and what to do next. On the command line any of them ends
the command with [exit code](exit-codes.md) 2, except those that are raised while grading: these
become Scores ([whose fault it is](../explanation/faults.md)).
"""


def page() -> str:
    """Return the page."""
    own = [each for each in all_errors() if each.__module__ == errors.__name__]
    others = [each for each in all_errors() if each.__module__ != errors.__name__]
    tree = (errors.__doc__ or "").partition("\n\n")[2].strip()
    parts = ["# Errors", INTRODUCTION, tree, *map(_error, own)]
    parts += ["## Elsewhere", "Raised by single modules.", *map(_error, others)]
    return join(*parts)


def all_errors() -> list[type[errors.RewardhubError]]:
    """Return every error class of the framework, bases first."""
    for module in pkgutil.walk_packages(rewardhub.__path__, "rewardhub."):
        importlib.import_module(module.name)
    return list(dict.fromkeys(_below(errors.RewardhubError)))


def _below(error: type[errors.RewardhubError]) -> Iterator[type[errors.RewardhubError]]:
    if error.__module__.startswith("rewardhub."):
        yield error
    for each in error.__subclasses__():
        yield from _below(each)


def _error(error: type[errors.RewardhubError]) -> str:
    source = class_source(error)
    bases = " and ".join(f"`{base}`" for base in source.bases)
    where = "`rewardhub`" if error.__name__ in rewardhub.__all__ else f"`{error.__module__}`"
    parts = [f"### {error.__name__}", source.doc.body]
    if source.doc.section("Attributes"):
        parts.append(bullets(source.doc.section("Attributes")))
    return join(*parts, f"A {bases}, from {where}.")
