"""Pairing: as many pairs as there can be, each side used once."""

from __future__ import annotations

from collections.abc import Sequence


def pair(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return a largest pairing: right -> left, where left ``i`` may go with ``edges[i]``.

    Taking the first that fits can use up what another one needs, so pairs are moved along
    augmenting paths (Kuhn's method): at most one search over all edges for each left one.
    """
    left_of: dict[int, int] = {}
    for start in range(len(edges)):
        _place(start, edges, left_of)
    return left_of


def _place(start: int, edges: Sequence[Sequence[int]], left_of: dict[int, int]) -> None:
    """Find a place for ``start``, moving others if they have another place to go to."""
    came_from: dict[int, int] = {}  # right -> the left one that wants it
    waiting = [start]
    for left in waiting:
        for right in edges[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right not in left_of:
                _move(right, start, came_from, left_of)
                return
            waiting.append(left_of[right])


def _move(right: int, start: int, came_from: dict[int, int], left_of: dict[int, int]) -> None:
    right_of = {left: taken for taken, left in left_of.items()}
    while True:
        left = came_from[right]
        left_of[right] = left
        if left == start:
            return
        right = right_of[left]
