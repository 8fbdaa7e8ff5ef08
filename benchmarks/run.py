"""Run the benchmarks one after the other, and print each figure beside its target.

``make bench`` runs this. Peers live in environments of their own under ``.bench``: they pin what
the others need in another version. Nothing here changes ``.venv``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from measure import Result

HERE = Path(__file__).parent
ROOT = HERE.parent
BENCHMARKS: Mapping[str, Sequence[str]] = {
    "compose_openenv": ("openenv==0.10.0",),
    "compose_verifiers": ("verifiers==0.4.0",),
    "file_scoring": (),
    "boxed_integers": (),
    "judging": (),
    "sandbox": (),
    "start_up": (),
}
"""Script -> the peers that it needs, beside rewardhub itself."""


def python_for(name: str, peers: Sequence[str]) -> str:
    """Return the Python that runs a benchmark; the first time this installs its peers."""
    if not peers:
        return sys.executable
    folder = ROOT / ".bench" / name
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists() or ready.read_text() != " ".join(peers):
        sys.stderr.write(f"Installing {', '.join(peers)} in {folder}\n")
        venv.create(folder, clear=True, with_pip=True)
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([str(python), *install, *peers, "-e", str(ROOT)], check=True)
        ready.write_text(" ".join(peers))
    return str(python)


def results_of(name: str, *, quick: bool) -> Iterator[Result]:
    """Run one benchmark and yield its figures.

    Raises:
        subprocess.CalledProcessError: if it fails.
    """
    command = [python_for(name, BENCHMARKS[name]), str(HERE / f"{name}.py")]
    sys.stderr.write(f"{name} ...\n")
    done = subprocess.run(
        command + ["--quick"] * quick, check=True, stdout=subprocess.PIPE, text=True
    )
    for line in done.stdout.splitlines():
        yield Result(**json.loads(line))


def shown(result: Result) -> str:
    """Return one line of the table."""
    sign = ">=" if result.at_least else "<="
    verdict = "met" if result.met else "MISSED"
    figures = f"{result.value:.3g} {result.unit} | {sign} {result.target:g} {result.unit}"
    return f"| {result.name} | {figures} | {verdict} | {result.detail} |"


def main() -> int:
    """Print the table. Return 1 if a benchmark could not be run, else 0, targets met or not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a trial of the scripts")
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="may be repeated")
    options = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{platform.system()}; load before the run {os.getloadavg()[0]:.1f}"
    )
    if options.quick:
        print("Small sizes: the figures say that the scripts run, and nothing else.")
    print("\n| measured | result | target | | from |\n|---|---|---|---|---|", flush=True)
    missed = broken = 0
    for name in options.only or BENCHMARKS:
        try:
            for result in results_of(name, quick=options.quick):
                print(shown(result), flush=True)
                missed += not result.met
        except subprocess.CalledProcessError as error:
            print(f"| {name} | could not be run: {error} | | | |", flush=True)
            broken += 1
    print(f"\n{missed} targets missed, {broken} benchmarks could not be run.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
