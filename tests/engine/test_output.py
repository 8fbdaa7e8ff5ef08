"""What is written of rows that are no trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.errors import RowError
from rewardhub.host import Manifest, Registry, from_manifest
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]

LENGTH = {"use": "plain/length"}


def _numbered(count: int, text: str = "x") -> list[Trajectory]:
    return [make_trajectory(text, id=f"row {number}") for number in range(count)]


ROWS = b"""\
{"task": {"messages": []}, "steps": [{"text": "x"}], "id": "one"}
this is no JSON

{"task": {"messages": []}, "steps": [{"txt": "x"}]}
{"task": {"messages": []}, "steps": []}
{"task": {"messages": []}, "steps": [{"text": "xx"}], "id": "six"}
"""


@pytest.fixture
def bad_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.mark.parametrize("ordered", [True, False])
def test_bad_rows_are_told_with_their_numbers(
    ordered: bool,
    bad_file: Path,
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
) -> None:
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file, ordered=ordered)
    assert sorted(done.rewards) == ["one", "six"]
    assert [(each["source"], each["row"]) for each in done.failures] == [
        (str(bad_file), number) for number in (2, 4, 5)
    ]
    assert "txt" in done.failures[1]["error"]
    assert (done.outcome.tally.rows, done.outcome.tally.bad) == (2, 3)


def test_a_strict_run_ends_at_the_first_bad_row_and_keeps_what_is_done(
    bad_file: Path, plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    with pytest.raises(RowError, match=r"rows\.jsonl, row 2: "):
        run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file, strict=True)
    bad_file.write_bytes(ROWS.replace(b"this is no JSON", b""))
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file)
    assert sorted(done.rewards) == ["one", "six"]


def test_an_id_that_was_there_before_is_a_bad_row(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    answers = [*_numbered(40), make_trajectory("xx", id="row 3"), make_trajectory("xx", id="new")]
    done = run_files(
        spec_of(LENGTH), plain, tmp_path / "run", write_rows(tmp_path / "rows.jsonl", answers)
    )
    assert [row["id"] for row in done.rows] == [f"row {number}" for number in range(40)] + ["new"]
    assert [each["row"] for each in done.failures] == [41]
    assert "its id was there before" in done.failures[0]["error"]
    assert (done.outcome.tally.rows, done.outcome.tally.bad) == (41, 1)
    assert done.outcome.tally.parts["length"].graded == 41


def test_equal_answers_without_ids_are_rows_each(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"task": {"messages": []}, "steps": [{"text": "x"}]}\n' * 5)
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", file)
    assert done.values == [0.1] * 5


READER = '''
from collections.abc import Iterator
from pathlib import Path

from rewardhub import RawRow, Reader, ReaderCard, ReadOptions, Trajectory, hookimpl
from rewardhub.testing import make_trajectory


class Lines(Reader):
    """Each line is an answer; some break the reader."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            yield RawRow(number, line)

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        text = row.data.decode()
        if text == "bug":
            raise KeyError("a bug of the reader")
        if text == "exit":
            raise SystemExit(3)
        return make_trajectory(text, id=f"line {row.number}")


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    yield ReaderCard(name="lines", reader=Lines, recognises=lambda head: False)
'''


def test_a_reader_that_breaks_costs_its_row_and_not_the_run(
    tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    plugin = tmp_path / "reader.py"
    plugin.write_text(READER)
    paths = (str(plugin), str(Path(__file__).parent / "loose" / "plain.py"))
    registry = from_manifest(Manifest(discover=False, loose=paths))
    file = tmp_path / "lines.txt"
    file.write_text("x\nbug\nxx\nexit\nxxx\n")
    done = run_files(spec_of(LENGTH), registry, tmp_path / "run", file, reader="lines")
    assert done.values == [0.1, 0.2, 0.3]
    assert [each["row"] for each in done.failures] == [2, 4]
    assert "KeyError" in done.failures[0]["error"]
    assert "SystemExit" in done.failures[1]["error"]
