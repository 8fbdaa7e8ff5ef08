"""Every instruction by its public id: 25 of IFEval and 58 of IFBench.

IFEval: Zhou et al. (2023), Instruction-Following Evaluation for Large Language Models,
https://arxiv.org/abs/2311.07911. IFBench: Pyatkin et al. (2025), Generalizing Verifiable
Instruction Following, https://arxiv.org/abs/2507.02833.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from rewardhub import UnknownNameError
from rewardhub_rules.instructions.kinds import Instruction

__all__ = ["catalogue", "instruction_of"]


@cache
def catalogue() -> Mapping[str, type[Instruction]]:
    """Return id -> class of every instruction, in the order of the families."""
    # Their modules are loaded with the first task that has instructions, not with the pack.
    from rewardhub_rules.instructions import (
        counts,
        customs,
        formats,
        keywords,
        language,
        layout,
        lengths,
        line_formats,
        repeats,
        sentence_rules,
        tables,
        whole,
        word_rules,
    )

    families = (
        *(keywords, language, lengths, layout, whole),
        *(counts, sentence_rules, word_rules),
        *(formats, line_formats, customs, tables, repeats),
    )
    members = (getattr(family, name) for family in families for name in family.__all__)
    return MappingProxyType(
        {
            member.name: member
            for member in members
            if isinstance(member, type) and issubclass(member, Instruction)
        }
    )


def instruction_of(name: str, kwargs: Mapping[str, Any]) -> Instruction:
    """Return the instruction with the id ``name`` and these kwargs; null ones are left out.

    Raises:
        ValueError: if no instruction is called so, or it lacks a kwarg, has one that it does not
            know, or one of a wrong type. None is ever drawn at random.
    """
    kind = catalogue().get(name)
    if kind is None:
        raise ValueError(str(UnknownNameError("instruction", name, catalogue())))
    given = {key: value for key, value in kwargs.items() if value is not None}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise ValueError("; ".join(_sentences(error, kind))) from None


def _sentences(error: ValidationError, kind: type[Instruction]) -> list[str]:
    known = ", ".join(f"`{field}`" for field in kind.model_fields) or "none"
    found: list[str] = []
    for entry in error.errors(include_url=False, include_input=False):
        path = ".".join(map(str, entry["loc"]))
        if entry["type"] == "missing":
            found.append(f"it needs the kwarg `{path}`, and none is drawn at random")
        elif entry["type"] == "extra_forbidden":
            found.append(f"it has no kwarg `{path}` (its kwargs: {known})")
        else:
            message = entry["msg"].removeprefix("Value error, ")
            found.append(f"`{path}`: {message}" if path else message)
    return found
