"""`shell/checks`: hidden checks on the files that an attempt leaves behind."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from rewardhub import (
    Grader,
    InfrastructureError,
    Job,
    Outcome,
    Sandbox,
    Score,
    TaskError,
    Trajectory,
)

_SEARCH = """\
import re
names = ("text", "pattern")
text, pattern = (open(name, encoding="utf-8", errors="replace").read() for name in names)
print("found" if re.search(pattern, text, re.MULTILINE) else "not found")
"""
_CONTENT = ("equals", "contains", "lacks", "matches", "as_json")


class _Check(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """What reasons call the check; must not tell what it wants. Default: `check` and its number."""
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Its share in partial credit."""


class FileCheck(_Check):
    """One file, as it is at the end: everything that is said of it must hold."""

    file: str
    """Its path from the working folder."""
    equals: str | None = None
    """Its whole text; white space at the end does not count."""
    contains: tuple[str, ...] = ()
    """Texts that are in it."""
    lacks: tuple[str, ...] = ()
    """Texts that are not in it."""
    matches: str | None = None
    """A regular expression that is found in it (``re.search``, multi-line)."""
    as_json: Any = None
    """The JSON value that it holds."""
    absent: bool = False
    """The file is not there."""
    unchanged: bool = False
    """The file is as the task gave it."""

    @model_validator(mode="after")
    def _says_something(self) -> FileCheck:
        content = bool(self.model_fields_set.intersection(_CONTENT))
        if (self.absent and (content or self.unchanged)) or not (
            self.absent or content or self.unchanged
        ):
            what = ", ".join(_CONTENT)
            raise ValueError(f"say what the file holds ({what}, unchanged), or that it is absent")
        if self.matches is not None:
            try:
                re.compile(self.matches)
            except re.error as error:
                raise ValueError(f"`matches` is no regular expression: {error}") from None
        return self


class CommandCheck(_Check):
    """A command over the files, in a fresh sandbox. What it prints decides, beside its exit code.

    An exit code alone would be forged by one line of the attempt's own code that the command
    happens to run.
    """

    command: str
    """As the shell reads it."""
    files: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Hidden files, put over those of the attempt."""
    stdout: str | None = None
    """All that it prints; white space at the end does not count."""
    contains: tuple[str, ...] = ()
    """Texts in what it prints."""
    exit_code: int = 0
    """How it ends."""
    seconds: float = Field(default=10.0, gt=0, le=600)
    """CPU time; its wall time is twice as much."""

    @model_validator(mode="after")
    def _says_what_is_printed(self) -> CommandCheck:
        if self.stdout is None and not self.contains:
            raise ValueError("say what the command prints (`stdout` or `contains`)")
        return self


def _kind_of(check: Any) -> str:
    is_command = isinstance(check, CommandCheck) or (
        isinstance(check, Mapping) and "command" in check
    )
    return "command" if is_command else "file"


AnyCheck = Annotated[
    Annotated[FileCheck, Tag("file")] | Annotated[CommandCheck, Tag("command")],
    Discriminator(_kind_of),
]


class ShellCheck(BaseModel):
    """What `shell/checks` looks at: ``task.checks.shell``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    checks: Annotated[tuple[AnyCheck, ...], Field(min_length=1)]
    """Each of them must hold."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one check; nothing in it tells what the check wants."""

    name: str
    passed: bool
    weight: float
    reason: str = ""


class ShellChecks(Grader):
    """Full marks if all hidden checks hold on the final files (``artifacts.files``).

    Files are compared here; commands run in a fresh sandbox, over the files that the attempt left
    and with hidden ones put over them. Nothing that ran during the attempt has a say. Reasons name
    the checks that do not hold, never what they want.
    """

    partial: bool = False
    """Whether the value is the weighted share of the checks that hold."""
    must_end: bool = False
    """Whether a truncated attempt gets 0, whatever it left."""
    memory_mb: int = Field(default=512, gt=0)
    """MiB of memory for a command."""

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        """Run the checks."""
        check = _check_of(trajectory)
        files = _files_of(trajectory)
        if self.must_end and trajectory.status == "truncated":
            return Score.of(0, "the attempt was cut off before its end")
        verdicts = [
            _of_file(each, number, files, trajectory, sandbox)
            if isinstance(each, FileCheck)
            else self._of_command(each, number, files, trajectory, sandbox)
            for number, each in enumerate(check.checks, 1)
        ]
        return self._score(verdicts)

    def _score(self, verdicts: list[Verdict]) -> Score:
        held = [each for each in verdicts if each.passed]
        whole = len(held) == len(verdicts)
        share = sum(each.weight for each in held) / sum(each.weight for each in verdicts)
        reason = f"{len(held)} of {len(verdicts)} checks hold"
        if not whole:
            first = next(each for each in verdicts if not each.passed)
            reason += f"; not {first.name}: {first.reason}"
        return Score.of(
            1.0 if whole else share if self.partial else 0.0,
            reason[:1000],
            metrics={"checks": len(verdicts), "held": len(held)},
            evidence={
                "checks": [
                    {"name": each.name, "held": each.passed, "reason": each.reason}
                    for each in verdicts
                ]
            },
        )

    def _of_command(
        self,
        check: CommandCheck,
        number: int,
        files: Mapping[str, bytes],
        trajectory: Trajectory,
        sandbox: Sandbox,
    ) -> Verdict:
        name = check.name or f"check {number}"
        hidden = {path: text.encode() for path, text in check.files.items()}
        programs = [path for path in _runnable(trajectory) if path in files and path not in hidden]
        ready = f"chmod +x -- {shlex.join(programs)}\n" if programs else ""
        job = Job(
            command=("sh", "-c", ready + check.command),
            files=_without_clashes(files, hidden),
            env={"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat", "TZ": "UTC"},
            cpu_seconds=check.seconds,
            wall_seconds=2 * check.seconds,
            memory_mb=self.memory_mb,
        )
        reason = _fault_of(check, sandbox.fairly(lambda: sandbox.run(job)))
        return Verdict(name, not reason, check.weight, reason)


def _check_of(trajectory: Trajectory) -> ShellCheck:
    found = trajectory.task.checks.get("shell")
    if found is None:
        raise TaskError("the task has no `checks.shell`")
    try:
        return ShellCheck.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, ("checks", "shell", *first["loc"])))
        raise TaskError(f"`{where}`: {first['msg']}") from None


def _files_of(trajectory: Trajectory) -> dict[str, bytes]:
    """Return the final files.

    Raises:
        TaskError: if the trajectory does not record them, or not as files.
    """
    kept = trajectory.artifacts.get("files")
    if not isinstance(kept, Mapping):
        raise TaskError("the trajectory records no final files: `artifacts.files`")
    try:
        return {str(path): _bytes_of(content) for path, content in kept.items()}
    except (TypeError, KeyError, binascii.Error) as error:
        raise TaskError(f"`artifacts.files` holds what is no file: {error}") from None


def _bytes_of(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode(errors="surrogatepass")
    return base64.b64decode(content["base64"], validate=True)


def _of_file(
    check: FileCheck,
    number: int,
    files: Mapping[str, bytes],
    trajectory: Trajectory,
    sandbox: Sandbox,
) -> Verdict:
    name = check.name or f"check {number}"
    data = files.get(check.file)
    reason = _fault_in(check, data, trajectory)
    if not reason and check.matches is not None and data is not None:
        reason = _mismatch(check.matches, data, sandbox)
    return Verdict(name, not reason, check.weight, reason)


def _mismatch(pattern: str, data: bytes, sandbox: Sandbox) -> str:
    """Return that a pattern is not found, or an empty text.

    It is looked for in the sandbox: a text can be written to make a pattern search for ever.
    """
    job = Job(source=_SEARCH, files={"text": data, "pattern": pattern}, cpu_seconds=2.0)
    outcome = sandbox.fairly(lambda: sandbox.run(job))
    if outcome.status == "sandbox_error":
        raise InfrastructureError(outcome.reason)
    if outcome.status != "ok":
        return f"searching it ended as {outcome.status}"
    return "" if outcome.stdout == "found\n" else "it does not match"


def _fault_in(check: FileCheck, data: bytes | None, trajectory: Trajectory) -> str:
    """Return what is wrong with a file, without what would be right; empty if nothing is."""
    left_out: Any = trajectory.artifacts.get("left_out") or {}
    if check.absent:
        there = data is not None or check.file in left_out
        return "the file is still there" if there else ""
    if data is None:
        return "the file is too large to be kept" if check.file in left_out else "it is missing"
    text = data.decode(errors="replace")
    given = trajectory.task.files.get(check.file)
    faults = {
        "it was changed": check.unchanged and text != given,
        "its text is another": check.equals is not None and _end(text) != _end(check.equals),
        "something is not in it": any(each not in text for each in check.contains),
        "something is in it that should not": any(each in text for each in check.lacks),
        "its JSON is another": "as_json" in check.model_fields_set
        and not _is_json(text, check.as_json),
    }
    return next((reason for reason, holds in faults.items() if holds), "")


def _end(text: str) -> str:
    return text.rstrip()


def _is_json(text: str, wanted: Any) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return _canonical(found) == _canonical(wanted)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=dict)


def _fault_of(check: CommandCheck, outcome: Outcome) -> str:
    """Return what is wrong with how a command ended; empty if nothing is.

    Raises:
        InfrastructureError: if it is nobody's doing.
    """
    if outcome.status == "sandbox_error":
        raise InfrastructureError(outcome.reason)
    if outcome.status not in {"ok", "nonzero"}:
        return f"it ended as {outcome.status}"
    if outcome.exit_code != check.exit_code:
        return f"it ended with exit code {outcome.exit_code}"
    if check.stdout is not None and _end(outcome.stdout) != _end(check.stdout):
        return "it printed something else"
    if any(each not in outcome.stdout for each in check.contains):
        return "something is not in what it printed"
    return ""


def _runnable(trajectory: Trajectory) -> list[str]:
    """Return the files that could be run when the attempt ended; the mode is in the snapshot."""
    state: Any = trajectory.artifacts.get("state") or {}
    marks: Any = state.get("files") if isinstance(state, Mapping) else None
    if not isinstance(marks, Mapping):
        return []
    return [path for path, mark in marks.items() if str(mark).endswith(" x")]


def _without_clashes(files: Mapping[str, bytes], hidden: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return both, without files of the attempt that stand where hidden ones need a folder."""
    folders = {path[:end] for path in hidden for end in range(len(path)) if path[end] == "/"}
    kept = {
        path: data
        for path, data in files.items()
        if _is_path(path)
        and path not in folders
        and not any(path.startswith(f"{each}/") for each in hidden)
    }
    return {**kept, **hidden}


def _is_path(path: str) -> bool:
    """Return whether a sandbox can have a file of that name; no other can have been left."""
    parts = PurePosixPath(path).parts
    return bool(parts) and "\0" not in path and parts[0] != "/" and ".." not in parts
