"""What an instruction is: its kwargs, and a check of a text against them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "Finding",
    "Instruction",
    "Positive",
    "Relation",
    "Share",
    "Text",
    "Texts",
    "Whole",
    "at_least",
    "compared",
    "exactly",
    "needs",
]


class Finding(NamedTuple):
    """Whether an instruction was followed, and what was found, in a few words."""

    followed: bool
    why: str


class Instruction(BaseModel, ABC):
    """One instruction with its kwargs, which are its fields.

    ``name`` is the public id. A subclass does the work that depends on the kwargs alone once, in
    cached properties; `check` changes nothing, so threads share it.
    """

    # There are 83 of them, and a run uses few.
    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True
    )

    name: ClassVar[str]

    @abstractmethod
    def check(self, text: str) -> Finding:
        """Return whether ``text``, which is not blank, follows the instruction.

        Raises nothing, whatever the text.
        """


def _whole(value: Any) -> Any:
    # Tables hold counts as floats where other rows of the column have none.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a whole number is needed, not {value!r:.40}")
    return value


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"a list of texts is needed, not {value!r:.40}")
    return value


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is blank")
    return value


Whole = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
"""A number of things, from 0; ``5.0`` is 5."""
Positive = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
"""A place in an order, from 1."""
Share = Annotated[float, Field(ge=0, le=100, strict=True)]
"""Percent."""
Text = Annotated[str, AfterValidator(_said)]
"""A text that is not blank."""
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(min_length=1)]
"""One or more texts."""
Relation = Literal["less than", "at least"]


def compared(count: int, relation: Relation, bound: int, unit: str) -> Finding:
    """Return whether ``count`` is less than, or at least, ``bound``."""
    followed = count >= bound if relation == "at least" else count < bound
    return Finding(followed, f"{count} {unit}, {relation} {bound} asked")


def at_least(count: int, bound: int, unit: str) -> Finding:
    """Return whether ``count`` is at least ``bound``."""
    return Finding(count >= bound, f"{count} {unit}, at least {bound} asked")


def exactly(count: int, bound: int, unit: str) -> Finding:
    """Return whether ``count`` is ``bound``."""
    return Finding(count == bound, f"{count} {unit}, exactly {bound} asked")


def needs(followed: object, otherwise: str, *, found: str = "followed") -> Finding:
    """Return a finding whose reason is ``otherwise`` where the instruction is not followed."""
    return Finding(True, found) if followed else Finding(False, otherwise)
