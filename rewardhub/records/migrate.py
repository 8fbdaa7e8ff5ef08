"""Reading records of older ``schema_version``.

A record is validated straight from bytes. Only when its ``schema_version`` is not today's is it
parsed again and lifted, one version at a time, by the steps in `UPGRADES`. A newer version than
ours is refused with a plain sentence; no field is ever dropped silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rewardhub.errors import RecordError
from rewardhub.records.base import SCHEMA_VERSION, build, explain_validation
from rewardhub.records.task import Task
from rewardhub.records.trajectory import Trajectory

R = TypeVar("R", bound=BaseModel)
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: dict[tuple[str, int], Upgrade] = {}
"""``(kind, version)`` -> the step that lifts a record of that version by one."""


def read_task(data: bytes | str) -> Task:
    """Return the Task in one JSON object, of any ``schema_version`` up to today's.

    Raises:
        RecordError: if it is none.
    """
    return _read(Task, data)


def read_trajectory(data: bytes | str) -> Trajectory:
    """Return the Trajectory in one JSON object, of any ``schema_version`` up to today's.

    Raises:
        RecordError: if it is none.
    """
    return _read(Trajectory, data)


def _read(record: type[R], data: bytes | str) -> R:
    try:
        return record.model_validate_json(data)
    except ValidationError as error:
        fields = _outdated(data)
        if fields is None:
            raise RecordError(explain_validation(error, record)) from None
    return build(record, upgrade(record.__name__.lower(), fields))


def _outdated(data: bytes | str) -> dict[str, Any] | None:
    """Return the fields if some record in them has another ``schema_version``."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    task = fields.get("task")
    versions = [fields.get("schema_version", SCHEMA_VERSION)]
    if isinstance(task, Mapping):
        versions.append(task.get("schema_version", SCHEMA_VERSION))
    return fields if any(version != SCHEMA_VERSION for version in versions) else None


def upgrade(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return ``fields`` of a ``kind`` (``task``, ``trajectory``) lifted to today's version.

    Raises:
        RecordError: if the version is newer than this rewardhub, or unknown.
    """
    version = fields.get("schema_version", SCHEMA_VERSION)
    while version != SCHEMA_VERSION:
        step = UPGRADES.get((kind, version)) if isinstance(version, int) else None
        if step is None:
            newer = isinstance(version, int) and version > SCHEMA_VERSION
            advice = "upgrade rewardhub-core to read it" if newer else "no such version was written"
            raise RecordError(
                f"this {kind} has schema_version {version!r}, and this rewardhub reads up to "
                f"{SCHEMA_VERSION}: {advice}"
            )
        fields = step(dict(fields)) | {"schema_version": version + 1}
        version += 1
    task = fields.get("task")
    if kind == "trajectory" and isinstance(task, dict):
        fields = fields | {"task": upgrade("task", task)}
    return fields
