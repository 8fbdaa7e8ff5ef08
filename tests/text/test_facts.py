from __future__ import annotations

import pytest

from rewardhub.text import DEFAULT_FACTS, TemplateFacts


def test_the_defaults_are_those_of_unknown_origin() -> None:
    assert TemplateFacts() == DEFAULT_FACTS
    assert DEFAULT_FACTS.end_tokens == ()
    assert not DEFAULT_FACTS.opens_reasoning


def test_is_frozen() -> None:
    with pytest.raises(AttributeError):
        DEFAULT_FACTS.opens_reasoning = True  # type: ignore[misc]


def test_knows_how_its_markers_begin() -> None:
    facts = TemplateFacts(special_tokens=("[INST]", "</s>"), end_tokens=("#END",))
    assert set(facts.first_characters) == {"[", "<", "#"}


def test_default_markers_all_begin_alike() -> None:
    assert DEFAULT_FACTS.first_characters == ("<",)


@pytest.mark.parametrize("marker", ["", "a\nb"])
def test_refuses_a_marker_that_is_empty_or_has_lines(marker: str) -> None:
    with pytest.raises(ValueError, match="on one line"):
        TemplateFacts(special_tokens=(marker,))


def test_refuses_one_tag_for_both_ends_of_reasoning() -> None:
    with pytest.raises(ValueError, match="both open and close"):
        TemplateFacts(reasoning_tags=("|", "|"))


def test_refuses_a_tag_that_ends_the_response() -> None:
    with pytest.raises(ValueError, match="end both"):
        TemplateFacts(end_tokens=("</think>",))
