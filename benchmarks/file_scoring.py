"""Scoring a file: ``rewardhub score`` beside a bare loop, its memory, and what a worker adds.

Every run is a process of its own, from start to exit, so start-up and shut-down count. Memory is
measured in runs of their own: the proportional set size of the process and all its children, taken
ten times a second, and the largest counts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import trivial
from measure import Result, in_turns, is_quick

HERE = Path(__file__).parent
WORK = HERE.parent / ".bench" / "files"
_SAMPLE_SECONDS = 0.1
_MEGABYTE = 1_000_000


def rows_file(count: int) -> Path:
    """Return a file of ``count`` short chats."""
    path = WORK / f"{count}.jsonl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as out:
            for number in range(count):
                prompt, reply, reference = trivial.question(number)
                said = (("user", prompt), ("assistant", reply))
                messages = [{"role": role, "content": content} for role, content in said]
                row = {"id": f"row-{number}", "messages": messages, "reference": reference}
                out.write(f"{json.dumps(row)}\n")
    return path


def scoring(rows: Path, *, workers: int | None = None) -> list[str]:
    """Return the command that scores ``rows`` from scratch."""
    spec, run = WORK / "gated.yaml", WORK / "run"
    spec.write_text(json.dumps(trivial.GATED))  # JSON is YAML
    shutil.rmtree(run, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("rewardhub")), "score", str(rows)]
    command += ["--reward", str(spec), "--run", str(run), "--no-cache", "--quiet"]
    command += ["--plugin", str(HERE / "trivial.py")]
    return [*command, "--workers", str(workers)] if workers else command


def execute(command: list[str]) -> None:
    """Run ``command``; its output is of no interest unless it fails."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def peak_memory(command: list[str]) -> float:
    """Run ``command`` and return the most memory that it and its children had, in MB."""
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        tree = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _memory_of(tree))
            time.sleep(_SAMPLE_SECONDS)
    if process.returncode:
        raise SystemExit(f"{command} failed with code {process.returncode}.")
    return peak / _MEGABYTE


def _memory_of(tree: psutil.Process) -> int:
    total = 0
    try:
        members = [tree, *tree.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in members:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it has just ended, or is ending
    return total


def check_that_results_agree(rows: Path) -> None:
    """Raise unless both sides give the same values."""
    execute(scoring(rows))
    execute([sys.executable, str(HERE / "bare_loop.py"), str(rows), str(WORK / "bare.jsonl")])
    ledger = (WORK / "run" / "rewards.jsonl").read_text().splitlines()
    bare = (WORK / "bare.jsonl").read_text().splitlines()
    ours = [json.loads(line)["reward"]["value"] for line in ledger]
    theirs = [json.loads(line)["value"] for line in bare]
    if [round(each, 9) for each in ours] != [round(each, 9) for each in theirs]:
        raise SystemExit("The two sides give different rewards: nothing is compared.")


def measure_speed(count: int) -> None:
    """Compare with the bare loop, with as many workers as there are cores."""
    rows = rows_file(count)
    bare = [sys.executable, str(HERE / "bare_loop.py"), str(rows), str(WORK / "bare.jsonl")]
    pair = in_turns(lambda: execute(bare), lambda: execute(scoring(rows)), rounds=3)
    Result(
        name=f"`rewardhub score` of {count:,} short chats, seconds over a bare loop's",
        value=pair.ratio,
        unit="x",
        target=3,
        at_least=False,
        detail=f"{pair.second:.1f} s on {os.cpu_count()} cores beside {pair.first:.1f} s on one",
    ).print()


def measure_workers(count: int) -> None:
    """Compare two workers with one."""
    rows = rows_file(count)
    pair = in_turns(
        lambda: execute(scoring(rows, workers=2)),
        lambda: execute(scoring(rows, workers=1)),
        rounds=3,
    )
    Result(
        name="Two workers, speed over one",
        value=pair.ratio,
        unit="x",
        target=1.7,
        at_least=True,
        detail=f"{pair.first:.1f} s beside {pair.second:.1f} s for {count:,} chats",
    ).print()


def measure_memory(small: int, large: int) -> None:
    """Measure the peak for a large file, and how much of it comes with the number of rows."""
    low = peak_memory(scoring(rows_file(small)))
    high = peak_memory(scoring(rows_file(large)))
    Result(
        name=f"Peak memory of the process tree, {large:,} chats",
        value=high,
        unit="MB",
        target=250,
        at_least=False,
        detail="proportional set size",
    ).print()
    Result(
        name=f"Peak memory for {large:,} chats over that for {small:,}",
        value=high / low,
        unit="x",
        target=1.1,
        at_least=False,
        detail=f"{high:.0f} MB beside {low:.0f} MB: flat",
    ).print()


def main() -> None:
    small, large = (1_000, 4_000) if is_quick(__doc__) else (50_000, 200_000)
    WORK.mkdir(parents=True, exist_ok=True)
    check_that_results_agree(rows_file(small))
    measure_speed(large)
    measure_workers(large)
    measure_memory(small, large)
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
