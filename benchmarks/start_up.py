"""Starting: ``import rewardhub`` and ``rewardhub --help``, over a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from measure import Result, is_quick, seconds_of

HEAVY = ("torch", "sympy", "docker")
HELP = "import sys; sys.argv = ['rewardhub', '--help']; from rewardhub.cli import main; main()"
_SAY_MODULES = (
    "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))"
)


def run(code: str) -> str:
    """Run ``code`` in a Python of its own, and return what it said on stderr."""
    command: Sequence[str] = (sys.executable, "-c", code)
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def check_that_it_is_light(code: str) -> None:
    """Raise if ``code`` imports anything heavy."""
    modules = set(run(f"{_SAY_MODULES}; {code}").split())
    if "rewardhub" not in modules:
        raise SystemExit(f"`{code}` did not import rewardhub: nothing is measured.")
    if heavy := modules.intersection(HEAVY):
        raise SystemExit(f"`{code}` imports {', '.join(sorted(heavy))}.")


def main() -> None:
    rounds = 3 if is_quick(__doc__) else 21
    measured = {"import rewardhub": "import rewardhub", "rewardhub --help": HELP}
    for code in measured.values():
        check_that_it_is_light(code)
    times: dict[str, list[float]] = {"pass": [], **{name: [] for name in measured}}
    for _ in range(rounds):
        for name, code in {"pass": "pass", **measured}.items():
            times[name].append(seconds_of(partial(run, code)))
    bare = statistics.median(times["pass"])
    for name in measured:
        seconds = statistics.median(times[name])
        Result(
            name=f"`{name}`, seconds over `python -c pass`",
            value=seconds - bare,
            unit="s",
            target=0.3,
            at_least=False,
            detail=f"{seconds:.2f} s beside {bare:.2f} s; {', '.join(HEAVY)} are not imported",
        ).print()


if __name__ == "__main__":
    main()
