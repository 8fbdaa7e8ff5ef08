"""Tables and lines: folded on a terminal, whole elsewhere, and colour only where it is wanted."""

import io

import pytest
from rich.console import Console

from rewardhub.report.console import (
    Column,
    aligned,
    console_for,
    counted,
    one_line,
    show_line,
    show_table,
)

COLUMNS = (Column("Name"), Column("Count", right=True), Column("About", flexible=True))
ROWS = [("a", "7", "first of all"), ("long-name", "1,234", "")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(width, *, rows=ROWS):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system=None)
    show_table(console, COLUMNS, rows)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_aligns_columns_without_cutting_anything():
    assert aligned(COLUMNS, ROWS, 2) == [
        "  Name       Count  About",
        "  a              7  first of all",
        "  long-name  1,234",
    ]


def test_counts_wide_characters_as_two():
    assert aligned((Column("N"), Column("M")), [("語", "x"), ("ab", "y")]) == [
        "N   M",
        "語  x",
        "ab  y",
    ]


def test_folds_what_is_flexible_on_a_terminal():
    rows = [("a", "7", "one two three four five six seven")]
    assert shown(40, rows=rows) == [
        "Name  Count  About",
        "a         7  one two three four five six",
        "             seven",
    ]


def test_prints_lists_where_a_table_is_too_wide():
    assert shown(24) == [
        "a",
        "  Count: 7",
        "  About: first of all",
        "long-name",
        "  Count: 1,234",
    ]


def test_a_pipe_gets_long_lines_whole():
    stream = io.StringIO()
    show_line(console_for(stream), "x" * 500, style="bold red")
    assert stream.getvalue() == "x" * 500 + "\n"


def test_a_terminal_gets_colour_unless_it_says_no(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain = Terminal(), Terminal()
    show_line(console_for(coloured), "x", style="red")
    monkeypatch.setenv("NO_COLOR", "1")
    show_line(console_for(plain), "x", style="red")
    assert "\x1b[31m" in coloured.getvalue()
    assert "\x1b[31m" not in plain.getvalue()


def test_markup_in_a_text_is_text():
    stream = Terminal()
    show_line(console_for(stream), "[bold]:smile: x[/bold]")
    assert "[bold]:smile: x[/bold]" in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "short"), [("a\n  b", "a b"), ("x" * 11, "x" * 9 + "…"), ("x" * 10, "x" * 10)]
)
def test_puts_a_text_on_one_line(text, short):
    assert one_line(text, 10) == short


@pytest.mark.parametrize(("count", "text"), [(0, "0 rows"), (1, "1 row"), (2000, "2,000 rows")])
def test_counts_in_words(count, text):
    assert counted(count, "row") == text
