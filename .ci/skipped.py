"""Fail if a test was skipped that could have run here.

A skipped test proves nothing, and nobody reads a green run for what it left out. Only two kinds of
reason are accepted: another Python is needed (the reason begins with ``needs Python``), or inputs
that are kept outside of the repository are absent (the reason names the variable that says where
they are), and the whole folder is.

Usage: python .ci/skipped.py JUNIT_XML
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

SHARED = Path(__file__).parents[2] / "shared"
INPUTS = {"REWARDHUB_DATA": SHARED / "data", "REWARDHUB_VECTORS": SHARED / "vectors"}
"""Variable -> where the inputs are if it is not set."""


def skipped(report: Path) -> Iterator[tuple[str, str]]:
    """Yield name and reason of each skipped test; expected failures are not skipped."""
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # pytest wrote it
        for mark in case.iter("skipped"):
            if mark.get("type") == "pytest.skip":
                yield f"{case.get('classname')}.{case.get('name')}", mark.get("message", "")


def is_accepted(reason: str) -> bool:
    """Whether a test with this reason could not have run here."""
    if reason.startswith("needs Python"):
        return True
    return any(
        variable in reason and not Path(os.environ.get(variable, folder)).is_dir()
        for variable, folder in INPUTS.items()
    )


def main() -> int:
    """Return 1 and say which tests were left out, or 0 if none was."""
    amiss = [each for each in skipped(Path(sys.argv[1])) if not is_accepted(each[1])]
    for name, reason in amiss:
        sys.stderr.write(f"skipped, and should have run: {name}: {reason}\n")
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main())
