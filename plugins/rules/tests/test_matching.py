from typing import Any

import pytest
from rewardhub_rules import Contains, NoForbidden, Regex

from rewardhub import RecordError, Score
from rewardhub.testing import grade, make_trajectory


def contains(text: str, *phrases: str, **options: Any) -> Score:
    return grade(Contains, make_trajectory(text), options={"phrases": phrases, **options})


def forbidden(text: str, **options: Any) -> Score:
    return grade(NoForbidden, make_trajectory(text), options=options)


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("a cat.", "cat", True),
        ("(cat)", "cat", True),
        ("cat's", "cat", True),
        ("scatter", "cat", False),
        ("cats", "cat", False),
        ("cat_2", "cat", False),
        ("my_cat", "cat", False),
        ("a _cat_ there", "cat", True),
        ("__cat__", "cat", True),
        ("C++ code", "c++", True),
        ("C++x", "C++", True),
        ("xC++", "C++", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("the big\n  cat", "big cat", True),
        ("Straße", "STRASSE", True),
        ("ÉTÉ", "été", True),
        ("도시에서", "도시", True),
        ("[a-z]+", "[a-z]+", True),
    ],
)
def test_finds_whole_words(text: str, phrase: str, found: bool) -> None:
    assert contains(text, phrase).value == found


def test_finds_parts_of_words_where_asked() -> None:
    assert contains("scatter", "cat", whole_words=False).value == 1


def test_counts_without_overlaps() -> None:
    assert contains("aaaa", "aa", whole_words=False, at_least=2, at_most=2).value == 1


def test_none_forbids_only_what_occurs_often_enough() -> None:
    assert contains("ha", "ha", match="none", at_least=2).value == 1
    assert contains("ha ha", "ha", match="none", at_least=2).value == 0


def test_says_what_is_missing() -> None:
    assert contains("salt", "salt", "oil", "egg").reason == "not as asked: 'oil', 'egg'"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"phrases": [" "]}, "a phrase is not blank"),
        ({"phrases": ["a"], "at_least": 3, "at_most": 2}, "below at_least"),
        ({"phrases": ["a"], "match": "none", "at_most": 2}, "leave out at_most"),
        ({"phrases": ["a"], "match": "any", "value": "share"}, "goes with `match: all`"),
        ({"phrases": ["a"], "at_least": 0}, "greater than or equal to 1"),
    ],
)
def test_contains_refuses_options_that_make_no_sense(options: Any, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        grade(Contains, make_trajectory("x"), options=options)


def test_no_forbidden_says_what_it_found() -> None:
    assert (
        forbidden("It is t\u043ep  secret.", phrases=["top secret"]).reason
        == "it says 'top secret'"
    )


def test_no_forbidden_allows_a_pattern_that_is_nowhere() -> None:
    assert forbidden("Call me.", patterns=[r"\d"]).value == 1


def test_no_forbidden_holds_patterns_in_any_case() -> None:
    assert forbidden("DROP TABLE x", patterns=["drop +table"]).value == 0


@pytest.mark.parametrize("options", [{"phrases": ["\u200b"]}, {"patterns": ["("]}])
def test_no_forbidden_refuses_options_that_make_no_sense(options: Any) -> None:
    with pytest.raises(RecordError):
        forbidden("x", **options)


def test_regex_refuses_a_broken_pattern_before_the_run() -> None:
    with pytest.raises(RecordError, match="is no pattern"):
        grade(Regex, make_trajectory("x"), options={"pattern": "["})


@pytest.mark.parametrize(
    ("flag", "pattern", "text"),
    [("ignore_case", "abc", "ABC"), ("multiline", "^b$", "a\nb"), ("dot_all", "a.b", "a\nb")],
)
def test_regex_has_flags(flag: str, pattern: str, text: str) -> None:
    attempt = make_trajectory(text)
    assert grade(Regex, attempt, options={"pattern": pattern}).value == 0
    assert grade(Regex, attempt, options={"pattern": pattern, flag: True}).value == 1


def test_regex_shows_what_matched() -> None:
    score = grade(Regex, make_trajectory("ab 12"), options={"pattern": r"\d+"})
    assert score.reason == "the pattern matches at character 3: '12'"
