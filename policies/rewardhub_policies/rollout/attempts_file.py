"""The attempts of a rollout: one line each, appended as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rewardhub import Trajectory, UsageError, read_trajectory
from rewardhub_policies.recorded import TRAJECTORIES

PLAN = "rollout.json"
"""What the rollout is: the policy, its version, how many attempts, and the seed."""


class AttemptsFile:
    """``trajectories.jsonl`` of a run folder, held by one process at a time.

    After a kill, a torn last line is cut; an attempt whose line is whole is never made again.

    Args:
        folder: the run folder; made if it is not there.
        plan: what the rollout is; a folder of another one is refused.

    Raises:
        UsageError: if the folder is of another rollout, or another process holds it.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / TRAJECTORIES
        self._lock = _locked(folder / "rollout.lock")
        _check_plan(folder / PLAN, dict(plan))
        self.done = set(self._known())
        self._file = self.path.open("ab")

    def write(self, trajectory: Trajectory) -> None:
        """Append one attempt; it is handed to the operating system before this returns."""
        self._file.write(trajectory.to_json() + b"\n")
        self._file.flush()
        self.done.add(trajectory.id)

    def close(self) -> None:
        """Let another process have the folder."""
        self._file.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _known(self) -> Iterator[str]:
        """Yield the ids of the attempts that are there, and cut what was torn."""
        if not self.path.exists():
            return
        whole = 0
        with self.path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                yield read_trajectory(line).id
        os.truncate(self.path, whole)


def _check_plan(path: Path, plan: dict[str, Any]) -> None:
    text = json.dumps(plan, indent=1, sort_keys=True)
    if not path.exists():
        part = path.with_name(f".{path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    now = json.loads(text)
    other = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if other:
        raise UsageError(
            f"`{path.parent}` holds another rollout: {', '.join(f'`{key}`' for key in other)} "
            "differ. Name another folder with `--run`."
        )


def _locked(path: Path) -> int:
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UsageError(
            f"Another process rolls out into `{path.parent}`. Wait for it, or name another folder."
        ) from None
    return descriptor
