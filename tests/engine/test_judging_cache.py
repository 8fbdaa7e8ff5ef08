"""Replies of judges by the content of the question."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardhub.contracts import JudgeReply, Usage
from rewardhub.engine.judging_cache import Question, Verdicts
from rewardhub.engine.store import Store
from rewardhub.records.base import ReadOnly

ASKED = Question(messages=[{"role": "user", "content": "?"}])


@pytest.fixture
def verdicts(tmp_path: Path) -> Iterator[Verdicts]:
    made = Verdicts(tmp_path / "verdicts.sqlite")
    yield made
    made.close()


def test_gives_back_a_reply_as_it_was_and_says_that_it_was_kept(verdicts: Verdicts) -> None:
    reply = JudgeReply(
        text='{"score": null, "why": "é\\n"}',
        data={"score": None, "why": ["é"], "deep": {"none": None}},
        usage=Usage(prompt_tokens=3, completion_tokens=2, cost=0.25),
        finish_reason="length",
        logprobs=({"b": -0.5, "a": -math.inf}, {}),
    )
    verdicts.put("key", reply)
    kept = verdicts.get("key")
    assert kept is not None
    assert kept.cached
    assert (kept.text, kept.data, kept.usage, kept.finish_reason, kept.logprobs) == (
        reply.text, reply.data, reply.usage, reply.finish_reason, reply.logprobs,
    )  # fmt: skip
    assert list(kept.logprobs[0]) == ["b", "a"], "the token that was taken stays first"
    assert verdicts.get("another") is None


def test_does_not_keep_what_cannot_be_written(verdicts: Verdicts) -> None:
    verdicts.put("key", JudgeReply(text="half of a pair: \ud800"))
    assert verdicts.get("key") is None


def test_a_file_with_something_else_in_it_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = Store(path, "verdict")
    store.put("key", b'{"text": 7}')
    store.close()
    verdicts = Verdicts(path)
    with caplog.at_level(logging.WARNING, "rewardhub"):
        assert verdicts.get("key") is None
    verdicts.put("key", JudgeReply(text="new"))
    assert verdicts.get("key") is not None
    verdicts.close()
    assert "verdict cache is set aside" in caplog.text


def test_lies_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "here"))
    assert Verdicts().path == tmp_path / "here" / "verdicts.sqlite"


def test_a_key_is_of_the_content_alone() -> None:
    same = Question(messages=({"content": "?", "role": "user"},))
    frozen = Question(messages=(ReadOnly({"role": "user", "content": "?"}),))
    assert ASKED.key({"a": 1, "b": 2}) == same.key({"b": 2, "a": 1}) == frozen.key({"a": 1, "b": 2})


def test_a_key_is_of_the_judge_too() -> None:
    assert ASKED.key({"model": "small"}) != ASKED.key({"model": "large"})


def test_a_question_may_hold_half_of_a_surrogate_pair() -> None:
    assert Question(messages=[{"role": "user", "content": "\ud800"}]).key({})
