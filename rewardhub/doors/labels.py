"""The label that travels with a prompt through a trainer: which task it is, in a few bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rewardhub.errors import RecordError
from rewardhub.records import Task

_MARK = "rewardhub"
_VERSION = 1
_FIELDS = ("task", "digest", "domain", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Which task a sample is an attempt at. The engine has the task, and never parses the prompt.

    As text it is one JSON object: ``{"rewardhub": 1, "task": ..., "digest": ..., "domain": ...,
    "split": ...}``. A text and not an object, because `datasets`, through which trainers read
    their prompts, forces one schema on all rows of a column.

    Attributes:
        task: the task's id.
        digest: of the whole task; another digest means that the task has changed.
        domain: routes to a spec, and names the trainer's metrics.
        split: tells training from evaluation.
    """

    task: str
    digest: str
    domain: str = ""
    split: str | None = None

    @classmethod
    def of(cls, task: Task) -> Label:
        """Return the label of a task."""
        return cls(task=task.id, digest=task.digest, domain=task.domain, split=task.split)

    def to_text(self) -> str:
        """Return the label as it stands in a trainer's data; `read_label` reads it."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps({_MARK: _VERSION, **fields}, ensure_ascii=False)


def read_label(label: Any) -> Label | None:
    """Return the label in what a trainer sent, or None where that is no label of ours.

    What is None is a plain reference: data that was made without rewardhub.

    Args:
        label: the text, or the object that it became on the way.

    Raises:
        RecordError: for a label of ours that is broken, or of a later version.
    """
    value: Any = label
    if isinstance(label, str):
        if _MARK not in label:
            return None
        try:
            value = json.loads(label)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping) or _MARK not in value:
        return None
    fields = dict(cast("Mapping[str, Any]", value))
    version = fields.pop(_MARK)
    if version != _VERSION:
        raise RecordError(
            f"The label is of version {version!r}, and this rewardhub reads {_VERSION}: "
            "write the data again with this version, or upgrade."
        )
    return _made(fields)


def _made(fields: dict[str, Any]) -> Label:
    for name in ("task", "digest"):
        if not isinstance(fields.get(name), str) or not fields[name]:
            raise RecordError(f"A label of rewardhub says its `{name}`, and {fields} does not.")
    unknown = next((name for name in fields if name not in _FIELDS), None)
    if unknown is not None:
        raise RecordError(f"A label of rewardhub has no `{unknown}`: {', '.join(_FIELDS)}.")
    domain, split = fields.get("domain") or "", fields.get("split")
    if not isinstance(domain, str) or not isinstance(split, str | None):
        raise RecordError(f"`domain` and `split` of a label are texts, and not so in {fields}.")
    return Label(task=fields["task"], digest=fields["digest"], domain=domain, split=split)
