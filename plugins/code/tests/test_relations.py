from typing import Any

import pytest
from rewardhub_code.relations import relations_of


def keeps(inputs: list[tuple[Any, ...]], args: tuple[Any, ...]) -> bool:
    return all(relation(args) for relation in relations_of(inputs))


@pytest.mark.parametrize(
    ("inputs", "kept", "lost"),
    [
        ([([1, 2], [3, 1]), ([3], [4])], ([4, 5], [1, 0]), ([5], [1, 0])),
        ([([5, 4, 5], 2), ([1, 1], 1)], ([9, 9], 0), ([9, 9], 2)),
        ([(1, 5), (7, 9)], (2, 3), (3, 3)),
        ([(5, 5), (7, 9)], (3, 3), (4, 3)),
        ([("ab", 5), ("abc", 4)], ("a", 2), ("abc", 2)),
        ([([1, 2],), ([3, 5, 9],)], ([4, 6],), ([6, 4],)),
        ([([2, 1],), ([9, 5],)], ([4, 6],), ([4, 4],)),
    ],
)
def test_keeps_what_holds_for_all_inputs(
    inputs: list[tuple[Any, ...]], kept: tuple[Any, ...], lost: tuple[Any, ...]
) -> None:
    assert all(keeps(inputs, args) for args in inputs)
    assert keeps(inputs, kept)
    assert not keeps(inputs, lost)


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [(1, 2)],
        [(1,), (1, 2)],
        [(1, 2), (2, 1)],
        [(0.5, None), (1.5, None)],
        [([1, "a"],), ([1, 1],)],
    ],
)
def test_concludes_nothing_where_nothing_holds(inputs: list[tuple[Any, ...]]) -> None:
    assert relations_of(inputs) == []
