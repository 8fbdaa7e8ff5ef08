"""What a machine gives, and what is said where it is too little."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rewardhub.builtin.sandboxes import local
from rewardhub.builtin.sandboxes import probe as probe_module
from rewardhub.builtin.sandboxes.inside.wishes import Mode
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.builtin.sandboxes.probe import Probe, probe, require
from rewardhub.contracts import Job, Outcome
from rewardhub.errors import InfrastructureError, UsageError

OK = Outcome(status="ok", exit_code=0)


def machine(
    allowed: Mode | None, outcome: Outcome = OK, **info: Any
) -> tuple[Callable[[Mode], Line], list[Any]]:
    """Return how lines are opened on a machine that allows one mode, and those that were."""
    opened: list[Any] = []

    def open_line(mode: Mode) -> Line:
        if mode != allowed:
            raise InfrastructureError(f"Traceback:\n  ...\nPermissionError: no {mode} here")
        program = SimpleNamespace(finish=lambda: outcome)
        line = SimpleNamespace(info=info, closed=False, start=lambda job, ended: program)
        line.close = lambda: setattr(line, "closed", True)
        opened.append(line)
        return cast("Line", line)

    return open_line, opened


@pytest.fixture(autouse=True)
def on_linux_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(probe_module.os, "geteuid", lambda: 0)


@pytest.mark.parametrize(
    ("mode", "level"), [("root", "strong"), ("user", "strong"), ("landlock", "basic")]
)
def test_the_strongest_that_works_is_found(mode: Mode, level: str) -> None:
    open_line, opened = machine(mode, cgroup=2)
    found = probe(open_line)
    assert (found.level, found.mode) == (level, mode)
    assert "control group (version 2)" in found.has["memory of all processes of a job"]
    assert [line.closed for line in opened] == [True]


def test_what_does_not_work_is_told_with_its_reason() -> None:
    found = probe(machine("landlock")[0])
    assert found.has["namespaces as root"] == "no: PermissionError: no root here"
    assert any("docker" in each for each in found.would_help)


def test_a_machine_that_gives_nothing_has_the_level_none() -> None:
    found = probe(machine(None)[0])
    assert (found.level, found.mode) == ("none", "bare")


def test_a_line_whose_job_fails_is_no_level() -> None:
    broken = Outcome(status="nonzero", reason="ended with exit code 1", stderr="no /proc")
    found = probe(machine("root", broken)[0])
    assert found.level == "none"
    assert "no /proc" in found.has["namespaces as root"]


def test_a_user_without_rights_is_not_asked_for_roots_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe_module.os, "geteuid", lambda: 1000)
    assert "namespaces as root" not in probe(machine("user")[0]).has


def test_without_a_control_group_the_watch_is_told() -> None:
    found = probe(machine("user", no_cgroup="permission denied")[0])
    assert "permission denied" in found.has["memory of all processes of a job"]
    assert any("systemd-run" in each for each in found.would_help)


def test_another_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = probe(machine("root")[0])
    assert found.level == "none"
    assert "needs Linux" in found.would_help[0]


BASIC = Probe(level="basic", mode="landlock", has={"x": "no: y"}, would_help=("Do this.",))
NONE = Probe(level="none", mode="bare", would_help=("Do that.",))


@pytest.mark.parametrize(
    ("found", "minimum", "allow_unsafe"),
    [(BASIC, "basic", False), (BASIC, "strong", True), (NONE, "strong", True)],
)
def test_what_is_accepted_runs(found: Probe, minimum: Any, allow_unsafe: bool) -> None:
    require(found, minimum=minimum, allow_unsafe=allow_unsafe)


@pytest.mark.parametrize(
    ("found", "minimum", "way_out"),
    [(BASIC, "strong", "`minimum: basic`"), (NONE, "basic", "`allow_unsafe: true`")],
)
def test_too_little_is_refused_with_what_would_help(
    found: Probe, minimum: Any, way_out: str
) -> None:
    with pytest.raises(UsageError) as refused:
        require(found, minimum=minimum, allow_unsafe=False)
    said = str(refused.value)
    assert way_out in said
    assert "Do th" in said


def test_a_sandbox_never_falls_to_a_lesser_level_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "local_probe", lambda: NONE)
    sandbox = LocalSandbox()
    with pytest.raises(UsageError, match="gives the level `none`"):
        sandbox.open()
    with pytest.raises(UsageError, match="gives the level `none`"):
        sandbox.run(Job(source="pass"))


def test_a_sandbox_without_walls_warns_and_says_so_in_its_identity(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "local_probe", lambda: NONE)
    sandbox = LocalSandbox(slots=1, allow_unsafe=True)
    with caplog.at_level(logging.WARNING):
        sandbox.open()
    assert "limits alone" in caplog.text
    assert sandbox.identity["level"] == "none"
    assert sandbox.run(Job(source="print(1)")).stdout == "1\n"
    assert sandbox.run(Job(source="while True: pass", cpu_seconds=0.2)).limit == "cpu"
    left = sandbox.run(Job(source="import os\nif os.fork() == 0: os.setsid(); os.read(0, 1)"))
    assert left.status == "ok"
    sandbox.close()
