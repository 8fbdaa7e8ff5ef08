"""Carrying out a run: the part that `score` and `rescore` share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.output import Output
from rewardhub.cli.progress import ProgressView
from rewardhub.cli.session import Session
from rewardhub.engine.engine import Engine
from rewardhub.engine.folder import Plan, RunFolder
from rewardhub.engine.run import Outcome, Run
from rewardhub.engine.tally import Tally
from rewardhub.engine.workers.launch import Launcher
from rewardhub.errors import RowError, UsageError
from rewardhub.host import Registry
from rewardhub.records import digest_of
from rewardhub.report import RunSummary, show_summary
from rewardhub.report.console import console_for, counted
from rewardhub.spec import RewardSpec, Route, load
from rewardhub.spec.secrets import secrets_spared

RUNS = Path("rewardhub-runs")


@dataclass(frozen=True, kw_only=True)
class How:
    """How a run is carried out; nothing of it changes a reward.

    Attributes:
        workers: how many worker processes; None: one for each core, at most 8.
        cache: whether dear Scores, and what judges reply, are kept for other runs.
        judge_cache_only: ask judges nothing; what is not kept is an infrastructure fault.
        ordered: keep the order of the inputs.
        strict: end at the first bad row.
        launcher: starts the worker processes.
    """

    workers: int | None = None
    cache: bool = True
    judge_cache_only: bool = False
    ordered: bool = True
    strict: bool = False
    launcher: Launcher | None = None

    def __post_init__(self) -> None:
        if self.judge_cache_only and not self.cache:
            raise UsageError("`--judge-cache-only` answers from the cache that `--no-cache` bars.")

    def load(self, reward: str, registry: Registry) -> RewardSpec:
        """Return a reward file, ready to run this way.

        Raises:
            SpecError: with every mistake of it; a judge that is asked nothing needs no secret.
        """
        with secrets_spared(*(["judge"] if self.judge_cache_only else [])):
            return load(reward, registry)


def carry_out(
    session: Session,
    plan: Plan,
    path: Path,
    output: Output,
    how: How,
    *,
    previous: tuple[Path, dict[str, Any]] | None = None,
) -> ExitCode:
    """Run ``plan`` in the run folder ``path``, tell what came of it, and return the exit code.

    A complete run of the same plan answers at once.
    """
    folder = RunFolder(path)
    try:
        finished = folder.finished(plan)
        if finished is not None:
            session.say(f"Nothing to grade: {path} has this very run, complete.")
            outcome = _outcome_of(finished, path)
        else:
            session.say(f"Run folder: {path}")
            outcome = _execute(session, plan, folder, how, previous)
        return _conclude(session, plan, outcome, output)
    except RowError as error:
        session.warn(f"{error}\nThe run ended there (--strict). The same command goes on.")
        return ExitCode.INCOMPLETE
    finally:
        folder.close()


def _execute(
    session: Session,
    plan: Plan,
    folder: RunFolder,
    how: How,
    previous: tuple[Path, dict[str, Any]] | None,
) -> Outcome:
    engine = Engine(
        plan.reward,
        registry=session.registry,
        workers=how.workers,
        cache=how.cache,
        judge_cache_only=how.judge_cache_only,
        isolate=True,
        launcher=how.launcher,
    )
    files = [each.path for each in plan.inputs]
    with engine, ProgressView(files, quiet=session.quiet) as view:
        run = Run(
            engine,
            plan,
            folder,
            ordered=how.ordered,
            strict=how.strict,
            on_progress=view,
            previous=previous,
        )
        outcome = run.execute()
    for plugin, errors in session.registry.observer_errors.items():
        session.warn(f"The observer of plugin {plugin} raised {counted(errors, 'error')}.")
    return outcome


def _outcome_of(finished: Mapping[str, Any], folder: Path) -> Outcome:
    tally = Tally.from_json(finished["tally"])
    return Outcome(tally, finished["resumed"], None, finished["seconds"], folder)


def _conclude(session: Session, plan: Plan, outcome: Outcome, output: Output) -> ExitCode:
    if outcome.interrupted is None:
        output.write(outcome.folder / "rewards.jsonl")
    summary = RunSummary(
        reward=label_of(plan.reward),
        digest=plan.reward.digest,
        inputs=tuple(str(each.path) for each in plan.inputs),
        tally=outcome.tally,
        folder=outcome.folder,
        out=output.path,
        seconds=outcome.seconds,
        resumed=outcome.resumed,
        interrupted=outcome.interrupted,
    )
    if session.as_json:
        session.show_json(summary.to_json())
    elif outcome.interrupted is None:
        _show(session, summary, to_stderr=output.to_stdout)
    if outcome.interrupted is not None:
        done = counted(outcome.tally.rows, "row")
        session.warn(f"Interrupted after {done}. The same command goes on from there.")
        return ExitCode(128 + outcome.interrupted)
    amiss = outcome.tally.unscored or outcome.tally.bad
    return ExitCode.INCOMPLETE if amiss else ExitCode.OK


def _show(session: Session, summary: RunSummary, *, to_stderr: bool) -> None:
    if not to_stderr:
        show_summary(session.console, summary)
    elif not session.quiet:
        import sys

        show_summary(console_for(sys.stderr), summary)


def label_of(reward: RewardSpec) -> str:
    """Return how a reward file is named to people."""
    if isinstance(reward, Route):
        return f"route by {reward.by}"
    return f"{reward.name} {reward.version}"


def default_folder(reward: RewardSpec, source: str, files: Iterable[Path]) -> Path:
    """Return the folder of a run that nobody named: the same for the same command.

    An edit of the spec or of a grader stays in it, so that the Scores that still hold are found.
    """
    name = Path(source).stem if isinstance(reward, Route) else reward.name
    where = str(Path(source).resolve()) if Path(source).exists() else source
    digest = digest_of([where, [str(path.resolve()) for path in files]])
    return RUNS / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{digest[:8]}"
