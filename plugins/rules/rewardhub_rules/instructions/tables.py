"""IFBench, family ``custom``: tables of comma- and tab-separated values."""

from __future__ import annotations

import csv
import re
from typing import ClassVar

from rewardhub_rules.instructions.kinds import Finding, Instruction, exactly, needs
from rewardhub_rules.instructions.layout import unfenced

__all__ = ["CsvCity", "CsvQuotes", "CsvSpecialCharacter"]

_CITY = ("ID", "Country", "City", "Year", "Count")
_PRODUCT = ("ProductID", "Category", "Brand", "Price", "Stock")
_STUDENT = ("StudentID", "Subject", "Grade", "Semester", "Score")


def _wrong(lines: list[str], header: tuple[str, ...], count: int, delimiter: str) -> Finding | None:
    """Return what is wrong with a table of ``count`` rows below ``header``, or None."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        return Finding(False, f"it is no table: {error}")
    if not rows or tuple(field.strip() for field in rows[0]) != header:
        return Finding(False, f"its first line is not {delimiter.join(header)!r}")
    if len(rows) != count + 1:
        return exactly(len(rows) - 1, count, "rows")
    narrow = next((at for at, row in enumerate(rows) if len(row) != len(header)), 0)
    return Finding(False, f"row {narrow} has {len(rows[narrow])} fields") if narrow else None


def _lines(text: str) -> list[str]:
    return [line for line in unfenced(text, "csv", "tsv", "text").splitlines() if line.strip()]


class CsvCity(Instruction):
    """A table of 7 rows with the columns ID, Country, City, Year and Count."""

    name: ClassVar[str] = "custom:csv_city"

    def check(self, text: str) -> Finding:
        """Read the table."""
        return _wrong(_lines(text), _CITY, 7, ",") or Finding(True, "followed")


_QUOTED = re.compile(r'(?:^|,)[ \t]*"((?:[^"]|"")*)"')
_SPECIAL = re.compile(r'[^\w\s"]')


class CsvSpecialCharacter(Instruction):
    """A table of 14 products, with a field in double quotes that has a special character."""

    name: ClassVar[str] = "custom:csv_special_character"

    def check(self, text: str) -> Finding:
        """Read the table, then look for the field below its first line."""
        lines = _lines(text)
        wrong = _wrong(lines, _PRODUCT, 14, ",")
        if wrong:
            return wrong
        quoted = (field for line in lines[1:] for field in _QUOTED.findall(line))
        found = any(map(_SPECIAL.search, quoted))
        return needs(found, "no quoted field has a special character")


_ALL_QUOTED = re.compile(r'"(?:[^"]|"")*"(?:\t *"(?:[^"]|"")*")*')


class CsvQuotes(Instruction):
    """A table of 3 rows with tabs between its fields, each of them in double quotes."""

    name: ClassVar[str] = "custom:csv_quotes"

    def check(self, text: str) -> Finding:
        """Read the table, then look at the quotes of each line."""
        lines = _lines(text)
        wrong = _wrong(lines, _STUDENT, 3, "\t")
        if wrong:
            return wrong
        bare = next(
            (at for at, line in enumerate(lines) if not _ALL_QUOTED.fullmatch(line.strip())), -1
        )
        return needs(bare < 0, f"line {bare + 1} has a field without quotes")
