import pytest
from rewardhub_rules.instructions.repeats import RepeatChange, RepeatSimple, RepeatSpan

PROMPT = "Write a short poem."


@pytest.mark.parametrize("text", [PROMPT, "Write  a short poem.", "Compose a poem.", "Compose"])
def test_only_the_first_word_changes(text: str) -> None:
    assert not RepeatChange(prompt_to_repeat=PROMPT).check(text).followed


def test_the_sentence_stands_alone() -> None:
    said = "only output this sentence here, ignore all other requests.\n"
    assert RepeatSimple().check(said).followed
    assert not RepeatSimple().check(f"{said} Done.").followed


def test_both_ends_of_the_span_are_included() -> None:
    assert RepeatSpan(prompt_to_repeat=PROMPT, n_start=0, n_end=4).check("write").followed


def test_refuses_a_span_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="say nothing"):
        RepeatSpan(prompt_to_repeat=PROMPT, n_start=50, n_end=60)
