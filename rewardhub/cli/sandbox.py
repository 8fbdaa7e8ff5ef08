"""`rewardhub sandbox`: what this machine gives to run untrusted code in."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.sandbox_image import make_image
from rewardhub.cli.session import Session, command, command_app
from rewardhub.contracts import Job, Options, Sandbox
from rewardhub.errors import RewardhubError
from rewardhub.host import SandboxCard

if TYPE_CHECKING:
    from rich.table import Table

app = command_app()


@app.callback()
def _group() -> None:
    """See what this machine gives to run untrusted code in, and make images for Docker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one sandbox is here.

    Attributes:
        name: of the sandbox.
        level: that it gives; ``none`` if it does not run at all.
        problem: why it does not run.
        has: each means, and what became of trying it.
        would_help: what would raise the level.
        escapes: what attacks got; none is as it should be.
        seconds: an empty job took, warm.
    """

    name: str
    level: str
    problem: str = ""
    has: dict[str, str] = field(default_factory=dict[str, str])
    would_help: tuple[str, ...] = ()
    escapes: tuple[str, ...] = ()
    seconds: float | None = None


def check_sandboxes(
    session: Session,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Sandboxes to check. [default: local docker]"),
    ] = None,
) -> ExitCode:
    """Say which sandboxes run here, at which level, and what would raise it.

    Each runs a job, and programs that attack it: they write and read outside, call the network,
    look for other processes, ask the kernel for what it should refuse. Exit code 0: all that was
    named runs and holds (without names: any does); 1: not so.
    """
    findings = [
        _checked(name, session.registry.get(SandboxCard, name).card)
        for name in names or ("local", "docker")
    ]
    if session.as_json:
        session.show_json({"sandboxes": [asdict(each) for each in findings]})
    else:
        for each in findings:
            session.console.print(_table(each))
    good = [each.level != "none" and not each.escapes for each in findings]
    holds = all(good) if names else any(good) and not any(each.escapes for each in findings)
    return ExitCode.OK if holds else ExitCode.INCOMPLETE


def _checked(name: str, card: SandboxCard) -> Finding:
    if not issubclass(card.sandbox, Options):
        return Finding(name=name, level="none", problem="its class is no `Options`")
    means, advice = _local_means() if name == "local" else ({}, ())
    try:
        sandbox = card.sandbox()
        assert isinstance(sandbox, Sandbox)
        sandbox.open()
        with contextlib.closing(sandbox):
            return _tried(name, sandbox, means, advice)
    except (RewardhubError, ValueError) as error:
        return Finding(name=name, level="none", problem=str(error), has=means, would_help=advice)


def _local_means() -> tuple[dict[str, str], tuple[str, ...]]:
    from rewardhub.builtin.sandboxes.local import local_probe

    found = local_probe()
    return dict(found.has), found.would_help


def _tried(name: str, sandbox: Sandbox, means: dict[str, str], advice: tuple[str, ...]) -> Finding:
    """Return what a sandbox is that was opened, after a job and attacks in it."""
    outcome = sandbox.run(Job(source="print('ready')"))
    if outcome.stdout != "ready\n":
        told = f"an empty job ended as {outcome.status}: {outcome.reason}"
        return Finding(name=name, level="none", problem=told, has=means, would_help=advice)
    return Finding(
        name=name,
        level=str(sandbox.identity.get("level", "unknown")),
        has={**means, **_told(sandbox)},
        would_help=advice,
        escapes=tuple(_escapes(sandbox)),
        seconds=min(sandbox.run(Job(source="pass")).seconds for _ in range(5)),
    )


def _told(sandbox: Sandbox) -> dict[str, str]:
    names = ("image", "runtime", "python")
    return {name: str(sandbox.identity[name]) for name in names if sandbox.identity.get(name)}


def _escapes(sandbox: Sandbox) -> list[str]:
    """Return what attacks on a sandbox got."""
    from rewardhub.testing import sandbox_attacks as attacks

    jobs = {what: Job(source=source) for what, source in attacks.QUIET.items()}
    with attacks.listening() as wanted:
        jobs["calls home"] = Job(source=attacks.CALL_HOME, stdin=wanted)
        return [f"{what}: {each}" for what, job in jobs.items() for each in _got(sandbox, job)]


def _got(sandbox: Sandbox, job: Job) -> list[str]:
    outcome = sandbox.run(job)
    try:
        return [str(each) for each in json.loads(outcome.stdout)]
    except ValueError:
        return []  # it was ended before it got anything


def _table(finding: Finding) -> Table:
    from rich.table import Table

    table = Table(title=f"{finding.name}: {finding.level}", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, what in finding.has.items():
        table.add_row(name, what)
    if finding.problem:
        table.add_row("does not run", finding.problem)
    else:
        table.add_row("attacks", ", ".join(finding.escapes) or "got nothing")
    if finding.seconds is not None:
        table.add_row("an empty job, warm", f"{finding.seconds * 1000:.1f} ms")
    for advice in finding.would_help:
        table.add_row("would help", advice)
    return table


command(app, "check")(check_sandboxes)
command(app, "image")(make_image)
