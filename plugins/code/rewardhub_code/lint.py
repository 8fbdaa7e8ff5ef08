"""What a linter says of the code: ruff, with rules of its own and none of the machine's."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections import Counter
from typing import Any

from pydantic import Field

from rewardhub import Grader, InfrastructureError, Score, Trajectory, UsageError
from rewardhub_code.static import code_in

LONGEST_SOURCE = 100_000
"""Characters of code that are linted; a longer answer is graded 0."""
_SECONDS = 20.0
_SHOWN = 50


class Lint(Grader):
    """How clean ruff finds the code: 1 without an issue, 0 from `max_issues` on.

    Linear between. Code that does not parse is a graded 0. Comments that silence a linter
    (``noqa``) are not heeded, nor is any configuration file.
    """

    select: tuple[str, ...] = ("E4", "E7", "E9", "F")
    """Codes of ruff's rules that count, or what they begin with."""
    ignore: tuple[str, ...] = ()
    """Codes that do not count."""
    max_issues: int = Field(default=10, ge=1)
    """This many issues, or more, are worth 0."""
    target_version: str = Field(default="py311", pattern=r"py3\d+")
    """The Python that the code is written for."""

    def open(self) -> None:
        """Find out whether ruff is there and knows the rules.

        Raises:
            UsageError: if it does not.
        """
        import subprocess

        try:
            command = [_ruff(), *self._arguments(), "-"]
            tried = subprocess.run(  # noqa: S603  # our own command
                command, input=b"", capture_output=True, env={}, check=False
            )
        except InfrastructureError as error:
            raise UsageError(str(error)) from None
        if tried.returncode:
            said = tried.stderr.decode(errors="replace").strip()[:500]
            raise UsageError(f"ruff refuses the options of `code/lint`: {said}")

    async def grade(self, trajectory: Trajectory) -> Score:
        """Return the share of `max_issues` that is left; codes and lines are in the evidence."""
        found = code_in(trajectory)
        if not found.code:
            return Score.of(False, found.reason)
        if len(found.code) > LONGEST_SOURCE:
            said = f"the code has {len(found.code)} characters, and {LONGEST_SOURCE} are linted"
            return Score.of(False, said)
        issues = await self._issues(found.code)
        if issues is None:
            # What breaks ruff must not be a way out of being graded, so it is tried on nothing.
            if await self._issues("") is None:
                raise InfrastructureError("ruff does not even lint an empty file")
            return Score.of(False, "ruff breaks on the code, and lints an empty file")
        return self._score(issues)

    def _score(self, issues: list[dict[str, Any]]) -> Score:
        counts = Counter(str(issue["code"] or "invalid-syntax") for issue in issues)
        evidence = {
            "codes": dict(counts.most_common()),
            "issues": [_told(issue) for issue in issues[:_SHOWN]],
        }
        metrics = {"issues": len(issues)}
        if "invalid-syntax" in counts:
            return Score.of(False, "the code does not parse", metrics=metrics, evidence=evidence)
        value = max(0.0, 1.0 - len(issues) / self.max_issues)
        codes = ", ".join(f"{code} x {count}" for code, count in counts.most_common(5))
        said = f"{len(issues)} issues: {codes}" if issues else "no issue"
        return Score.of(value, said, metrics=metrics, evidence=evidence)

    async def _issues(self, code: str) -> list[dict[str, Any]] | None:
        """Return what ruff reports; None if it breaks or takes too long."""
        import asyncio

        process = await asyncio.create_subprocess_exec(
            _ruff(),
            *self._arguments(),
            "-",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(_SECONDS):
                out, _ = await process.communicate(code.encode("utf-8", "replace"))
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        try:
            return json.loads(out) if process.returncode == 0 else None
        except ValueError:
            return None

    def _arguments(self) -> list[str]:
        fixed = "check --isolated --no-cache --quiet --exit-zero --ignore-noqa"
        return [
            *fixed.split(),
            "--output-format=json",
            "--stdin-filename=answer.py",
            f"--target-version={self.target_version}",
            f"--select={','.join(self.select)}",
            *(f"--ignore={code}" for code in self.ignore),
        ]


def _told(issue: dict[str, Any]) -> list[Any]:
    return [issue["location"]["row"], issue["code"], str(issue["message"])[:200]]


def _ruff() -> str:
    try:
        return str(importlib.import_module("ruff").find_ruff_bin())
    except (ImportError, OSError) as error:
        raise InfrastructureError(
            f"ruff is not there ({error}): install it with `pip install ruff`"
        ) from None


def version() -> str:
    """Return the version of the grader: verdicts change with ruff's own."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"1, ruff {version('ruff')}"
    except PackageNotFoundError:
        return "1"
