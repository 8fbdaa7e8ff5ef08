"""How a grader is called: read once from its signature, at registration."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewardhub.contracts.grader import Options, method_of
from rewardhub.contracts.resource import Resource
from rewardhub.contracts.resources import KINDS, Workers
from rewardhub.errors import GraderDefinitionError

Shape = Literal["grade", "grade_batch", "grade_group"]


@dataclass(frozen=True, slots=True)
class Signature:
    """How a grader is called.

    Attributes:
        shape: the method that grades.
        is_async: whether it is ``async def``.
        slots: parameter name -> contract of the resource it asks for.
        several: the slots that take several resources, as ``judges: Mapping[str, Judge]``.
    """

    shape: Shape
    is_async: bool
    slots: Mapping[str, type[Resource]]
    several: frozenset[str] = frozenset()

    @property
    def only_workers(self) -> bool:
        """Whether it asks for worker processes and nothing else."""
        return bool(self.slots) and all(kind is Workers for kind in self.slots.values())


def read_signature(grader: type[Options]) -> Signature:
    """Return how ``grader`` is called.

    Raises:
        GraderDefinitionError: for a parameter that is no resource, or without a type.
    """
    method = method_of(grader)
    function = getattr(grader, method)
    hints = _type_hints(grader, method)  # first: `inspect.signature` may evaluate them, too
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) < 2:
        raise GraderDefinitionError(
            f"`{grader.__name__}.{method}` needs a parameter for what it grades."
        )
    slots: dict[str, type[Resource]] = {}
    several: set[str] = set()
    for parameter in parameters[2:]:
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        name = parameter.name
        hint = hints.get(name)
        if typing.get_origin(hint) is Mapping:
            several.add(name)
            hint = (typing.get_args(hint) or (None, None))[1]
        slots[name] = _kind_of(grader, method, name, hint, several=name in several)
    is_async = inspect.iscoroutinefunction(function)
    return Signature(typing.cast("Shape", method), is_async, slots, frozenset(several))


def _type_hints(grader: type[Options], method: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(getattr(grader, method))
    except (NameError, AttributeError, TypeError) as error:
        raise GraderDefinitionError(
            f"The annotations of `{grader.__name__}.{method}` cannot be read ({error}). Import "
            "what they name outside of `if TYPE_CHECKING`."
        ) from None


def _kind_of(
    grader: type[Options], method: str, name: str, hint: Any, *, several: bool
) -> type[Resource]:
    for kind in KINDS:
        if several and kind is Workers:  # which the engine itself provides
            continue
        if inspect.isclass(hint) and issubclass(hint, kind):
            return kind
    kinds = ", ".join(kind.__name__ for kind in KINDS)
    raise GraderDefinitionError(
        f"`{grader.__name__}.{method}` has a parameter `{name}` that is no resource. "
        f"Annotate it as one of {kinds}, or make it an option: a field of the class."
    )
