"""Labelled rows to parts that share no problem, not even a reworded one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rewardhub_prm.labelled import LabelledRow, digest_of_problem, plain, short_digest

__all__ = ["groups_of", "part_rows"]

_WORDS = 4
_COMMON = 10
"""Words that more problems than this share are the wording of a kind of task: they tell nothing
of whether two of its problems are one."""

_SHARED = 0.5


def part_rows(
    rows: Sequence[LabelledRow], shares: Mapping[str, float], *, rest: str, seed: int = 0
) -> dict[str, tuple[LabelledRow, ...]]:
    """Return the rows in parts by name; all attempts at one problem are in one part.

    Which part a group of near-equal problems is in depends on the group and ``seed`` alone, not on
    the other rows.

    Args:
        rows: to be parted.
        shares: part -> about which share of the groups it gets.
        rest: the part that gets what remains.
        seed: another one gives other parts.
    """
    groups = groups_of([row.problem for row in rows])
    parts: dict[str, list[LabelledRow]] = {name: [] for name in (*shares, rest)}
    for row, group in zip(rows, groups, strict=True):
        draw = int(short_digest(f"{seed}:{group}"), 16) / 16**16
        for name, share in shares.items():
            if draw < share:
                parts[name].append(row)
                break
            draw -= share
        else:
            parts[rest].append(row)
    return {name: tuple(found) for name, found in parts.items()}


def groups_of(problems: Sequence[str]) -> tuple[str, ...]:
    """Return for each problem the name of its group: equal and nearly equal ones share one.

    Two problems are nearly equal if they have at least half of their runs of four words in common,
    counted by the shorter one (so a problem with a sentence added is found), where runs that more
    than ten problems have do not count. The name is the least digest in the group.
    """
    texts = {digest_of_problem(problem): plain(problem).split() for problem in problems}
    runs = {digest: _runs(words) for digest, words in texts.items()}
    owners: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for digest, own in runs.items():
        for run in own:
            owners[run].append(digest)
    telling = {run: found for run, found in owners.items() if len(found) <= _COMMON}
    sizes = {digest: sum(run in telling for run in own) for digest, own in runs.items()}
    shared: defaultdict[tuple[str, str], int] = defaultdict(int)
    for found in telling.values():
        for at, first in enumerate(found):
            for second in found[at + 1 :]:
                shared[min(first, second), max(first, second)] += 1
    root = {digest: digest for digest in texts}
    for (first, second), count in shared.items():
        if count >= max(2, _SHARED * min(sizes[first], sizes[second])):
            one, other = _root(root, first), _root(root, second)
            root[max(one, other)] = min(one, other)
    return tuple(_root(root, digest_of_problem(problem)) for problem in problems)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + _WORDS]) for at in range(max(len(words) - _WORDS + 1, 0))}


def _root(root: dict[str, str], digest: str) -> str:
    while root[digest] != digest:
        root[digest] = root[root[digest]]
        digest = root[digest]
    return digest
