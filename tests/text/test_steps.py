from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.records import Step, Task, Trajectory
from rewardhub.text import Span, StepPlace, split_steps, split_trajectory

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


@pytest.mark.parametrize(
    "form",
    [
        "Step {}: go",
        "Step {}. go",
        "step {}) go",
        "STEP {} - go",
        "Step {} \u2014 go",
        "### Step {}\ngo",
        "## Step {}: go",
        "**Step {}:** go",
        "**Step {}**: go",
        "### **Step {}**\ngo",
        "- Step {}: go",
        "  Step {}: go",
    ],
)
def test_labelled_steps_need_no_blank_line(form: str) -> None:
    lines = [form.format(number) for number in (1, 2, 3)]
    assert steps("\n".join(lines)) == [line.strip() for line in lines]


def test_what_stands_before_the_first_label_is_a_step() -> None:
    assert steps("We go.\nStep 1: a\nmore\nStep 2: b") == ["We go.", "Step 1: a\nmore", "Step 2: b"]


def test_labels_may_begin_at_any_number() -> None:
    assert steps("Step 4: a\nStep 5: b") == ["Step 4: a", "Step 5: b"]


def test_step_1_begins_a_new_run_of_labels() -> None:
    lines = ["Step 1: a", "Step 2: b", "Again.", "Step 1: c", "Step 2: d"]
    assert steps("\n".join(lines)) == ["Step 1: a", "Step 2: b\nAgain.", "Step 1: c", "Step 2: d"]


@pytest.mark.parametrize("stray", ["Step 7: see", "Step 1: see"])
def test_a_label_alone_begins_nothing(stray: str) -> None:
    assert steps(f"a\n{stray}\nb") == [f"a\n{stray}\nb"]


def test_a_label_out_of_order_begins_nothing() -> None:
    assert steps("Step 1: a\nStep 2: b\nStep 9: see") == ["Step 1: a", "Step 2: b\nStep 9: see"]


def test_a_stray_label_hides_no_run_behind_it() -> None:
    lines = ["Step 9: as there", "Step 3: a", "Step 4: b"]
    assert steps("\n".join(lines)) == lines


@pytest.mark.parametrize("text", ["Step 1 gives 5 and\nStep 2 gives 6", "by Step 1: a, Step 2: b"])
def test_a_step_named_in_a_sentence_is_no_label(text: str) -> None:
    assert steps(text) == [text]


def test_labels_and_blank_lines_separate_together() -> None:
    text = "Go.\n\nStep 1: a\nStep 2: b\n\nSo c.\nStep 3: d"
    assert steps(text) == ["Go.", "Step 1: a", "Step 2: b", "So c.", "Step 3: d"]


@pytest.mark.parametrize("form", ["{}. go", "{}) go", "**{}.** go", "### {}. go"])
def test_a_text_that_is_a_numbered_list_has_its_items_as_steps(form: str) -> None:
    lines = [form.format(number) for number in (1, 2, 3)]
    assert steps("\n".join(["So:", *lines]) + "\nmore") == ["So:", *lines[:2], f"{lines[2]}\nmore"]


@pytest.mark.parametrize(
    "text",
    [
        "1. alone",
        "2. a\n3. b",
        "1. a\n3. b",
        "1. a\n2. b\nagain\n1. c\n2. d",
        "one line\nand a second\n1. a\n2. b",
        "1.5 a\n2.5 b",
        "2024. a\n2025. b",
        "go\n    1. a\n    2. b",
    ],
)
def test_any_other_list_is_part_of_its_step(text: str) -> None:
    assert steps(text) == [text]


def test_a_list_in_one_of_several_paragraphs_is_part_of_it() -> None:
    assert steps("go\n\n1. a\n2. b") == ["go", "1. a\n2. b"]


def test_blank_lines_at_the_ends_leave_a_list_the_whole_text() -> None:
    assert steps("\n\n1. a\n2. b\n\n") == ["1. a", "2. b"]


def test_a_list_inside_labelled_steps_is_part_of_them() -> None:
    assert steps("Step 1: a\nStep 2: b\n1. c\n2. d") == ["Step 1: a", "Step 2: b\n1. c\n2. d"]


@pytest.mark.parametrize(("open_", "close"), [("```", "```"), ("$$", "$$"), ("\\[", "\\]")])
def test_numbers_inside_code_and_display_math_begin_nothing(open_: str, close: str) -> None:
    for lines in ("1. a\n2. b", "Step 1: a\nStep 2: b"):
        assert steps(f"{open_}\n{lines}\n{close}") == [f"{open_}\n{lines}\n{close}"]


def test_numbered_steps_can_be_left_whole() -> None:
    text = "Step 1: a\nStep 2: b\n\n1. c"
    assert [span.of(text) for span in split_steps(text, numbered=False)] == [
        "Step 1: a\nStep 2: b",
        "1. c",
    ]


LABELS = st.sampled_from(["Step 1: ", "Step 2: ", "**Step 3** ", "1. ", "2) ", "3. "])


@given(text=st.lists(PIECES | LABELS, max_size=40).map("".join))
def test_spans_of_numbered_steps_cover_all_but_white_space_in_order(text: str) -> None:
    spans = split_steps(text)
    covered = [index for start, end in spans for index in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(span.of(text) and span.of(text) == span.of(text).strip() for span in spans)
    assert all(text[index].isspace() for index in set(range(len(text))) - set(covered))


@given(text=st.lists(PIECES | LABELS, max_size=40).map("".join))
def test_numbers_only_divide_what_blank_lines_leave(text: str) -> None:
    whole = split_steps(text, numbered=False)
    for start, end in split_steps(text):
        assert any(outer.start <= start and end <= outer.end for outer in whole)


@given(count=st.integers(2, 30), form=st.sampled_from(["Step {}: go", "{}. go", "{}) go\nmore"]))
def test_numbered_steps_come_back(count: int, form: str) -> None:
    lines = [form.format(number) for number in range(1, count + 1)]
    assert steps("\n".join(lines)) == lines


def test_real_numbered_solutions_come_apart_into_their_steps() -> None:
    path = DATA / "prm/mr_gsm8k_errors.jsonl"
    if not path.exists():
        pytest.skip(f"no {path}: set REWARDHUB_DATA to the folder of real inputs")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        written = [step.strip() for step in row["model_output_steps"]]
        assert steps("\n".join(written)) == written


def attempt(*turns: Step) -> Trajectory:
    return Trajectory(task=Task(), steps=turns)


def test_each_of_several_turns_is_a_step() -> None:
    turns = (Step(text="a\n\nb", reasoning="c"), Step(), Step(text="d"))
    assert split_trajectory(attempt(*turns), reasoning=True) == tuple(map(StepPlace, range(3)))


def test_a_single_turn_is_split_inside() -> None:
    places = split_trajectory(attempt(Step(text="a\n\nb", reasoning="c")))
    assert places == (StepPlace(0, "text", 0, 1), StepPlace(0, "text", 3, 4))


def test_reasoning_comes_before_the_text_where_it_is_asked_for() -> None:
    places = split_trajectory(attempt(Step(text="a", reasoning="b\n\nc")), reasoning=True)
    assert places == (
        StepPlace(0, "reasoning", 0, 1),
        StepPlace(0, "reasoning", 3, 4),
        StepPlace(0, "text", 0, 1),
    )


def test_a_blank_turn_has_no_steps() -> None:
    assert split_trajectory(attempt(Step(text=" \n\n", reasoning=" ")), reasoning=True) == ()
