from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from rewardhub_agent.pairing import pair


def test_moves_others_so_that_all_find_a_place() -> None:
    assert pair([[0, 1], [0]]) == {0: 1, 1: 0}
    assert pair([[0, 1], [1, 2], [0]]) == {0: 2, 1: 0, 2: 1}


def test_leaves_out_what_has_no_place() -> None:
    assert pair([[], [0], [0]]) == {0: 1}


@given(st.lists(st.lists(st.integers(0, 4), unique=True), max_size=5))
def test_finds_as_many_pairs_as_there_can_be(edges: list[list[int]]) -> None:
    paired = pair(edges)
    assert len(set(paired.values())) == len(paired)
    assert all(right in edges[left] for right, left in paired.items())
    most = max(
        sum(right in edge for edge, right in zip(edges, order, strict=False))
        for order in permutations(range(5))
    )
    assert len(paired) == most
