"""What this machine gives the local sandbox: tried once, in a throw-away process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rewardhub.builtin.sandboxes.inside.wishes import NAMESPACES, Mode
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.contracts import Job
from rewardhub.errors import InfrastructureError, UsageError

Level = Literal["strong", "basic", "none"]
LEVELS: tuple[Level, ...] = ("none", "basic", "strong")
"""From the weakest to the strongest."""

_LEVEL_OF_MODE: Mapping[Mode, Level] = {
    "root": "strong",
    "user": "strong",
    "landlock": "basic",
    "bare": "none",
}
_SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "10000"),
}
"""Where the kernel is told to refuse user namespaces: how it says so, and what allows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was found.

    Attributes:
        level: ``strong``, ``basic`` or ``none``.
        mode: how jobs are walled in.
        has: each means, and what became of trying it.
        would_help: what would raise the level, or make its limits exact.
    """

    level: Level
    mode: Mode
    has: Mapping[str, str] = field(default_factory=dict[str, str])
    would_help: tuple[str, ...] = ()


def probe(open_line: Callable[[Mode], Line]) -> Probe:
    """Try the ways to wall jobs in, the strongest first, and return what the first one gives.

    Args:
        open_line: makes a line whose jobs are walled in so.
    """
    if sys.platform != "linux":
        return Probe(
            level="none",
            mode="bare",
            has={"Linux": f"no: this is {sys.platform}"},
            would_help=("The local sandbox needs Linux; elsewhere, use `docker`.",),
        )
    has: dict[str, str] = {}
    for mode in _modes():
        try:
            line = open_line(mode)
        except InfrastructureError as error:
            has[_NAMES[mode]] = f"no: {_last_line(error)}"
            continue
        try:
            return _found(mode, line, has)
        finally:
            line.close()
    return Probe(level="none", mode="bare", has=has, would_help=_help("bare"))


def require(found: Probe, *, minimum: Level, allow_unsafe: bool) -> None:
    """Refuse a level that is too low.

    Raises:
        UsageError: with what would raise it.
    """
    if allow_unsafe or LEVELS.index(found.level) >= LEVELS.index(minimum):
        return
    tried = "\n".join(f"  {name}: {what}" for name, what in found.has.items())
    advice = "\n".join(f"  - {each}" for each in found.would_help)
    lesser = f"`minimum: {found.level}`" if found.level == "basic" else "`allow_unsafe: true`"
    raise UsageError(
        f"The local sandbox gives the level `{found.level}` on this machine, and `{minimum}` is "
        f"asked for, so nothing runs.\n{tried}\nWhat would help:\n{advice}\n"
        f"  - Or accept the level in the spec, with its option {lesser}: see "
        "docs/explanation/sandboxes.md."
    )


_NAMES: Mapping[Mode, str] = {
    "root": "namespaces as root",
    "user": "namespaces as this user",
    "landlock": "Landlock",
    "bare": "limits alone",
}


def _modes() -> tuple[Mode, ...]:
    return ("root", "user", "landlock") if os.geteuid() == 0 else ("user", "landlock")


def _found(mode: Mode, line: Line, has: dict[str, str]) -> Probe:
    """Return what a line that works has, after a job in it."""
    outcome = line.start(Job(source="print(1)"), lambda: None).finish()
    if outcome.status != "ok":
        has[_NAMES[mode]] = f"no: {outcome.reason} {outcome.stderr[-200:]}".strip()
        return Probe(level="none", mode="bare", has=has, would_help=_help("bare"))
    has[_NAMES[mode]] = "yes"
    has["filter of system calls"] = "yes"
    version = line.info.get("cgroup")
    refused = line.info.get("no_cgroup", "")
    has["memory of all processes of a job"] = (
        f"bounded by a control group (version {version})"
        if version
        else f"watched, and bounded for each process; no control group: {refused}"
    )
    return Probe(
        level=_LEVEL_OF_MODE[mode],
        mode=mode,
        has=has,
        would_help=_help(mode, has_group=bool(version)),
    )


def _help(mode: Mode, *, has_group: bool = False) -> tuple[str, ...]:
    advice: list[str] = []
    if mode not in NAMESPACES:
        for name, (refusing, allowing) in _SWITCHES.items():
            path = Path("/proc/sys", name)
            if path.exists() and path.read_text().strip() == refusing:
                advice.append(
                    f"Allow user namespaces: `sudo sysctl {name.replace('/', '.')}={allowing}`."
                )
        if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
            advice.append(
                "This is a container that may not make namespaces: start it with "
                "`--security-opt seccomp=unconfined --cap-add SYS_ADMIN`, or give it a daemon and "
                "use the sandbox `docker`."
            )
        advice.append("Use the sandbox `docker`, if there is a Docker daemon.")
    if not has_group and mode != "bare":
        advice.append(
            "A control group bounds memory exactly: run as root, or under "
            "`systemd-run --user --scope -p Delegate=yes`."
        )
    return tuple(advice)


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
