"""Snapshots: what an environment holds after a step, as JSON that two runs can be compared by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LISTED = 500
"""How many files a snapshot lists; of more it tells the count, and the digest of all."""


def digest_of(value: Any) -> str:
    """Return the digest of JSON ``value``, whatever the order of its fields."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def snapshot(
    *, files: Mapping[str, str], folder: str = ".", values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the state after a step: equal if and only if nothing in it differs.

    Args:
        files: path -> hash of the content, with `` x`` where it can be run; ``-> target`` of links.
        folder: where the next command starts, from the working folder.
        values: the declared state of tools.
    """
    whole = {"files": dict(files), "folder": folder, "values": dict(values or {})}
    listed: dict[str, Any] = {"files": dict(files)}
    if len(files) > LISTED:
        listed = {"count": len(files)}
    return {"digest": digest_of(whole), **listed, "folder": folder, "values": whole["values"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where two states differ. None: it is not there.

    Attributes:
        place: what differs: a path, ``folder``, or a value's name.
        recorded: what the record says.
        now: what the fresh environment has.
    """

    place: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        if self.recorded is None:
            return f"{self.place} was not there, and is now"
        if self.now is None:
            return f"{self.place} was there, and is not now"
        return f"{self.place} was {_short(self.recorded)}, and is {_short(self.now)} now"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=_plain)
    return text if len(text) <= 200 else f"{text[:200]}..."


def differences(recorded: Any, now: Any) -> Sequence[Difference]:
    """Return where two states differ, in order of place; also of environments of other kinds."""
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        found: list[Difference] = []
        for name in sorted({*recorded, *now} - {"digest"}):
            before, after = recorded.get(name), now.get(name)
            if isinstance(before, Mapping) and isinstance(after, Mapping):
                found += _between(before, after)
            elif _canonical(before) != _canonical(after):
                found.append(Difference(place=name, recorded=before, now=after))
        if not found and recorded.get("digest") != now.get("digest"):
            what = "the digest of all files"
            found.append(
                Difference(place=what, recorded=recorded.get("digest"), now=now.get("digest"))
            )
        return found
    if _canonical(recorded) == _canonical(now):
        return []
    return [Difference(place="the state", recorded=recorded, now=now)]


def _between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    return [
        Difference(place=key, recorded=before.get(key), now=after.get(key))
        for key in sorted({*before, *after})
        if _canonical(before.get(key)) != _canonical(after.get(key))
    ]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=_plain)
