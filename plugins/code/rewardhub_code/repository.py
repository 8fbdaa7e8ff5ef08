"""``code/repository``: a change of a tree of files, judged by the tree's tests."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import PrivateAttr

from rewardhub import Job, Sandbox, Score, TaskError, Trajectory
from rewardhub_code.checks import CodeCheck, RepositoryCheck
from rewardhub_code.guarding import Guarded, guarded
from rewardhub_code.inside import plain
from rewardhub_code.patches import Change, PatchError, Tree, change_of, patch_in
from rewardhub_code.preloads import preload, starter
from rewardhub_code.running import CodeGrader, TaskFaults, TestsRun, environment, key_of
from rewardhub_code.solution import RunLimits
from rewardhub_code.split import run_together
from rewardhub_code.unit_tests import expected

_MODULES = ("plain", "channel", "clock", "serve", "proxy", "scripts", "pytests", "repository")
_NOTHING: Change = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A change that was asked to be graded, and where it was found."""

    change: Change
    where: str


class Repository(CodeGrader):
    """1 if a change makes the failing tests of a tree pass, and breaks none that passed.

    The tree is ``Task.files``. The change is ``artifacts.patch`` (a unified diff), or
    ``artifacts.files`` (path -> content, null for a file that is gone), or else the diff in the
    final answer; a patch that does not apply is a 0. Test files come from the task, whatever the
    attempt made of them, and what could only steer the tests is kept out and noted.

    The tests run beside the code that they test (``trust: in_process``): names that are known
    beforehand, tests among them that must fail, and a private channel make cheating hard, not
    impossible. A reference (a patch, or files) must pass, and a tree without it must not.
    """

    partial: bool = False
    """Whether the value is the share of `fail_to_pass` that passes, if nothing was broken."""
    check_task: bool = True
    """Whether a task is first tried without a change, and with its reference; once per task."""

    _faults: TaskFaults = PrivateAttr(default_factory=TaskFaults)

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Return the verdict on the attempt's change."""
        code = self.check_of(trajectory)
        check, tree = _section(code), _tree_of(trajectory)
        limits, reference = self.limits_of(code), trajectory.task.reference
        if self.check_task:
            key = key_of(code, plain.dumps([dict(tree), reference]).decode())
            self._faults.refuse(key, lambda: task_fault(sandbox, tree, check, reference, limits))
        try:
            attempt = _attempt_of(trajectory, tree)
        except PatchError as error:
            return Score.of(0.0, str(error)[:1000])
        made = guarded(tree, attempt.change, check)
        if made.tree == guarded(tree, _NOTHING, check).tree:
            said = f"{attempt.where} changes nothing that counts"
            return Score.of(0.0, said, evidence=_evidence(attempt, made, ()))
        run = run_tree(sandbox, made.tree, check, limits)
        return self._score(run, check, attempt, made)

    def _score(
        self, run: TestsRun, check: RepositoryCheck, attempt: Attempt, made: Guarded
    ) -> Score:
        verdicts = {result.name: result.passed for result in run.results}
        broken = [name for name in check.pass_to_pass if not verdicts[name]]
        mended = [name for name in check.fail_to_pass if verdicts[name]]
        share = len(mended) / len(check.fail_to_pass) if check.fail_to_pass else 1.0
        value = 0.0 if broken else share if self.partial else float(share == 1.0)
        told = f"{len(mended)} of {len(check.fail_to_pass)} failing tests pass"
        if broken:
            told += f", and {len(broken)} that passed do not"
        if not run.passed:
            told += f"; {run.first_failure}"
        return Score.of(
            value,
            told[:1000],
            metrics={"mended": len(mended), "broken": len(broken)},
            evidence={
                **_evidence(attempt, made, run.tampered),
                "trust": run.trust,
                "tests": [result.as_json() for result in run.results],
            },
        )


def _evidence(attempt: Attempt, made: Guarded, signs: Sequence[str]) -> dict[str, Any]:
    tampered = [*made.tampered, *signs]
    return {
        "change": attempt.where,
        "changed": sorted(attempt.change),
        **({"kept_out": list(made.kept_out)} if made.kept_out else {}),
        **({"tampered": tampered} if tampered else {}),
    }


def _section(code: CodeCheck) -> RepositoryCheck:
    check = code.repository
    if check is None or not check.names:
        raise TaskError("the task has no test: `checks.code.repository` is missing or names none")
    return check


def _tree_of(trajectory: Trajectory) -> Tree:
    tree: Mapping[str, Any] = trajectory.task.files
    if not tree:
        raise TaskError("the task has no `files`: they are the tree that is changed")
    return dict(tree)


def _attempt_of(trajectory: Trajectory, tree: Tree) -> Attempt:
    """Return the change that the attempt makes.

    Raises:
        PatchError: if there is none, or it cannot be made.
    """
    artifacts = trajectory.artifacts
    for name in ("patch", "files"):
        if artifacts.get(name):
            change = change_of(artifacts[name], tree)
            return Attempt(change=change, where=f"`artifacts.{name}`")
    patch = patch_in(trajectory.final_text)
    if not patch:
        raise PatchError("there is no patch: neither artifacts nor a diff in the final answer")
    return Attempt(change=change_of(patch, tree), where="the diff in the final answer")


def task_fault(
    sandbox: Sandbox, tree: Tree, check: RepositoryCheck, reference: Any, limits: RunLimits
) -> str:
    """Return why the tests of a tree can grade nobody, or an empty text."""
    before = run_tree(sandbox, guarded(tree, _NOTHING, check).tree, check, limits)
    early = [r.name for r in before.results if r.passed and r.name in check.fail_to_pass]
    if early:
        return f"`{early[0]}` passes without any change"
    if before.passed:
        return "all tests pass without any change"
    if reference is None:
        return f"the tests cannot be run: {before.broke}" if before.broke else ""
    try:
        change = change_of(reference, tree)
    except PatchError as error:
        return f"the reference cannot be applied: {error}"[:1000]
    made = guarded(tree, change, check)
    after = run_tree(sandbox, made.tree, check, limits)
    if after.passed:
        return ""
    kept_out = f" (kept out of it: {', '.join(made.kept_out)})" if made.kept_out else ""
    return f"the reference fails the tests{kept_out}: {after.first_failure}"


def run_tree(sandbox: Sandbox, tree: Tree, check: RepositoryCheck, limits: RunLimits) -> TestsRun:
    """Run the named tests of a tree; one result for each.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
    """
    paths = list(dict.fromkeys(name.partition("::")[0] for name in check.names))
    files, canaries = _with_canaries(tree, paths)
    request = {
        "paths": [*paths, *(name.partition("::")[0] for name in canaries)],
        "names": [*check.names, *canaries],
        "roots": list(check.source_roots),
        "arguments": list(check.pytest_arguments),
    }
    ready = preload(*_MODULES, requires=("pytest",))
    job = Job(
        source=starter(ready),
        files={path: text.encode("utf-8", "replace") for path, text in files.items()},
        env=environment(),
        preload=ready,
        cpu_seconds=limits.cpu_seconds,
        wall_seconds=limits.wall_seconds,
        memory_mb=limits.memory_mb,
    )
    run = run_together(sandbox, job, plain.dumps(request))
    return _judged(run, check.names, canaries)


def _with_canaries(tree: Tree, paths: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the tree with two tests that must fail, in a file beside the first tests."""
    folder = paths[0].rpartition("/")[0]
    path = f"{folder}/test_{secrets.token_hex(4)}.py".lstrip("/")
    first, second = (f"test_{secrets.token_hex(4)}" for _ in range(2))
    source = (
        f"def {first}():\n    assert {secrets.token_hex(8)!r} == {secrets.token_hex(8)!r}\n\n\n"
        f"def {second}():\n    raise AssertionError({secrets.token_hex(8)!r})\n"
    )
    return {**tree, path: source}, (f"{path}::{first}", f"{path}::{second}")


def _judged(run: TestsRun, names: Sequence[str], canaries: Sequence[str]) -> TestsRun:
    """Return the run with the named tests only; a canary that did not fail spoils them all."""
    failed = [r.name for r in run.results if r.name in canaries and not r.passed]
    results = expected(run, names)
    if sorted(failed) == sorted(canaries):
        return replace(run, results=results)
    passed = [r.name for r in run.results if r.name in canaries and r.passed]
    sign = "a test that must fail passed" if passed else "a test that must fail was not run"
    spoiled = tuple(replace(r, passed=False, reason=r.reason or sign) for r in results)
    # Code that ends the run early has broken it; only a canary that passes is a lie.
    signs = (sign,) if passed or not (run.broke or run.ended) else ()
    return replace(run, results=spoiled, tampered=(*run.tampered, *signs))
