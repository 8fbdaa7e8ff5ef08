from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.text import Span, split_steps

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT / "../shared/data"))


def steps(text: str) -> list[str]:
    return [span.of(text) for span in split_steps(text)]


def test_blank_lines_separate_steps() -> None:
    assert steps("one\nmore\n\ntwo\n \n\t\n\nthree") == ["one\nmore", "two", "three"]


def test_windows_lines_separate_too() -> None:
    assert steps("one\r\n\r\ntwo") == ["one", "two"]


def test_spans_are_offsets_into_the_text() -> None:
    assert split_steps("  one\n\ntwo ") == (Span(2, 5), Span(7, 10))


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", " \n \n"])
def test_blank_text_has_no_steps(text: str) -> None:
    assert split_steps(text) == ()


def test_a_text_of_one_paragraph_is_one_step() -> None:
    assert steps("one") == ["one"]


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "~~~~"])
def test_a_fence_keeps_its_code_whole(fence: str) -> None:
    code = f"{fence}python\na = 1\n\nb = 2\n{fence}"
    assert steps(f"See:\n\n{code}\n\nDone.") == ["See:", code, "Done."]


def test_a_fence_stays_with_the_paragraph_it_stands_in() -> None:
    text = "See:\n```\na\n\nb\n```\nDone."
    assert steps(f"{text}\n\nMore.") == [text, "More."]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    assert steps("See:\n\n```\na\n\nb\n\nc") == ["See:", "```\na\n\nb\n\nc"]


@pytest.mark.parametrize("inner", ["~~~", "```", "``` not bare"])
def test_only_a_fence_as_long_and_bare_closes(inner: str) -> None:
    code = f"````\na\n\n{inner}\n\nb\n````"
    assert steps(f"{code}\n\nDone.") == [code, "Done."]


def test_an_indented_fence_is_a_fence() -> None:
    item = "1. See\n   ```\n   a\n\n   b\n   ```"
    assert steps(f"{item}\n\nDone.") == [item, "Done."]


def test_backticks_inside_a_line_are_no_fence() -> None:
    assert steps("```a``` is code\n\nb") == ["```a``` is code", "b"]


@pytest.mark.parametrize(
    "math",
    [
        "$$\na\n\nb\n$$",
        "\\[\na\n\nb\n\\]",
        "\\begin{align*}\na\n\nb\n\\end{align*}",
        "\\begin{a}\n\n\\begin{a}\n\n\\end{a}\n\n\\end{a}",
        "\\[ x\n\n\\begin{cases} a\n\nb \\end{cases}\n\n\\]",
        "\\[ a \\\\[2pt]\n\n b \\]",
    ],
)
def test_display_math_is_kept_whole(math: str) -> None:
    assert steps(f"So\n\n{math}\n\nholds.") == ["So", math, "holds."]


@pytest.mark.parametrize(
    "stray",
    ["$$", "\\[", "\\]", "\\begin{x}", "\\end{x}", "\\$$ $", "\\\\[", "\\begin{a} \\end{b}"],
)
def test_math_that_is_never_closed_is_text(stray: str) -> None:
    assert steps(f"a {stray}\n\nb\n\nc") == [f"a {stray}", "b", "c"]


@pytest.mark.parametrize("stray", ["\\]", "\\end{x}"])
def test_a_stray_closing_mark_opens_nothing(stray: str) -> None:
    assert steps(f"a {stray}\n\nb {stray}\n\nc") == [f"a {stray}", f"b {stray}", "c"]


def test_math_does_not_reach_into_code() -> None:
    code = "```sh\necho $$\n\necho\n```"
    assert steps(f"a $$\n\n{code}\n\nb") == ["a $$", code, "b"]


def test_marks_inside_code_mean_nothing() -> None:
    code = "```\n\\[\n```"
    assert steps(f"{code}\n\na\n\n\\]") == [code, "a", "\\]"]


def test_crossing_math_is_kept_whole_to_the_last_end() -> None:
    math = "\\[ a\n\n\\begin{x} b\n\n\\] c\n\nd \\end{x}"
    assert steps(f"{math}\n\ne") == [math, "e"]


SPACES = st.sampled_from(["\n", "\n\n", "\r\n", " ", "\t", "\u2028"])
MARKS = st.sampled_from(["```", "~~~", "$$", "\\[", "\\]", "\\begin{x}", "\\end{x}", "\\end{y}"])
PIECES = SPACES | MARKS | st.sampled_from(["a", "\\", "$"])


@given(text=st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=40))
def test_spans_cover_all_but_white_space_in_order(text: str) -> None:
    spans = split_steps(text)
    covered = [index for start, end in spans for index in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(span.of(text) and span.of(text) == span.of(text).strip() for span in spans)
    left_out = set(range(len(text))) - set(covered)
    assert all(text[index].isspace() for index in left_out)


@given(paragraphs=st.lists(st.text("ab \n", min_size=1).map(str.strip).filter(bool), max_size=6))
def test_plain_paragraphs_come_back(paragraphs: list[str]) -> None:
    lines = ["\n".join(paragraph.split()) for paragraph in paragraphs]
    assert steps("\n\n".join(lines)) == lines


def test_real_solutions_come_apart_into_the_steps_that_people_labelled() -> None:
    path = DATA / "prm/processbench.jsonl"
    if not path.exists():
        pytest.skip(f"no {path}: set REWARDHUB_DATA to the folder of real inputs")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        assert steps("\n\n".join(row["steps"])) == [step.strip() for step in row["steps"]]
