"""Where each piece of a reward file was written, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rewardhub.errors import Mistake

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1, and are None where there is no file."""

    file: str = ""
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of a reward file, and where it stands.

    Attributes:
        value: a scalar, or the nodes below.
        mark: where the value begins.
        key: where its key stands; for list items, the same as ``mark``.
        inset: for text that stands in the file character by character, on one line: how far its
            first character is from ``mark`` (1 for a quote); else None.
    """

    value: Scalar | dict[str, Node] | list[Node]
    mark: Mark
    key: Mark
    inset: int | None = None

    @property
    def fields(self) -> Mapping[str, Node]:
        """The fields of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> Sequence[Node]:
        """The items of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else ()

    @property
    def plain(self) -> Any:
        """The value without marks."""
        if isinstance(self.value, dict):
            return {name: node.plain for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    def below(self, name: str) -> Mapping[str, Node]:
        """Return the fields of the mapping under ``name``; empty where there is none."""
        node = self.fields.get(name)
        return {} if node is None else node.fields

    def text(self, name: str) -> str:
        """Return the field ``name`` where it is text, else an empty string."""
        node = self.fields.get(name)
        return node.value if node is not None and isinstance(node.value, str) else ""

    def without(self, *names: str) -> Node:
        """Return the mapping without the fields ``names``."""
        kept = {name: node for name, node in self.fields.items() if name not in names}
        return Node(kept, self.mark, self.key)

    def inside(self, offset: int) -> Mark:
        """Return the place of the character at ``offset`` of the text, as near as it is known."""
        mark = self.mark
        if self.inset is None or mark.column is None:
            return mark
        return Mark(mark.file, mark.line, mark.column + self.inset + offset)


@dataclass(slots=True)
class Mistakes:
    """All that is wrong with a reward file so far."""

    found: list[Mistake] = field(default_factory=list[Mistake])

    def add(
        self, mark: Mark, message: str, *, level: Literal["error", "warning"] = "error"
    ) -> None:
        """Note a mistake; the same one at the same place is noted once."""
        mistake = Mistake(
            message=message, file=mark.file, line=mark.line, column=mark.column, level=level
        )
        if mistake not in self.found:
            self.found.append(mistake)

    def warn(self, mark: Mark, message: str) -> None:
        """Note what is legal, and probably not meant."""
        self.add(mark, message, level="warning")

    def take(self, mistakes: Iterable[Mistake], mark: Mark, what: str) -> None:
        """Note the mistakes of another file; those without a line at ``mark``, which names it."""
        for mistake in mistakes:
            if mistake.line is None:
                self.add(mark, f"{what}: {mistake.message}", level=mistake.level)
            elif mistake not in self.found:
                self.found.append(mistake)

    @property
    def errors(self) -> tuple[Mistake, ...]:
        """The mistakes that keep the file from being used."""
        return tuple(mistake for mistake in self.found if mistake.level == "error")


def shown(value: Any) -> str:
    """Return ``value`` of a node as a message names it."""
    match value:
        case None:
            return "null"
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f"the text `{value if len(value) <= 40 else value[:37] + '...'}`"
        case int() | float():
            return f"{value}"
        case Mapping():
            return "a mapping"
        case _:
            return "a list"
