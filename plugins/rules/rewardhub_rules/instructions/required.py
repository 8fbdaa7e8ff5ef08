"""What a task says under ``checks.instructions``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from rewardhub_rules.instructions.catalogue import instruction_of

__all__ = ["InstructionList", "Required", "pairs_of"]

_COLUMNS = ("instruction_id_list", "kwargs")


class Required(BaseModel):
    """One instruction of a task.

    Attributes:
        id: its public id: ``keywords:existence``.
        kwargs: what it asks for; null values count as not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: str
    kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be_checked(self) -> Self:
        try:
            instruction_of(self.id, self.kwargs)
        except ValueError as error:
            raise ValueError(f"`{self.id}`: {error}") from None
        return self


class InstructionList(RootModel[list[Required]]):
    """The instructions of a task: a list, or the two columns of the public data sets.

    The columns are ``{"instruction_id_list": [...], "kwargs": [{...}, ...]}``, of equal length;
    kwargs that are null, or padded with null, count as not given.
    """

    @model_validator(mode="before")
    @classmethod
    def _from_columns(cls, value: Any) -> Any:
        return [{"id": name, "kwargs": kwargs} for name, kwargs in pairs_of(value)]


def pairs_of(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the id and the kwargs of each instruction in ``value``, in either shape.

    Raises:
        ValueError: if it has neither shape, or lists none.
    """
    if isinstance(value, dict):
        pairs = _of_columns(value)
    elif _is_list(value):
        pairs = [_of_item(item) for item in value]
    else:
        raise ValueError(
            'it is a list of {"id": ..., "kwargs": {...}}, or an object with the columns '
            f"`instruction_id_list` and `kwargs`, not {value!r:.40}"
        )
    if not pairs:
        raise ValueError("it lists no instruction")
    for name, kwargs in pairs:
        if not (isinstance(name, str) and isinstance(kwargs, dict)):
            raise ValueError(
                f"an id is text and its kwargs an object: {name!r:.40}, {kwargs!r:.40}"
            )
    return pairs


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _of_columns(value: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    stray = next((name for name in value if name not in _COLUMNS), None)
    names: Any = value.get(_COLUMNS[0])
    kwargs: Any = value.get(_COLUMNS[1])
    if stray is not None or not _is_list(names):
        raise ValueError("its columns are the lists `instruction_id_list` and `kwargs`")
    kwargs = [None] * len(names) if kwargs is None else kwargs
    if not _is_list(kwargs) or len(kwargs) != len(names):
        raise ValueError("`kwargs` has one object for each id in `instruction_id_list`")
    return [(name, {} if each is None else each) for name, each in zip(names, kwargs, strict=True)]


def _of_item(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, dict) or "id" not in item or set(item) - {"id", "kwargs"}:
        raise ValueError(f'an instruction is {{"id": ..., "kwargs": {{...}}}}, not {item!r:.80}')
    kwargs = item.get("kwargs")
    return item["id"], {} if kwargs is None else kwargs
