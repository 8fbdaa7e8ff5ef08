import pytest
from rewardhub_rules import CodeBlock

from rewardhub import RecordError
from rewardhub.testing import grade, make_trajectory


def reason(text: str, **options: object) -> str:
    return grade(CodeBlock, make_trajectory(text), options=options).reason


def test_says_what_is_wrong() -> None:
    assert reason("x") == "0 code blocks, at least 1 asked"
    assert reason("```\na\n```\n```\nb\n```") == "2 code blocks, at most 1 asked"
    assert reason("```js\na\n```", languages=["py", "python"]) == (
        "a code block says `js`, `py` or `python` asked"
    )
    assert reason("```\na") == "the last code block is never closed"
    assert reason("```\n\n```") == "a code block is empty"
    assert reason("a\n```\nb\n```", text_around=False) == "there is text outside of the code block"


def test_any_number_of_blocks_where_no_bound_is_set() -> None:
    text = "```\na\n```\n" * 5
    assert grade(CodeBlock, make_trajectory(text), options={"at_most": None}).value == 1


def test_the_case_of_a_language_does_not_count() -> None:
    assert grade(CodeBlock(languages=("JSON",)), make_trajectory("```Json\n1\n```")).value == 1


def test_refuses_bounds_that_nothing_can_keep() -> None:
    with pytest.raises(RecordError, match=r"at_most \(1\) is below at_least \(2\)"):
        reason("x", at_least=2)
