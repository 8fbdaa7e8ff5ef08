import pytest
import rewardhub_rules

from rewardhub import RecordError, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_rules).grader("rules/language").card
GERMAN = "Das ist ein Satz auf Deutsch, und er ist nicht lang."


def score(text: str, language: str, prompt: str = "") -> Score:
    return grade(CARD, make_trajectory(text, prompt=prompt), options={"language": language})


@pytest.mark.parametrize("language", ["de", "DE", "de-AT", "German"])
def test_takes_codes_and_names(language: str) -> None:
    assert score(GERMAN, language).value == 1


def test_says_which_language_it_found() -> None:
    assert score(GERMAN, "fr").reason == "it is in German, French asked"
    assert score("42", "fr").reason == "no language can be told, French asked"


def test_the_language_of_the_prompt_is_that_of_the_last_user_message() -> None:
    messages = [
        {"role": "user", "content": "What is the weather like today, my friend?"},
        {"role": "assistant", "content": "It is sunny."},
        {"role": "user", "content": "Und wie wird es morgen? Bitte sag es mir auf Deutsch."},
    ]
    attempt = make_trajectory(GERMAN, messages=messages)
    assert grade(CARD, attempt, options={"language": "prompt"}).value == 1


def test_an_unknown_language_is_found_before_the_run() -> None:
    with pytest.raises(RecordError, match=r"no language `Klingon`.*one of: ar, bg"):
        score(GERMAN, "Klingon")
