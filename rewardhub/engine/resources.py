"""The resources of a reward file, each made once and shared by all graders that name it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from rewardhub.contracts import Judge, Resource, Several, Workers
from rewardhub.engine.judging import Judging
from rewardhub.engine.judging_cache import Verdicts
from rewardhub.engine.metering import metered
from rewardhub.records import canonical_json
from rewardhub.spec.model import Entry, ResourceEntry, RewardSpec, Route, Spec


class SharedResources:
    """Opens, hands out and closes what graders share.

    Equal entries of several routed specs are one resource, with one limit and one budget.

    Args:
        reward: the reward file.
        workers: makes the `Workers` of graders on threads, given an entry.
        verdicts: keeps what judges reply; None: nothing does.
        judge_cache_only: ask judges nothing, and answer with what is kept alone.
    """

    def __init__(
        self,
        reward: RewardSpec,
        workers: Callable[[Entry], Workers],
        *,
        verdicts: Verdicts | None = None,
        judge_cache_only: bool = False,
    ) -> None:
        self._workers = workers
        self._verdicts = verdicts
        self._cache_only = judge_cache_only
        self._made: dict[bytes, Resource] = {}
        self._opened: list[Resource] = []
        self._by_name: dict[tuple[int, str], Resource] = {}
        for spec in reward.all_specs if isinstance(reward, Route) else (reward,):
            for name, entry in spec.resources.items():
                self._by_name[id(spec), name] = self._one(entry)

    def _one(self, entry: ResourceEntry) -> Resource:
        key = canonical_json([entry.use, entry.owner, dict(entry.options), dict(entry.limits)])
        if key not in self._made:
            self._made[key] = self._around(entry)
        return self._made[key]

    def _around(self, entry: ResourceEntry) -> Resource:
        if isinstance(entry.resource, Judge):
            return Judging(entry, self._verdicts, cache_only=self._cache_only)
        return metered(entry)

    def bound(self, spec: Spec, entry: Entry) -> dict[str, Resource]:
        """Return the resources of an entry, by the parameter that asks for each."""
        bound: dict[str, Resource] = {}
        for slot, kind in entry.card.signature.slots.items():
            if kind is Workers:
                bound[slot] = self._workers(entry)
                continue
            names = entry.bind.get(slot, slot)
            if isinstance(names, str):
                bound[slot] = self._by_name[id(spec), names]
            else:
                bound[slot] = Several({name: self._by_name[id(spec), name] for name in names})
        return bound

    def open(self) -> None:
        """Open each resource once."""
        for resource in self._made.values():
            resource.open()
            self._opened.append(resource)

    def close(self) -> None:
        """Close each resource that was opened: all of them, even if one raises."""
        with ExitStack() as closing:
            if self._verdicts is not None:
                closing.callback(self._verdicts.close)
            while self._opened:
                closing.callback(self._opened.pop(0).close)


def identities(resources: Mapping[str, Resource]) -> dict[str, Any]:
    """Return what names the resources of an entry in the key of a cached Score."""
    return {slot: dict(resource.identity) for slot, resource in resources.items()}
