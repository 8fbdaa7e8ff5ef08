from __future__ import annotations

from typing import Any

import pytest

from rewardhub.errors import Mistake
from rewardhub.spec.marks import Mark, Mistakes, shown

HERE = Mark("child.yaml", 2, 10)


def test_notes_the_same_mistake_once() -> None:
    mistakes = Mistakes()
    mistakes.add(HERE, "wrong")
    mistakes.add(HERE, "wrong")
    mistakes.add(Mark("child.yaml", 3, 1), "wrong")
    assert [str(mistake) for mistake in mistakes.found] == [
        "child.yaml:2:10: wrong",
        "child.yaml:3:1: wrong",
    ]


def test_a_warning_is_no_error() -> None:
    mistakes = Mistakes()
    mistakes.warn(HERE, "odd")
    assert len(mistakes.found) == 1
    assert mistakes.errors == ()


def test_mistakes_of_another_file_keep_their_place_or_get_one() -> None:
    mistakes = Mistakes()
    found = [
        Mistake(message="wrong", file="parent.yaml", line=7),
        Mistake(message="missing", file="parent.yaml"),
    ]
    mistakes.take(found, HERE, "`extends: parent.yaml`")
    mistakes.take(found, HERE, "`extends: parent.yaml`")
    assert [str(mistake) for mistake in mistakes.found] == [
        "parent.yaml:7: wrong",
        "child.yaml:2:10: `extends: parent.yaml`: missing",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "`true`"),
        (1.5, "1.5"),
        ("a", "the text `a`"),
        ([], "a list"),
        ({}, "a mapping"),
    ],
)
def test_names_a_value_in_words(value: Any, text: str) -> None:
    assert shown(value) == text
