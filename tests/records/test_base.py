"""Read-only JSON, digests, and what every record shares."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.errors import RecordError
from rewardhub.records import (
    EMPTY,
    Message,
    ReadOnly,
    Step,
    Task,
    canonical_json,
    digest_of,
    dump_json,
    freeze,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=12,
)  # fmt: skip


def thaw(value):
    """Return frozen JSON as plain lists and dictionaries."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, tuple) else value


@given(JSON)
def test_freezes_json_without_loss(value):
    assert thaw(freeze(value)) == value


@given(JSON)
def test_freezes_only_once(value):
    frozen = freeze(value)
    assert freeze(frozen) == frozen


@given(JSON)
def test_hashes_equal_json_alike(value):
    assert hash(freeze(value)) == hash(freeze(json.loads(json.dumps(value))))


def test_hashes_equal_numbers_of_two_types_alike():
    assert ReadOnly({"a": 1}) == ReadOnly({"a": 1.0})
    assert hash(ReadOnly({"a": 1})) == hash(ReadOnly({"a": 1.0}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", {1, 2}, {1: 2}, object()])
def test_freezes_nothing_but_json(value):
    with pytest.raises(ValueError, match=r"JSON"):
        freeze({"deep": [value]})


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: mapping.__setitem__("a", 2),
        lambda mapping: mapping.__delitem__("a"),
        lambda mapping: mapping.__ior__({"b": 1}),
        lambda mapping: mapping.update(a=2),
        lambda mapping: mapping.pop("a"),
        lambda mapping: mapping.popitem(),
        lambda mapping: mapping.setdefault("b", 1),
        lambda mapping: mapping.clear(),
    ],
)
def test_refuses_every_change_of_a_mapping(change):
    mapping = freeze({"a": 1})
    with pytest.raises(TypeError, match="copy the mapping with dict"):
        change(mapping)
    assert mapping == {"a": 1}


def test_makes_a_plain_copy_that_can_change():
    mapping = dict(freeze({"a": 1}))
    mapping["a"] = 2
    assert mapping == {"a": 2}


@pytest.mark.parametrize(
    "copied",
    [lambda value: pickle.loads(pickle.dumps(value)), copy.copy, copy.deepcopy],
)
def test_stays_read_only_when_copied(copied):
    mapping = copied(freeze({"a": {"b": [1]}}))
    assert mapping == {"a": {"b": (1,)}}
    assert type(mapping["a"]) is ReadOnly


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON))
def test_digests_ignore_the_order_of_fields(mapping):
    backwards = dict(reversed(mapping.items()))
    assert digest_of(mapping) == digest_of(backwards)


def test_digests_tell_null_from_nothing():
    assert digest_of({"a": None}) != digest_of({})


def test_a_digest_is_blake2b_of_canonical_json():
    assert canonical_json({"b": 1, "a": "\u00e9"}) == b'{"a":"\xc3\xa9","b":1}'
    assert len(digest_of({})) == 32


def test_replaces_a_field_and_checks_the_result():
    step = Step(text="a")
    assert step.replace(text="b") == Step(text="b")
    assert step.text == "a"
    with pytest.raises(RecordError, match="greater than or equal to 0"):
        step.replace(tokens=-1)


def test_names_the_close_field_when_replacing():
    with pytest.raises(RecordError, match=r"A step has no field `txt`. Did you mean `text`"):
        Step().replace(txt="a")


def test_refuses_a_new_value_of_a_field():
    with pytest.raises(ValueError, match="frozen"):
        Step(text="a").text = "b"


def test_explains_each_mistake_of_a_record():
    with pytest.raises(RecordError) as excinfo:
        Task().replace(messages=[{"role": "nobody"}], split=3)
    assert "`messages.0.role`" in str(excinfo.value)
    assert "`split`" in str(excinfo.value)


def test_writes_half_a_surrogate_pair_as_a_replacement_character():
    message = Message(role="user", content="a\ud800b")
    assert json.loads(message.to_json())["content"] == "a\ufffdb"
    assert json.loads(dump_json({"\udfff": ["\ud800"]})) == {"\ufffd": ["\ufffd"]}


def test_shares_one_empty_mapping():
    assert EMPTY == {}
    assert Task().checks == EMPTY
