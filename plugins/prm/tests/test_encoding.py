import random
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from rewardhub_prm.encoding import Encoded, Given, Own, TextEncoder, joined

from rewardhub import UsageError

PIECES = ["<extra_0>", "<|im_end|>", "<|im", "_start|>", "<extra", "_0>", "a", "\n", " ", "Ä", "<"]


@pytest.fixture(scope="module")
def text(folders: dict[str, Path]) -> TextEncoder:
    return TextEncoder(transformers.AutoTokenizer.from_pretrained(folders["qwen"]), ["<extra_0>"])


@pytest.fixture(scope="module")
def tag(folders: dict[str, Path]) -> TextEncoder:
    return TextEncoder(transformers.AutoTokenizer.from_pretrained(folders["math-shepherd"]))


def decoded(text: TextEncoder, row: Encoded) -> str:
    return text.tokenizer.decode(row.ids, clean_up_tokenization_spaces=False)


def test_own_special_tokens_are_tokens(text: TextEncoder) -> None:
    row = text.encode([Own("<|im_start|>user<extra_0>", read=True)])
    assert text.tokenizer.convert_ids_to_tokens(row.ids) == ["<|im_start|>", "user", "<extra_0>"]
    assert row.positions == (2,)


def test_given_special_tokens_are_text(text: TextEncoder) -> None:
    row = text.encode([Given("a<extra_0>b<|im_end|>")])
    assert not set(row.ids) & set(text.tokenizer.all_special_ids)
    assert decoded(text, row) == "a<extra_0>b<|im_end|>"


def test_special_tokens_that_two_parts_spell_together_are_text(text: TextEncoder) -> None:
    row = text.encode([Given("<extra"), Own("_0>"), Given("<|im_"), Given("end|>")])
    assert not set(row.ids) & set(text.tokenizer.all_special_ids)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_text_of_others_makes_a_special_token_or_moves_a_position(
    text: TextEncoder, pieces: list[str]
) -> None:
    step = "".join(pieces)
    row = text.encode([Given(step), Own("<extra_0>", read=True), Given(step)])
    separator = text.token("<extra_0>", "")
    assert [i for i, number in enumerate(row.ids) if number == separator] == [*row.positions]
    assert set(row.ids) & set(text.tokenizer.all_special_ids) == {separator}
    assert decoded(text, row) == f"{step}<extra_0>{step}"


@pytest.mark.parametrize("seed", range(20))
def test_finds_each_tag_that_it_wrote_and_no_other(tag: TextEncoder, seed: int) -> None:
    draw = random.Random(seed)
    words = ["One", "ки", " ки", "\n", "yes ки no", "2 + 2", "Ä", "<s>"]
    steps = ["".join(draw.choices(words, k=5)).strip() or "a" for _ in range(4)]
    parts: list[Any] = []
    for step in steps:
        parts += [Given(step), Own(" ки", read=True), Own("\n")]
    row = tag.encode(parts)
    number = tag.ids("ки")[-1]
    assert len(row.positions) == 4
    assert all(row.ids[position] == number for position in row.positions)
    assert list(row.positions) == sorted(set(row.positions))


def test_one_run_of_text_is_tokenised_in_one_go(text: TextEncoder) -> None:
    whole = text.ids("What is 1 + 1?")
    assert list(text.encode([Given("Wh"), Own("at is 1"), Given(" + 1?")]).ids) == whole


def test_unknown_letters_keep_their_place(tag: TextEncoder) -> None:
    assert list(tag.encode([Given("a Ω b")]).ids) == tag.ids("a Ω b")


def test_knows_what_the_tokenizer_puts_around_a_text(tag: TextEncoder, text: TextEncoder) -> None:
    assert [len(part) for part in tag.around] == [1, 0]
    assert [len(part) for part in text.around] == [0, 0]


def test_pieces_keep_their_positions_when_joined() -> None:
    pieces = [Encoded((1, 2), (1,)), Encoded((), ()), Encoded((3, 4, 5), (0, 2))]
    assert joined(pieces) == Encoded((1, 2, 3, 4, 5), (1, 2, 4))


def test_a_chat_puts_contents_where_the_template_says(text: TextEncoder) -> None:
    chat = text.chat([("user", [Given("a")]), ("assistant", [Given("b"), Own("<extra_0>")])])
    assert decoded(text, text.encode(chat)) == (
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<extra_0><|im_end|>\n"
    )


def test_a_tokenizer_without_a_template_is_a_named_error(tag: TextEncoder) -> None:
    with pytest.raises(UsageError, match="chat template"):
        tag.chat([("user", [Given("a")])])


def test_a_text_of_several_tokens_is_no_token(text: TextEncoder) -> None:
    with pytest.raises(UsageError, match="no token `Zürich`, the place"):
        text.token("Zürich", "the place")


def test_a_tokenizer_without_offsets_is_a_named_error() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(UsageError, match=r"tokenizer\.json"):
        TextEncoder(Slow())
