import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.json_text import MAX_NESTING, BadJsonError, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip
BAD = {
    "": "Expecting value",
    "{": "Expecting property name",
    "{} {}": "Extra data at character 3",
    "{'a': 1}": "property name",
    '{"a": 1,}': "it is no JSON",
    '{"a": 1, "b": 2, "a": 3}': "'a' stands twice",
    '[{"a": {"b": 1, "b": 1}}]': "'b' stands twice",
    "NaN": "NaN is no JSON",
    "[-Infinity]": "-Infinity is no JSON",
    "[1e400]": "1e400 is larger",
    "1" * 5000: "digits",
    "[" * 100_000: "deeper than 64",
    "[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1): "deeper than 64",
    '{"a":' * 65 + "1" + "}" * 65: "deeper than 64",
}


@given(JSON)
def test_reads_what_json_writes(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(("text", "reason"), BAD.items(), ids=range(len(BAD)))
def test_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(BadJsonError, match=reason):
        read_json(text)


def test_reads_as_deep_as_it_says() -> None:
    text = "[" * MAX_NESTING + "1" + "]" * MAX_NESTING
    assert json.dumps(read_json(text)) == text


@given(st.text(alphabet='[]{}":,0123.eE-+ntfals \\u"\n', max_size=60))
def test_raises_nothing_else_for_any_text(text: str) -> None:
    with contextlib.suppress(BadJsonError):
        read_json(text)
