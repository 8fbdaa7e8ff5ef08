"""Another time of day, for solutions that must not depend on it. Standard library only."""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

VARIABLE = "REWARDHUB_CLOCK"
"""The environment variable that says by how many seconds clocks are ahead."""


def shift() -> None:
    """Put the clocks of this process ahead, if the environment says so."""
    seconds = float(os.environ.pop(VARIABLE, "0"))
    if not seconds:
        return
    for name in ("time", "monotonic", "perf_counter"):
        _ahead(name, seconds)
        _ahead(f"{name}_ns", int(seconds * 1_000_000_000))
    _shift_dates(datetime.timedelta(seconds=seconds))


def _shift_dates(ahead: datetime.timedelta) -> None:
    class Shifted(datetime.datetime):
        """The class of the standard library, with another ``now``."""

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + ahead

        @classmethod
        def utcnow(cls) -> Any:
            return super().utcnow() + ahead  # pyright: ignore[reportDeprecated]  # solutions use it

    class ShiftedDate(datetime.date):
        """The class of the standard library, with another ``today``."""

        @classmethod
        def today(cls) -> Any:
            return super().today() + ahead

    datetime.datetime = Shifted  # type: ignore[misc]
    datetime.date = ShiftedDate  # type: ignore[misc]


def _ahead(name: str, amount: Any) -> None:
    real = getattr(time, name)
    setattr(time, name, lambda: real() + amount)
