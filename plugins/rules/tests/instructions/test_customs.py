import pytest
from rewardhub_rules.instructions.customs import (
    DateFormatList,
    EuropeanCapitalsSort,
    McqCountLength,
    Multiples,
    ReverseNewline,
    SentenceAlphabet,
    WordReverse,
)
from rewardhub_rules.instructions.word_lists import AFRICAN_COUNTRIES, NORTHERN_CAPITALS


def test_the_numbers_come_in_order() -> None:
    assert not Multiples().check("14 21 28 35 49 42").followed


@pytest.mark.parametrize("label", ["Question {}:", "Question {}.", "**Question {}**", "Question:"])
def test_reads_each_way_to_label_a_question(label: str) -> None:
    options = "\n".join(f"{letter}. thing" for letter in "ABCDE")
    text = "\n\n".join(
        f"{label.format(number)} Which {'very ' * number}old thing?\n{options}"
        for number in range(1, 5)
    )
    assert McqCountLength().check(text).followed


def test_a_line_that_is_no_country_is_named() -> None:
    assert ReverseNewline().check("Zimbabwe\nAtlantis").why == "'atlantis' is no country of Africa"


def test_knows_the_countries_of_africa() -> None:
    assert {"cote divoire", "south africa", "sao tome principe"} <= AFRICAN_COUNTRIES
    assert not [name for name in AFRICAN_COUNTRIES if name != name.strip() or not name]


def test_more_than_one_sentence_is_not_asked() -> None:
    assert not WordReverse().check("Eagle bald the is it. This is the answer.").followed


def test_the_letters_come_in_order() -> None:
    sentences = [f"{letter}nna went home." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    assert SentenceAlphabet().check(" ".join(sentences)).followed
    assert not SentenceAlphabet().check(" ".join(sentences[::-1])).followed


def test_kyiv_is_a_capital() -> None:
    names = [spellings[0].title() for spellings in NORTHERN_CAPITALS]
    assert EuropeanCapitalsSort().check(", ".join(names)).followed
    finding = EuropeanCapitalsSort().check(", ".join(name for name in names if name != "Kyiv"))
    assert finding.why == "capital 17 is 'prague', not Kyiv"


@pytest.mark.parametrize(
    "day", ["1800-00-10", "1800-13-01", "1801-02-29", "1800-1-1", "1900-01-01"]
)
def test_a_date_is_a_day_of_the_calendar_in_his_life(day: str) -> None:
    assert not DateFormatList().check(f"1796-04-12, {day}").followed
