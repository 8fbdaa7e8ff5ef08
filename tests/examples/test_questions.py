"""The questions of examples/, which `answers.jsonl` answers."""

import importlib.util
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def making(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    spec = importlib.util.spec_from_file_location("make_answers", EXAMPLES / "make_answers.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_answers", module)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("questions", None)


@pytest.fixture
def rows():
    return [json.loads(line) for line in (EXAMPLES / "answers.jsonl").read_text().splitlines()]


def as_number(text):
    return Fraction(re.sub(r"^x = |[$%]| [a-z]+$", "", text))


def test_equal_seeds_give_equal_questions(making):
    assert making.questions(50, seed=3) == making.questions(50, seed=3)
    assert making.questions(50, seed=3) != making.questions(50, seed=4)


def test_no_question_comes_twice(making):
    texts = [each.text for each in making.questions(500, seed=5)]
    assert len(set(texts)) == 500


def test_the_last_number_worked_out_is_the_reference(making):
    for each in making.questions(180, seed=6):
        last = re.findall(r"-?[\d./]*\d", each.worked)[-1]
        assert Fraction(last) == as_number(each.reference), each


def test_sums_are_right(making):
    sums = [each for each in making.questions(180, seed=7) if each.kind == "sum"]
    assert len(sums) >= 10
    for each in sums:
        assert sum(map(int, re.findall(r"\d+", each.text))) == int(each.reference)


def test_the_committed_answers_are_to_these_questions(making, rows):
    asked = [(each.number, each.sample, each.question.reference) for each in making.attempts()]
    found = [(int(row["id"][1:4]), int(row["id"][5:]), row["reference"]) for row in rows]
    assert found == asked
    assert [row["prompt"] for row in rows] == [making.prompt_of(each) for each in making.attempts()]
