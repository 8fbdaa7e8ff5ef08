# ruff: noqa: S603, T201  # a script: it starts what it measures, and its output is its result
"""Which tests can run apart from the solution, and what that costs.

python plugins/code/benchmarks/split.py share     HumanEval and MBPP, from REWARDHUB_DATA
python plugins/code/benchmarks/split.py speed     beside plain Python and plain pytest
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rewardhub_code import CodeCheck, UnitTests
from rewardhub_code.calls import run_calls
from rewardhub_code.solution import RunLimits
from rewardhub_code.unit_tests import Mode, run_tests

from rewardhub import Sandbox, SandboxCard, TaskError, discover

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "code"
SOLUTION = "def add(a, b):\n    return a + b\n"
ASSERTS = ["assert add(1, 2) == 3", "assert add([1], [2]) == [1, 2]", "assert add(0, 0) == 0"]
LIMITS = RunLimits(cpu_seconds=10, memory_mb=512)
ROUNDS = 40


def tasks(name: str) -> Iterator[tuple[CodeCheck, str]]:
    """Yield the checks and the reference solution of each task."""
    if name == "HumanEval":
        for line in gzip.decompress((DATA / "HumanEval.jsonl.gz").read_bytes()).splitlines():
            row = json.loads(line)
            tests: dict[str, Any] = {"check": row["test"]}
            check = {"entry_point": row["entry_point"], "unit_tests": tests}
            yield CodeCheck.model_validate(check), row["prompt"] + row["canonical_solution"]
        return
    for line in (DATA / "mbpp_test.jsonl").read_bytes().splitlines():
        row = json.loads(line)
        asserts = [*row["test_list"], *row["challenge_test_list"]]
        tests = {"asserts": asserts, "setup": row["test_setup_code"]}
        yield CodeCheck.model_validate({"unit_tests": tests}), row["code"]


def share(sandbox: Sandbox) -> None:
    """Print how many tasks can be split, and why the others cannot."""
    grader = UnitTests()
    for name in ("HumanEval", "MBPP"):
        found: Counter[str] = Counter()
        for check, reference in tasks(name):
            try:
                found[grader.finding_of(sandbox, check, reference).mode] += 1
            except TaskError as error:
                found[str(error)] += 1
        print(f"{name}: {found['split']} of {found.total()} tasks can be split")
        for reason, count in found.items():
            if reason != "split":
                print(f"  {count}: {reason}")


def quartile(play: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the lower quartile of the milliseconds that ``play`` takes."""
    play()
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        play()
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)[rounds // 4]


def speed(sandbox: Sandbox) -> None:
    """Print what three tests cost, beside the same without a sandbox."""
    bodies = enumerate(ASSERTS)
    tests = "\n".join(f"def test_{number}():\n    {body}\n" for number, body in bodies)
    file = f"from solution import add\n\n{tests}"
    asserts = CodeCheck.model_validate(
        {
            "entry_point": "add",
            "unit_tests": {"asserts": ASSERTS},
            "calls": {"tests": [{"args": [1, 2], "expected": 3}] * 3},
        }
    )
    files = CodeCheck.model_validate({"unit_tests": {"pytest": {"test_add.py": file}}})

    def run(check: CodeCheck, mode: Mode) -> Callable[[], object]:
        return lambda: run_tests(
            sandbox, SOLUTION, check, reference=SOLUTION, mode=mode, limits=LIMITS
        )

    python = quartile(
        lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    )
    pytest = quartile(plain_pytest(file), ROUNDS // 4)
    print(f"python -I -S -c pass    {python:8.1f} ms")
    print(f"pytest, no sandbox      {pytest:8.1f} ms")
    measured = {
        "calls": (quartile(lambda: run_calls(sandbox, SOLUTION, asserts, LIMITS)), python),
        "asserts, split": (quartile(run(asserts, "split")), python),
        "asserts, in-process": (quartile(run(asserts, "in-process")), python),
        "pytest, split": (quartile(run(files, "split")), pytest),
        "pytest, in-process": (quartile(run(files, "in-process")), pytest),
    }
    for name, (taken, floor) in measured.items():
        beside = "python" if floor is python else "pytest"
        print(f"{name:<23} {taken:8.1f} ms = {taken / floor:.2f} x {beside}")


def plain_pytest(file: str) -> Callable[[], object]:
    """Return what runs the same tests by pytest's command line, without other plugins."""
    folder = Path(tempfile.mkdtemp())
    (folder / "solution.py").write_text(SOLUTION, encoding="utf-8")
    (folder / "test_add.py").write_text(file, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_add.py"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return lambda: subprocess.run(
        command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL
    )


def main() -> None:
    """Run the part that the command line names."""
    parts = {"share": share, "speed": speed}
    part = parts[sys.argv[1]]
    sandbox = discover().get(SandboxCard, "local").card.sandbox()
    sandbox.open()
    try:
        part(sandbox)
    finally:
        sandbox.close()


if __name__ == "__main__":
    main()
