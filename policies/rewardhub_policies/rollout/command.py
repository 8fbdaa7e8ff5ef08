"""`rewardhub rollout`: a policy tries tasks, and every attempt is scored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardhub import (
    ExitCode,
    Policy,
    SandboxCard,
    Session,
    Task,
    Trajectory,
    UsageError,
    command,
    command_app,
    read_tasks,
    score_files,
)
from rewardhub_policies.acting import ActingPolicy
from rewardhub_policies.budget import Budget
from rewardhub_policies.choosing import policy_from
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.recorded import trajectories_in
from rewardhub_policies.rollout.attempts_file import AttemptsFile
from rewardhub_policies.rollout.work import Count, Plan, roll_out

app = command_app()


@command(app, "rollout")
def rollout(
    session: Session,
    *,
    named: Annotated[
        str, typer.Argument(metavar="TASKS", help="A file or folder of tasks, or a task source.")
    ],
    policy: Annotated[
        str, typer.Option("--policy", "-p", metavar="P", help="A policy's name, or a YAML file.")
    ],
    run: Annotated[
        Path, typer.Option("--run", metavar="DIR", help="The run folder; the same one goes on.")
    ],
    reward: Annotated[
        str | None,
        typer.Option("--reward", "-r", metavar="SPEC", help="What the attempts are scored by."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the policy, in YAML."),
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Attempts at each task.")] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Equal seeds draw alike.")] = 0,
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", min=1, help="Attempts under way at once.")
    ] = 8,
    retries: Annotated[
        int,
        typer.Option("--retries", min=0, help="How often an attempt that broke is made again."),
    ] = 2,
    sandbox: Annotated[
        str, typer.Option("--sandbox", metavar="NAME", help="Where environments act.")
    ] = "local",
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            "--reuse", metavar="RUN", help="Take over attempts of the same policy from here."
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=1, help="Tokens to be spent, in and out."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="US dollars that may be spent.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", min=0, help="No attempt begins later.")
    ] = None,
) -> ExitCode:
    """Let a policy try tasks, N times each, and score every attempt.

    Attempts go to DIR/trajectories.jsonl as they come, and the run is scored into DIR as `rewardhub
    score` does it, so `explain`, `gap` and `curriculum` work on it. After a kill, the same command
    goes on: no attempt is lost, and none is made twice. Exit code 0: every attempt was made, and
    got a reward; 1: some did not; 2: the command or the spec was wrong.
    """
    tasks = list(read_tasks(named, registry=session.registry))
    if not tasks:
        raise UsageError(f"`{named}` holds no task.")
    chosen = policy_from(policy, session.registry, settings or ())
    budget = _budget(chosen.policy, max_tokens, max_cost)
    plan = Plan(n=n, seed=seed, parallel=parallel, retries=retries, seconds=max_seconds)
    with ExitStack() as stack:
        chosen.policy.open()
        stack.callback(chosen.policy.close)
        told = {"policy": dict(chosen.described), "version": chosen.policy.version}
        file = stack.enter_context(AttemptsFile(run, {**told, "n": n, "seed": seed}))
        if any(task.environment is not None for task in tasks):
            _give_environments(session, chosen.policy, sandbox, parallel, stack)
        recorded = _recorded(session, reuse or (), tasks, chosen.policy)
        session.say(f"Run folder: {run}")
        count = asyncio.run(
            roll_out(
                chosen.policy, tasks, plan, file, budget=budget, recorded=recorded,
                on_progress=lambda count: session.say(line_of(count)),
            )
        )  # fmt: skip
    if count.stopped:
        session.warn(
            f"Stopped: {count.stopped}. {count.missing} attempts are missing; the same command "
            "makes them."
        )
    code = ExitCode.OK
    if reward is not None and file.done:
        code = score_files(session, [file.path], reward, run=run)
    elif session.as_json:
        session.show_json(to_json(count))
    return ExitCode.INCOMPLETE if code is ExitCode.OK and count.missing else code


def line_of(count: Count) -> str:
    """Return in one line how far a rollout is."""
    done = count.kept + count.made
    told = [f"{done:,} of {count.wanted:,} attempts"]
    told += [f"{number:,} {status}" for status, number in sorted(count.statuses.items())]
    if count.retried:
        told.append(f"{count.retried:,} made again")
    if count.tokens:
        told.append(f"{count.tokens:,} tokens")
    return ", ".join(told)


def to_json(count: Count) -> dict[str, Any]:
    """Return what came of a rollout, for machines."""
    return {
        "wanted": count.wanted,
        "kept": count.kept,
        "made": count.made,
        "missing": count.missing,
        "statuses": dict(count.statuses),
        "retried": count.retried,
        "tokens": count.tokens,
        "cost": count.cost,
        "stopped": count.stopped,
    }


def _budget(policy: Policy, tokens: int | None, cost: float | None) -> Budget | None:
    if tokens is None and cost is None:
        return None
    spend_from = getattr(policy, "spend_from", None)
    if spend_from is None:
        raise UsageError(
            f"The policy `{policy.name}` cannot tell what it is about to spend: leave out "
            "`--max-tokens` and `--max-cost`."
        )
    budget = Budget(max_tokens=tokens, max_cost=cost)
    spend_from(budget)
    return budget


def _give_environments(
    session: Session, policy: Policy, sandbox: str, parallel: int, stack: ExitStack
) -> None:
    """Open the sandbox, with a slot for each attempt."""
    if not isinstance(policy, ActingPolicy):
        return
    card = session.registry.get(SandboxCard, sandbox, where="--sandbox").card
    options: dict[str, Any] = {}
    if "slots" in getattr(card.sandbox, "model_fields", {}):
        options["slots"] = parallel  # an attempt holds its slot while the policy thinks
    made = card.sandbox(**options)
    made.open()
    stack.callback(made.close)
    policy.act_in(Environments(session.registry, {"sandbox": made}))


def _recorded(
    session: Session, runs: Iterable[Path], tasks: Iterable[Task], policy: Policy
) -> Mapping[str, Sequence[Trajectory]]:
    """Return task digest -> attempts of the same policy, sampled alike."""
    wanted = {task.digest for task in tasks}
    sampling = dict(getattr(policy, "sampling", {}))
    found: dict[str, list[Trajectory]] = {}
    for run in runs:
        for attempt in trajectories_in(run, session.registry):
            who = attempt.policy
            same = (
                who is not None
                and (who.name, who.version) == (policy.name, policy.version)
                and dict(attempt.metadata.get("sampling", {})) == sampling
                and attempt.status != "broken"
            )
            asked = attempt.metadata.get("task")
            if same and asked in wanted:
                found.setdefault(str(asked), []).append(attempt)
    return found
