"""What a run says of itself while it runs."""

import io
import sys

import pytest

from rewardhub.cli.progress import LINE_SECONDS, Pace, ProgressView
from rewardhub.engine import Progress, Tally
from rewardhub.records import Reward


def report(rows, seconds, *, read=None, waiting=0, tally=None, blocked_by=None):
    done = rows + waiting
    return Progress(
        rows, done * 10 if read is None else read, 1000, seconds, tally or Tally(), waiting,
        blocked_by,
    )  # fmt: skip


@pytest.fixture
def lines(capsys, tmp_path):
    """Return what is written to a stderr that is no terminal."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n')

    def run(*reports, quiet=False):
        with ProgressView([path], quiet=quiet) as view:
            for each in reports:
                view(each)
        return capsys.readouterr().err.splitlines()

    return run


def test_says_a_line_now_and_then(lines):
    assert lines(
        report(0, 0.2), report(10, LINE_SECONDS), report(15, LINE_SECONDS + 5),
        report(40, LINE_SECONDS * 2), report(100, LINE_SECONDS * 3),
    ) == [
        "10 rows, 10%, 1 rows/s, 1:28 left",
        "40 rows, 40%, 3 rows/s, 0:20 left",
        "100 rows, 100%, 6 rows/s, 0:00 left",
    ]  # fmt: skip


def test_says_that_it_starts(lines):
    assert lines(report(0, LINE_SECONDS)) == ["starting"]


def test_says_what_goes_wrong_and_which_row_blocks(lines):
    tally = Tally()
    tally.add(Reward.unscored("grader", "broke"))
    tally.add_bad("no JSON")
    (line,) = lines(report(2, LINE_SECONDS, tally=tally, blocked_by="a.jsonl:3"))
    assert line.endswith("1 unscored (grader), 1 bad row, waiting for a.jsonl:3")


def test_says_nothing_when_quiet(lines):
    assert lines(report(1, LINE_SECONDS), quiet=True) == []


def test_rows_under_way_are_not_done():
    pace = Pace(measurable=True)
    pace.note(report(25, 1.0, read=1000, waiting=75))
    assert pace.share == 0.25


def test_a_compressed_file_does_not_say_how_much_is_left(lines, tmp_path):
    pace = Pace(measurable=False)
    pace.note(report(10, 1.0))
    pace.note(report(20, 2.0))
    assert (pace.share, pace.seconds_left, pace.rows_per_second) == (None, None, 10.0)


def test_the_pace_is_that_of_the_last_seconds():
    pace = Pace(measurable=True)
    for second in range(60):
        pace.note(report(second * (1 if second < 40 else 2), float(second)))
    assert pace.rows_per_second == pytest.approx(2.0)


def test_a_terminal_gets_a_display_that_goes_away(monkeypatch, tmp_path):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n')
    with ProgressView([path]) as view:
        view(report(50, 1.0))
    shown = stream.getvalue()
    assert "50 rows, 50%" in shown
    assert shown.endswith("\x1b[2K")
