"""`rewardhub replay`: is an environment reproducible, and if not, where does it part?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from rewardhub import (
    ExitCode,
    Registry,
    SandboxCard,
    Session,
    TaskError,
    Trajectory,
    UsageError,
    command,
    command_app,
)
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.recorded import trajectories_in
from rewardhub_policies.replaying import Replay, replay

app = command_app()

_SHOWN = 20


@command(app, "replay")
def replay_command(
    session: Session,
    *,
    path: Annotated[
        Path,
        typer.Argument(metavar="RUN|FILE", help="A run folder, or a file of trajectories."),
    ],
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="The trajectory's id, or its place: attempts.jsonl:17."),
    ],
    sandbox: Annotated[
        str, typer.Option("--sandbox", metavar="NAME", help="Where the actions are executed.")
    ] = "local",
) -> ExitCode:
    """Execute a recorded trajectory's actions again, and compare the states step by step.

    Exit code 0 if they are the same, 1 if they part or cannot be compared.
    """
    registry = session.registry
    trajectory = find_trajectory(path, name, registry)
    card = registry.get(SandboxCard, sandbox).card
    made = card.sandbox()
    made.open()
    with closing(made):
        found = _replayed(trajectory, Environments(registry, {"sandbox": made}))
    if session.as_json:
        session.show_json({"id": trajectory.id, **found.to_json()})
    else:
        session.show("\n".join(told(trajectory, found)))
    return ExitCode.OK if found.ending == "same" else ExitCode.INCOMPLETE


def _replayed(trajectory: Trajectory, environments: Environments) -> Replay:
    try:
        return asyncio.run(replay(trajectory, environments))
    except TaskError as error:
        raise UsageError(f"`{trajectory.id}` cannot be replayed: {error}") from None


def told(trajectory: Trajectory, found: Replay) -> Iterator[str]:
    """Yield the lines that say what came of a replay."""
    head = f"{trajectory.id} (task {trajectory.task.id})"
    yield from (f"Note: {each}" for each in found.warnings)
    for number in found.unlike[:_SHOWN]:
        yield f"Note: step {number} leaves the same state, and prints something else."
    if found.ending == "cannot":
        yield f"{head}: cannot be compared: {found.reason}."
        return
    if found.ending == "same":
        yield f"{head}: the same, {found.steps} of {len(trajectory.steps)} steps."
        return
    where = "before the first step" if found.step == -1 else f"at step {found.step}"
    yield f"{head}: parts {where}."
    if found.step is not None and found.step >= 0:
        for call in trajectory.steps[found.step].tool_calls:
            yield f"  call      {call.name} {call.arguments[:500]}"
    yield from (f"  state     {each}" for each in found.states[:_SHOWN])
    for recorded, now in found.said[:_SHOWN]:
        yield from _block("recorded", recorded)
        yield from _block("now", now)
    yield from _changes("changed then", found.recorded, found.changed)
    yield from _changes("changed now", found.changed, found.recorded)


def _block(title: str, text: str) -> Iterator[str]:
    yield f"  {title}"
    yield from (f"    {line}" for line in text.splitlines()[:_SHOWN])


def _changes(
    title: str, changes: Mapping[str, str] | None, others: Mapping[str, str] | None
) -> Iterator[str]:
    """Yield those of ``changes`` that the other run has not, or has otherwise."""
    for path, diff in (changes or {}).items():
        if (others or {}).get(path) != diff:
            yield from _block(f"{title}: {path}", diff)


def find_trajectory(path: Path, name: str, registry: Registry) -> Trajectory:
    """Return the trajectory called ``name`` in a file of trajectories, or in a run folder.

    Raises:
        UsageError: if there is no such file, format, or trajectory.
    """
    ids: list[str] = []
    for trajectory in trajectories_in(path, registry):
        if trajectory.id == name:
            return trajectory
        ids.append(trajectory.id)
    close = get_close_matches(name, ids, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    example = f" An id is, for example, `{ids[0]}`." if ids and not hint else ""
    raise UsageError(f"`{path}` has no trajectory `{name}`.{hint}{example}")
