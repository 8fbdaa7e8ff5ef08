"""Texts that are nearly the same are found, by likeness that is what Jaccard says."""

import random

import pytest

from rewardhub.audit.near_duplicates import (
    LANES,
    MISSED,
    cluster,
    likeness,
    rows_of_a_band,
    words_of,
)
from rewardhub.errors import UsageError

SYLLABLES = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("l", "n", "r", "st")]


def text(draw: random.Random, words: int = 40) -> str:
    return " ".join(draw.choice(SYLLABLES) + draw.choice(SYLLABLES) for _ in range(words))


def edited(draw: random.Random, base: str, changes: int) -> str:
    words = base.split()
    for place in draw.sample(range(len(words)), changes):
        words[place] = draw.choice(SYLLABLES) * 2
    return " ".join(words)


def components(texts: list[str], threshold: float) -> list[int]:
    """Return what comparing everybody with everybody finds."""
    of = list(range(len(texts)))
    for one in range(len(texts)):
        for other in range(one):
            if likeness(texts[one], texts[other]) >= threshold:
                old, new = max(of[one], of[other]), min(of[one], of[other])
                of = [new if each == old else each for each in of]
    return of


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8, 0.95])
def test_finds_what_comparing_everybody_with_everybody_finds(threshold: float) -> None:
    draw = random.Random(7)
    bases = [text(draw) for _ in range(25)]
    texts = bases + [edited(draw, base, n) for base in bases for n in (1, 2, 4, 7)]
    draw.shuffle(texts)
    assert list(cluster(texts, threshold=threshold).of) == components(texts, threshold)


def test_likeness_is_the_share_of_common_pairs_of_words() -> None:
    assert likeness("one two three four", "one two three five") == 2 / 4
    assert likeness("one two", "three four") == 0.0


@pytest.mark.parametrize("threshold", [0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.99])
def test_bands_leave_hardly_a_pair_at_the_threshold_out(threshold: float) -> None:
    rows = rows_of_a_band(threshold)
    assert (1 - threshold**rows) ** (LANES // rows) <= MISSED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Find the  LENGTH\nof it.", "find the length of it"),
        ("let x be 5 and y be 7", "Let n be 5 and m be 7"),
        ("return user_total + 1", "return item_count + 1"),
        ("the \ufb01rst caf\u00e9", "the first cafe\u0301"),
    ],
)
def test_case_space_and_names_of_variables_make_no_difference(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


def test_numbers_are_other_words_unless_they_are_masked() -> None:
    one, other = "add 3 and 4.5", "add 8 and 9"
    assert words_of(one) != words_of(other)
    assert words_of(one, numbers="mask") == words_of(other, numbers="mask")


def test_words_of_scripts_without_spaces_are_their_characters() -> None:
    assert words_of("\u8ba1\u7b97\u957f\u5ea6") == ["\u8ba1", "\u7b97", "\u957f", "\u5ea6"]


def test_what_is_connected_through_others_is_one_cluster() -> None:
    draw = random.Random(3)
    chain = [text(draw)]
    for _ in range(8):
        chain.append(edited(draw, chain[-1], 3))
    assert likeness(chain[0], chain[-1]) < 0.5
    assert set(cluster(chain, threshold=0.6).of) == {0}


def test_texts_without_a_word_are_alike_where_they_are_equal() -> None:
    assert list(cluster(["?!", "...", "?!", ""], threshold=0.6).of) == [0, 1, 0, 3]


def test_is_the_same_in_another_order_of_texts() -> None:
    draw = random.Random(11)
    texts = [edited(draw, base, n) for base in [text(draw) for _ in range(20)] for n in (1, 2, 3)]
    there = cluster(texts, threshold=0.7).of
    back = cluster(texts[::-1], threshold=0.7).of[::-1]
    pairs = [(one, other) for one in range(len(texts)) for other in range(one)]
    assert [there[a] == there[b] for a, b in pairs] == [back[a] == back[b] for a, b in pairs]


def test_a_crowd_of_half_alike_texts_is_counted_and_its_copies_are_found() -> None:
    draw = random.Random(5)
    template = text(draw, 30)
    crowd = [f"{template} {text(draw, 6)}" for _ in range(600)]
    copies = [f"{each.upper()} please" for each in crowd[:50]]
    assert 0.6 < likeness(crowd[0], crowd[1]) < 0.8
    found = cluster(crowd + copies, threshold=0.9)
    assert list(found.of) == [*range(600), *range(50)]
    assert found.crowded > 0


def test_a_cluster_of_everybody_is_no_crowd() -> None:
    draw = random.Random(6)
    template = text(draw, 60)
    found = cluster([f"{template} {text(draw, 3)}" for _ in range(500)], threshold=0.6)
    assert (set(found.of), found.crowded) == ({0}, 0)


@pytest.mark.parametrize("threshold", [0.2, 1.5])
def test_refuses_a_threshold_out_of_range(threshold: float) -> None:
    with pytest.raises(UsageError, match=r"--threshold .* is in \[0.5, 1\]"):
        cluster(["a"], threshold=threshold)
