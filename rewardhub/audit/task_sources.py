"""Tasks from packages: sources that are named like files, with options that are checked."""

from __future__ import annotations

import inspect
import itertools
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from rewardhub.errors import PluginError, RewardhubError, UsageError, did_you_mean
from rewardhub.host import Registry, TaskSourceCard
from rewardhub.records import Task, explain_validation

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def is_source(named: str, registry: Registry) -> bool:
    """Return whether ``named`` is a task source: ``NAME`` or ``NAME:WHAT``."""
    return named.partition(":")[0] in registry.all(TaskSourceCard)


def source_tasks(
    named: str,
    registry: Registry,
    options: Mapping[str, Any],
    *,
    count: int | None = None,
    seed: int | None = None,
) -> Iterator[Task]:
    """Return the tasks of a source; its options are checked at once.

    Args:
        named: ``NAME``, or ``NAME:WHAT``, where ``WHAT`` is the source's first parameter.
        registry: knows the sources.
        options: further parameters of the source, by name.
        count: how many tasks at most.
        seed: the source's parameter of that name.

    Raises:
        UnknownNameError: if there is no such source.
        UsageError: for options that the source does not take, or not so.
        PluginError: while tasks are read, if the source breaks or yields anything else.
    """
    name, colon, what = named.partition(":")
    card = registry.get(TaskSourceCard, name).card
    given = dict(options)
    parameters = inspect.signature(card.source).parameters
    if colon:
        given |= {_first(card, parameters): what}
    if seed is not None:
        given["seed"] = seed
    if count is not None and "count" in parameters:
        given["count"] = count
    checked = _checked(card, given)
    return itertools.islice(_tasks(card, checked), count)


def _first(card: TaskSourceCard, parameters: Mapping[str, inspect.Parameter]) -> str:
    first = next((each for each in parameters.values() if each.kind in _NAMED), None)
    if first is None:
        raise UsageError(f"The task source `{card.name}` takes nothing after its name.")
    return first.name


def _checked(card: TaskSourceCard, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as the annotations of the source have them."""
    model = _model_of(card.source)
    try:
        made = model.model_validate(dict(given))
    except ValidationError as error:
        known = ", ".join(f"`{field}`" for field in model.model_fields)
        raise UsageError(
            f"Task source `{card.name}`: {explain_validation(error, model)}. It takes {known}."
        ) from None
    return {name: getattr(made, name) for name in made.model_fields_set}


def _model_of(source: Callable[..., Any]) -> type[BaseModel]:
    hints = typing.get_type_hints(source)
    fields: dict[str, Any] = {}
    extra: typing.Literal["forbid", "allow"] = "forbid"
    for name, parameter in inspect.signature(source).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            extra = "allow"
        elif parameter.kind in _NAMED:
            missing = parameter.default is inspect.Parameter.empty
            fields[name] = (hints.get(name, Any), ... if missing else parameter.default)
    return create_model("Options", __config__=ConfigDict(extra=extra), **fields)


def _tasks(card: TaskSourceCard, options: Mapping[str, Any]) -> Iterator[Task]:
    try:
        for each in card.source(**options):
            if not isinstance(each, Task):
                raise PluginError(
                    f"The task source `{card.name}` yields Task records, and this one is a "
                    f"{type(each).__name__}."
                )
            yield each
    except RewardhubError:
        raise
    except Exception as error:
        raise PluginError(
            f"The task source `{card.name}` broke: {type(error).__name__}: {error}"
        ) from error


def unknown_source(named: str, registry: Registry) -> str:
    """Return what to say of a name that is neither a file nor a source."""
    known = list(registry.all(TaskSourceCard))
    hint = did_you_mean(named.partition(":")[0], known)
    sources = ", ".join(f"`{name}`" for name in known)
    listed = f" Sources: {sources}." if known and not hint else ""
    return f"There is no file and no task source `{named}`.{hint}{listed}"
