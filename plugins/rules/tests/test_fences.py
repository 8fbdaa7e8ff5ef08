import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.fences import fences

TEXTS = [
    ("no fence", []),
    ("```\na\n```", [("", "a\n", True)]),
    ("x\n```Python title=a.py\na\n```\ny", [("python", "a\n", True)]),
    ("~~~~\n```\na\n```\n~~~~", [("", "```\na\n```\n", True)]),
    ("````\n```\na\n````", [("", "```\na\n", True)]),
    ("```\na\n`````", [("", "a\n", True)]),
    ("```\na\n``` b\n```", [("", "a\n``` b\n", True)]),
    ("```a\n```b\nx\n```\n```", [("a", "```b\nx\n", True), ("", "", False)]),
    ("```\na", [("", "a", False)]),
    ("```", [("", "", False)]),
    ("```\n```", [("", "", True)]),
    ("  - item\n    ```sh\n    ls\n    ```", [("sh", "    ls\n", True)]),
    ("inline ```code``` here", []),
    ("```code``` at the start", []),
    ("``\na\n``", []),
]


@pytest.mark.parametrize(("text", "blocks"), TEXTS)
def test_reads_blocks(text: str, blocks: list[tuple[str, str, bool]]) -> None:
    found = [(block.language, block.content, block.closed) for block in fences(text)]
    assert found == blocks


@given(st.lists(st.sampled_from(["```", "~~~", "````", "```py", "a", "", "  ```"])).map("\n".join))
def test_blocks_are_in_order_and_only_the_last_may_be_open(text: str) -> None:
    found = fences(text)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert all(block.closed for block in found[:-1])
    assert all(block.content in text[block.start : block.end] for block in found)


def test_a_megabyte_of_fences_is_read() -> None:
    assert len(fences("```\n" * 250_000)) == 125_000
