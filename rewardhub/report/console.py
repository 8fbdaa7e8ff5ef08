"""Consoles and tables: rich on a terminal, plain lines everywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PLAIN_WIDTH = 10_000
"""Lines that go to a file or a pipe are not folded below this many characters."""

_FLEXIBLE_WIDTH = 24
"""What a flexible column needs at least, unless all its cells are shorter."""


def console_for(stream: TextIO) -> Console:
    """Return a console on ``stream``: with colour only on a terminal, and not under NO_COLOR."""
    from rich.console import Console

    terminal = stream.isatty()
    return Console(
        file=stream,
        force_terminal=terminal,
        width=None if terminal else PLAIN_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: what stands above it.
        right: whether its cells are numbers, which end below each other.
        flexible: whether it gives way first where the terminal is narrow.
    """

    title: str
    right: bool = False
    flexible: bool = False


def show_table(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: int = 0
) -> None:
    """Print a table.

    On a terminal it fits the width; where that is too narrow, each row is printed as a short
    list. Elsewhere nothing is cut or folded.
    """
    if not console.is_terminal:
        for line in aligned(columns, rows, indent):
            show_line(console, line)
    elif _least_width(columns, rows) + indent <= console.width:
        _show_rich(console, columns, rows, indent)
    else:
        _show_stacked(console, columns, rows, indent)


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    widths = _widths(columns, rows)
    least = [
        min(width, _FLEXIBLE_WIDTH) if column.flexible else width
        for column, width in zip(columns, widths, strict=True)
    ]
    return sum(least) + 2 * (len(columns) - 1)


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    every = [[column.title for column in columns], *rows]
    return [max(cell_len(row[place]) for row in every) for place in range(len(columns))]


def _show_rich(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], indent: int
) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not column.flexible,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (0, 0, 0, indent)))


def _show_stacked(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], indent: int
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for row in rows:
        console.print(Padding(Text(row[0], "bold"), (0, 0, 0, indent)))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                console.print(Padding(Text(f"{column.title}: {cell}"), (0, 0, 0, indent + 2)))


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]], indent: int = 0) -> list[str]:
    """Return a table as lines of text, its columns two spaces apart."""
    from rich.cells import cell_len

    widths = _widths(columns, rows)
    lines: list[str] = []
    for row in ([column.title for column in columns], *rows):
        cells: list[str] = []
        for cell, column, width in zip(row, columns, widths, strict=True):
            space = " " * (width - cell_len(cell))
            cells.append(space + cell if column.right else cell + space)
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines


def show_line(console: Console, line: str | Text = "", *, style: str | None = None) -> None:
    """Print one line; away from a terminal it is neither folded nor cut."""
    console.print(line, style=style, soft_wrap=not console.is_terminal)


def one_line(text: str, longest: int) -> str:
    """Return ``text`` on one line of at most ``longest`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def counted(count: int, what: str) -> str:
    """Return ``1 row``, ``2,000 rows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
