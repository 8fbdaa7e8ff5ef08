"""What a run in a sandbox costs, as ratios to floors that are measured in the same rounds.

F0 is fork, exit and wait of a Python that has pytest imported; F1 is ``python -I -S -c pass``; F2
is the command line of pytest on the same file. F1 and F2 have no sandbox at all. Needs
``rewardhub-code``; the part about Docker runs where a daemon answers (``REWARDHUB_DOCKER``,
``DOCKER_HOST``) that has the image of ``rewardhub sandbox image``.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import psutil
from measure import Result, is_quick
from rewardhub_code.checks import CodeCheck
from rewardhub_code.solution import RunLimits
from rewardhub_code.unit_tests import Mode, run_tests

from rewardhub import InfrastructureError, Job, Preload, Sandbox, UsageError
from rewardhub.builtin.sandboxes.docker import DockerSandbox
from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image import IMAGE
from rewardhub.builtin.sandboxes.local import LocalSandbox, host_python

SOLUTION = """\
def merge(first, second):
    merged = []
    left, right = list(first), list(second)
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    merged.extend(left or right)
    return merged
"""
ASSERTS = (
    "assert merge([1, 3], [2]) == [1, 2, 3]",
    "assert merge([], []) == []",
    "assert merge([5], [1, 9]) == [1, 5, 9]",
)
TESTS = "from solution import merge\n" + "".join(
    f"\n\ndef test_{number}():\n    {each}\n" for number, each in enumerate(ASSERTS)
)
READY = Preload(name="bench_ready", source="import pytest\n", requires=("pytest",))
PROGRAM = Job(source="\n".join((SOLUTION, *ASSERTS)), preload=READY)
LIMITS = RunLimits(cpu_seconds=20.0, memory_mb=512)
_FORKS = """
import gc, os, sys, time, pytest
gc.collect(); gc.freeze()
for line in sys.stdin:
    began = time.perf_counter()
    for _ in range(int(line)):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    print(time.perf_counter() - began, flush=True)
"""
Timed = Callable[[int], float]
"""Does something so many times, and returns the seconds that it took."""


def timed(call: Callable[[], object]) -> Timed:
    def run(times: int) -> float:
        began = time.perf_counter()
        for _ in range(times):
            call()
        return time.perf_counter() - began

    return run


@contextlib.contextmanager
def forks() -> Generator[Timed]:
    with subprocess.Popen(
        [sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin, process.stdout

        def run(times: int) -> float:
            into.write(f"{times}\n")
            into.flush()
            return float(out.readline())

        yield run
        into.close()


def checked(sandbox: Sandbox, job: Job) -> Callable[[], None]:
    def run() -> None:
        outcome = sandbox.run(job)
        if outcome.status != "ok":
            raise RuntimeError(f"{outcome.status}: {outcome.reason} {outcome.stderr}")

    return run


def graded(sandbox: Sandbox, check: CodeCheck, mode: Mode) -> Callable[[], None]:
    def run() -> None:
        done = run_tests(sandbox, SOLUTION, check, reference=SOLUTION, mode=mode, limits=LIMITS)
        if not done.passed:
            raise RuntimeError(f"{mode}: {done}")

    return run


def in_rounds(things: Mapping[str, tuple[Timed, int]], rounds: int) -> dict[str, list[float]]:
    """Run all things in turns; return, for each, the seconds of one time in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for turn in range(rounds + 1):
        for name, (run, times) in things.items():
            took = run(times) / times
            if turn:
                seconds[name].append(took)
    return seconds


class Figures:
    """The seconds of all things, and the ratios between them."""

    def __init__(self, seconds: Mapping[str, list[float]]) -> None:
        self.seconds = seconds

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def show(
        self, name: str, first: str, over: str, target: float, *, at_least: bool = False
    ) -> None:
        pairs = zip(self.seconds[first], self.seconds[over], strict=True)
        Result(
            name=name,
            value=statistics.median(one / other for one, other in pairs),
            unit="x",
            target=target,
            at_least=at_least,
            detail=f"{self.amount(first)}, {self.amount(over)}",
        ).print()

    def amount(self, name: str) -> str:
        milliseconds = self.median(name) * 1e3
        return f"{name} {milliseconds:.2f} ms ({1e3 / milliseconds:.0f}/s a core)"


def floors(folder: Path) -> dict[str, tuple[Timed, int]]:
    python = str(host_python().executable)
    program = "\n".join((SOLUTION, *ASSERTS))
    (folder / "solution.py").write_text(SOLUTION, encoding="utf-8")
    (folder / "test_solution.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py"]

    def plain(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([python, *arguments], check=True)

    # Without the plugins that are installed here, ours among them: they would slow the floor.
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def pytest_cli() -> None:
        subprocess.run(command, check=True, cwd=folder, env=bare, stdout=subprocess.DEVNULL)

    return {
        "F1 python": (timed(plain("-I", "-S", "-c", "pass")), 4),
        "subprocess, 3 asserts": (timed(plain("-I", "-S", "-c", program)), 4),
        "F2 pytest": (timed(pytest_cli), 1),
    }


def of_sandbox(name: str, sandbox: Sandbox) -> dict[str, tuple[Timed, int]]:
    asserts = CodeCheck.model_validate({"unit_tests": {"asserts": ASSERTS}})
    files = CodeCheck.model_validate({"unit_tests": {"pytest": {"test_solution.py": TESTS}}})
    return {
        f"{name} empty": (timed(checked(sandbox, Job(source="pass", preload=READY))), 8),
        f"{name} 3 asserts": (timed(checked(sandbox, PROGRAM)), 8),
        f"{name} pytest beside": (timed(graded(sandbox, files, "in-process")), 4),
        f"{name} split asserts": (timed(graded(sandbox, asserts, "split")), 4),
        f"{name} split pytest": (timed(graded(sandbox, files, "split")), 4),
    }


def show_sandbox(figures: Figures, name: str) -> None:
    if name == "local":
        figures.show("local: empty job / F0", "local empty", "F0 fork", 2.5)
        figures.show("local: empty job / F1", "local empty", "F1 python", 1.0)
    figures.show(f"{name}: 3 asserts / F1", f"{name} 3 asserts", "F1 python", 1.5)
    figures.show(f"{name}: pytest beside / F2", f"{name} pytest beside", "F2 pytest", 0.2)
    figures.show(f"{name}: split asserts / F1", f"{name} split asserts", "F1 python", 2.5)
    figures.show(f"{name}: split pytest / F2", f"{name} split pytest", "F2 pytest", 0.25)
    figures.show(
        f"{name}: 3 asserts / subprocess", f"{name} 3 asserts", "subprocess, 3 asserts", 1.5
    )


@contextlib.contextmanager
def docker_executions(daemon: Daemon) -> Generator[Callable[[], object]]:
    """Give a call that runs the three asserts by `docker exec` in a warm container."""
    program = "\n".join((SOLUTION, *ASSERTS))
    with daemon.asking("start a container") as client:
        container = client.containers.run(
            IMAGE, ["sleep", "3600"], detach=True, network_mode="none", read_only=True
        )
        try:
            yield lambda: container.exec_run(["python3", "-I", "-S", "-c", program])
        finally:
            container.remove(force=True)


def show_slots(name: str, sandbox: Sandbox, rounds: int, jobs: int) -> None:
    """Show how much faster two threads are than one."""
    ratios: list[float] = []
    rates: list[tuple[float, float]] = []
    for _ in range(rounds):
        one, two = (_rate(sandbox, threads, jobs) for threads in (1, 2))
        ratios.append(two / one)
        rates.append((one, two))
    one, two = (statistics.median(column) for column in zip(*rates, strict=True))
    Result(
        name=f"{name}: two slots over one, 3 asserts",
        value=statistics.median(ratios),
        unit="x",
        target=1.7,
        at_least=True,
        detail=f"{one:.0f}/s, {two:.0f}/s on {os.cpu_count()} cores",
    ).print()


def _rate(sandbox: Sandbox, threads: int, jobs: int) -> float:
    run = checked(sandbox, PROGRAM)
    workers = [threading.Thread(target=timed(run), args=(jobs,)) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * jobs / (time.perf_counter() - began)


def show_flood(name: str, sandbox: Sandbox) -> None:
    """Show what a gigabyte of output costs this process."""
    flood = Job(
        source="import os\nblock = bytes(1 << 20)\nfor _ in range(1000): os.write(1, block)",
        max_output_bytes=2 << 30,
    )
    sandbox.run(flood)
    process = psutil.Process()
    before = process.memory_info().rss
    began = time.perf_counter()
    outcome = sandbox.run(flood)
    Result(
        name=f"{name}: memory of this process for 1 GB of stdout",
        value=(process.memory_info().rss - before) / 1e6,
        unit="MB",
        target=8.0,
        at_least=False,
        detail=f"{outcome.output_total / 1e6:.0f} MB in {time.perf_counter() - began:.1f} s",
    ).print()


def docker_sandbox() -> DockerSandbox | None:
    """Return a sandbox of a daemon that answers and has the image, else None."""
    sandbox = DockerSandbox(slots=2, host=os.environ.get("REWARDHUB_DOCKER", ""))
    try:
        sandbox.open()
    except (InfrastructureError, UsageError) as error:
        sys.stderr.write(f"Without Docker: {error}\n")
        return None
    return sandbox


def main() -> None:
    """Print one Result for each goal."""
    quick = is_quick(__doc__)
    rounds = 2 if quick else 25
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        things = {"F0 fork": (stack.enter_context(forks()), 8), **floors(folder)}
        sandboxes: dict[str, Sandbox] = {"local": LocalSandbox(slots=2)}
        docker = docker_sandbox()
        if docker is not None:
            sandboxes["docker"] = docker
            execute = stack.enter_context(docker_executions(Daemon(docker.host)))
            things["docker exec, 3 asserts"] = (timed(execute), 1)
        for name, sandbox in sandboxes.items():
            stack.callback(sandbox.close)
            things |= of_sandbox(name, sandbox)
        figures = Figures(in_rounds(things, rounds))
        for name, sandbox in sandboxes.items():
            show_sandbox(figures, name)
            show_slots(name, sandbox, 2 if quick else 7, 20 if quick else 100)
            show_flood(name, sandbox)
        if docker is not None:
            figures.show("docker over local, 3 asserts", "docker 3 asserts", "local 3 asserts", 1.5)
            figures.show(
                "docker: times as fast as docker exec",
                "docker exec, 3 asserts",
                "docker 3 asserts",
                4.0,
                at_least=True,
            )


if __name__ == "__main__":
    main()
