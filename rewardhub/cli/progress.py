"""How far a run is, on stderr: a live display on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rewardhub.report.console import console_for, counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from rewardhub.engine.run import Progress

LINE_SECONDS = 10.0
"""Away from a terminal a run says this often how far it is."""

_MEMORY_SECONDS = 10.0


class Pace:
    """How fast a run is, and when it will be done, from what it did in the last ten seconds.

    Args:
        measurable: whether the size of the files says how much there is to read.

    Attributes:
        share: how much is done, from 0 to 1; None where that cannot be said.
    """

    def __init__(self, *, measurable: bool) -> None:
        self._measurable = measurable
        self._seen: deque[tuple[float, int, float]] = deque()
        self.share: float | None = None

    def note(self, progress: Progress) -> None:
        """Take the next report of the run."""
        rows = progress.rows
        under_way = rows + progress.waiting
        done_bytes = progress.bytes_read * rows / under_way if under_way else 0.0
        if self._measurable and progress.bytes_total:
            self.share = min(1.0, done_bytes / progress.bytes_total)
        self._seen.append((progress.seconds, rows, self.share or 0.0))
        while progress.seconds - self._seen[0][0] > _MEMORY_SECONDS and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def rows_per_second(self) -> float | None:
        """Rows a second, or None before the second report."""
        return self._speed(1)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run is done, or None where that cannot be said."""
        speed = self._speed(2)
        return (1.0 - self.share) / speed if speed and self.share is not None else None

    def _speed(self, what: int) -> float | None:
        first, last = self._seen[0], self._seen[-1]
        seconds = last[0] - first[0]
        return (last[what] - first[what]) / seconds if seconds > 0 else None


class ProgressView:
    """Shows the reports of a run. Enter it before the run, and leave it after.

    Args:
        inputs: the files that are read.
        quiet: show nothing.
    """

    def __init__(self, inputs: Iterable[Path], *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._pace = Pace(measurable=all(_is_plain(path) for path in inputs))
        self._live: Live | None = None
        self._last_line = 0.0

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.live import Live

            console = console_for(sys.stderr)
            self._live = Live(
                console=console, transient=True, refresh_per_second=5, redirect_stdout=False
            )
            self._live.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        self._pace.note(progress)
        if self._live is not None:
            self._live.update(self._display(progress, self._live.console))
        elif not self._quiet and progress.seconds - self._last_line >= LINE_SECONDS:
            self._last_line = progress.seconds
            sys.stderr.write(f"{', '.join(self._facts(progress))}\n")

    def _display(self, progress: Progress, console: Console) -> Text:
        from rich.text import Text

        shown = Text(overflow="fold")
        if self._pace.share is not None:
            width = min(console.width, 60)
            done = round(self._pace.share * width)
            full, empty = "━─" if console.encoding.lower().startswith("utf") else "#."
            shown.append(full * done, "green").append(empty * (width - done) + "\n", "dim")
        return shown.append(", ".join(self._facts(progress)))

    def _facts(self, progress: Progress) -> list[str]:
        """Return what there is to say, the most important first."""
        pace, tally = self._pace, progress.tally
        if not progress.rows:
            return ["starting"]
        facts = [counted(progress.rows, "row")]
        if pace.share is not None:
            facts.append(f"{pace.share:.0%}")
        if pace.rows_per_second is not None:
            facts.append(f"{pace.rows_per_second:,.0f} rows/s")
        if pace.seconds_left is not None:
            facts.append(f"{_clock(pace.seconds_left)} left")
        facts += [f"{count:,} unscored ({fault})" for fault, count in tally.faults.items()]
        if tally.bad:
            facts.append(counted(tally.bad, "bad row"))
        if progress.blocked_by is not None:
            facts.append(f"waiting for {progress.blocked_by}")
        return facts


def _is_plain(path: Path) -> bool:
    """Whether a file is JSON lines as they are: a compressed one gives more than its size."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
