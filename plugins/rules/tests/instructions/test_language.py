import subprocess
import sys

import pytest
from rewardhub_rules.instructions.language import (
    CapitalWordFrequency,
    EnglishCapital,
    EnglishLowercase,
    ResponseLanguage,
)

IFEVAL = "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi"


@pytest.mark.parametrize("code", IFEVAL.split())
def test_knows_every_language_of_ifeval(code: str) -> None:
    assert ResponseLanguage(language=code).language == code


@pytest.mark.parametrize("text", ["123", "?!", "\U0001f600"])
def test_a_text_without_a_language_does_not_follow(text: str) -> None:
    finding = ResponseLanguage(language="en").check(text)
    assert finding == (False, "no language can be told from it")


def test_names_both_languages() -> None:
    finding = ResponseLanguage(language="fi").check("Der Hafen war still, und niemand sprach.")
    assert finding == (False, "it is in German, Finnish asked")


def test_a_short_text_gets_the_same_finding_in_every_process() -> None:
    program = (
        "from rewardhub_rules.instructions import instruction_of as i\n"
        "texts = ['Paris', 'OK', 'la casa', 'no', 'menu']\n"
        "print([i('language:response_language', {'language': 'fr'}).check(t) for t in texts])"
    )
    runs = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1


def test_capitals_and_small_letters_are_looked_at_before_the_language() -> None:
    assert not EnglishCapital().check("THE HARBOUR WAS QUIEt").followed
    assert not EnglishLowercase().check("the harbour was quieT").followed


def test_a_short_name_in_small_letters_is_english() -> None:
    assert EnglishLowercase().check('"coastal elegance homes"').followed


def test_a_contraction_in_capitals_is_one_word() -> None:
    counted = CapitalWordFrequency(capital_frequency=2, capital_relation="less than")
    assert counted.check("I'M here now").followed


def test_a_number_is_no_word_in_capitals() -> None:
    counted = CapitalWordFrequency(capital_frequency=1, capital_relation="less than")
    assert counted.check("in 2024 it rained").followed
