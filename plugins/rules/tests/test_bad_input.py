"""What every grader makes of input that nobody wishes for: a number or an abstention, no crash."""

from typing import Any

import pytest
import rewardhub_rules

from rewardhub import GraderCard, Score
from rewardhub.testing import CallingWorkers, grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_rules)
OPTIONS: dict[str, dict[str, Any]] = {
    "rules/code-block": {},
    "rules/contains": {"phrases": ["salt"], "match": "none"},
    "rules/expression": {"expression": "words <= 10 and sentences <= 10"},
    "rules/json-schema": {"json_schema": {"type": "object"}},
    "rules/language": {"language": "en"},
    "rules/length": {"unit": "sentences"},
    "rules/no-forbidden": {"phrases": ["salt"], "patterns": ["sa+lt"]},
    "rules/regex": {"pattern": "sa+lt", "match": "none"},
    "rules/repetition": {"measure": "block"},
    "rules/tags": {},
}
MEGABYTE = {
    "of one letter": "a" * 1_000_000,
    "of words": "salty " * 170_000,
    "of fences": "```\n" * 250_000,
    "of tags": "<think>" * 140_000,
    "of brackets": "[" * 1_000_000,
    "of marks": "." * 1_000_000,
    "of ideographs": "\u4eca\u5929" * 170_000,
    "of lines": "a\n" * 500_000,
}


CARDS = [REGISTRY.grader(name).card for name in OPTIONS]


def score(card: GraderCard, reply: Any, **fields: Any) -> Score:
    workers = {"workers": CallingWorkers()} if card.signature.slots else {}
    return grade(card, make_trajectory(reply, **fields), options=OPTIONS[card.name], **workers)


def by_name(value: Any) -> str:
    return value.name if isinstance(value, GraderCard) else str(value)[:16]


@pytest.mark.parametrize("card", CARDS, ids=by_name)
@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"], ids=["nothing", "spaces", "wide space"])
def test_a_blank_answer_follows_no_rule(card: GraderCard, text: str) -> None:
    made = score(card, text)
    assert made.status == "graded"
    if card.name != "rules/expression":  # it says itself what an empty answer is worth
        assert (made.value, made.reason) == (0, "the answer is empty")


@pytest.mark.parametrize("card", CARDS, ids=by_name)
@pytest.mark.parametrize("text", MEGABYTE.values(), ids=MEGABYTE.keys())
def test_a_megabyte_is_graded(card: GraderCard, text: str) -> None:
    assert score(card, text).status == "graded"


@pytest.mark.parametrize("card", CARDS, ids=by_name)
@pytest.mark.parametrize("text", ["\ud800 half a pair", "\x00\x07", "\u202eback", "\ufeff{}"])
def test_strange_characters_are_graded(card: GraderCard, text: str) -> None:
    assert score(card, text).status == "graded"


@pytest.mark.parametrize("card", CARDS, ids=by_name)
def test_steps_without_text_are_graded_by_the_last_one(card: GraderCard) -> None:
    call = {"text": "", "tool_calls": [{"name": "ls"}], "observations": [{"content": "a"}]}
    made = score(card, ["An answer in words, early on.", call])
    assert made.status == "graded"
    if card.name != "rules/expression":
        assert made.reason == "the answer is empty"


@pytest.mark.parametrize("card", CARDS, ids=by_name)
def test_images_in_messages_change_nothing(card: GraderCard) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    text = {"type": "text", "text": "What is this?"}
    asked = [{"role": "user", "content": [image, text]}]
    reply = "A small boat in a quiet harbour."
    assert score(card, reply, messages=asked).value == score(card, reply).value


def test_an_image_alone_has_no_language() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    attempt = make_trajectory("A boat.", messages=[{"role": "user", "content": [image]}])
    made = grade(REGISTRY.grader("rules/language").card, attempt, options={"language": "prompt"})
    assert (made.status, made.fault) == ("abstained", "task")


@pytest.mark.parametrize("card", CARDS, ids=by_name)
def test_ten_thousand_steps_are_graded(card: GraderCard) -> None:
    assert score(card, ["a"] * 9_999 + ["The last one."]).status == "graded"
