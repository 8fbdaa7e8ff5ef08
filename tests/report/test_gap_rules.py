"""The rules as data, and the page that explains them."""

import re
from pathlib import Path

import pytest

from rewardhub.report.gap_rules import (
    DEFICITS,
    SIGN_SUGGESTIONS,
    SIGNS,
    SUGGESTIONS,
    Thresholds,
)

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "find-the-gap.md").read_text()
ROWS = re.findall(r"^\| `([\w-]+)` \| (.*?) \|", PAGE.replace(r"\|", "/"), re.MULTILINE)


def test_every_deficit_has_signs_and_a_suggestion():
    assert {sign.deficit for sign in SIGNS.values()} == set(DEFICITS)
    assert set(DEFICITS) < SUGGESTIONS.keys()


def test_further_suggestions_are_for_signs_that_exist():
    assert SIGN_SUGGESTIONS.keys() <= SIGNS.keys()


@pytest.mark.parametrize("name", SIGNS)
def test_the_page_explains_each_sign(name):
    assert (name, SIGNS[name].deficit) in ROWS


@pytest.mark.parametrize("name", Thresholds.model_fields)
def test_the_page_gives_each_threshold_with_its_default(name):
    default = str(getattr(Thresholds(), name)).replace("|", "/")
    assert (name, default) in ROWS


def test_the_page_explains_nothing_that_is_not_there():
    known = SIGNS.keys() | Thresholds.model_fields.keys() | SUGGESTIONS.keys()
    assert {name for name, _ in ROWS} == known
