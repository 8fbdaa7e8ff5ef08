"""Patterns behind the real engine: what is slow leaves the process, and the answer is to blame."""

from collections.abc import Iterator

import pytest
import rewardhub_rules
from rewardhub_rules.patterns import INLINE_SECONDS, compiled, find, patience

from rewardhub import Engine
from rewardhub.testing import CallingWorkers, make_trajectory, registry_of

SLOW = "^(?:a|a)+$"
QUICK = ["abc", r"\d{3}-x", r"\[(?:[Ii]nsert) [^\]]{1,80}\]", "^(?P<a>b)$", "(?<!a)b"]
PATIENT = ["a+", "a*b", "a{2}b{3}", "(a|b|c|d|e|f|g|h|i|j)", "a{2,}", "a{1,1000}", "(?R)", SLOW]


@pytest.mark.parametrize("pattern", QUICK)
def test_no_clock_is_watched_for_what_is_quick_on_any_text(pattern: str) -> None:
    assert patience(pattern) is None


@pytest.mark.parametrize("pattern", PATIENT)
def test_the_clock_is_watched_for_all_else(pattern: str) -> None:
    assert patience(pattern) == INLINE_SECONDS


def test_a_slow_match_is_finished_by_the_workers() -> None:
    assert find(compiled(SLOW), "a" * 20, CallingWorkers()) == (0, 20)
    assert find(compiled(SLOW), "a" * 20 + "!", CallingWorkers()) is None


def test_a_mistake_in_a_pattern_says_where() -> None:
    with pytest.raises(ValueError, match=r"`a\(` is no pattern: missing \) at position 2"):
        compiled("a(")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    entry = {"use": "rules/regex", "options": {"pattern": SLOW}, "limits": {"cpu_seconds": 1}}
    spec = {
        "rewardhub": 1,
        "name": "rules/test",
        "version": 1,
        "range": [0, 1],
        "stages": [{"name": "outcome", "graders": [entry]}],
    }
    with Engine(spec, registry=registry_of(rewardhub_rules), workers=1) as engine:
        yield engine


@pytest.mark.proof
def test_gives_nothing_for_an_answer_that_makes_a_pattern_run_for_ever(engine: Engine) -> None:
    reward = engine.score(make_trajectory("a" * 60 + "!"))
    assert reward.value == 0
    score = reward.parts[0].score
    assert score is not None
    assert "could not be processed" in score.reason


@pytest.mark.proof
def test_an_ordinary_answer_is_scored_beside_it(engine: Engine) -> None:
    assert engine.score(make_trajectory("aaa")).value == 1
