import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rewardhub_prm.labelled import LabelledRow, digest_of_problem, of_splits, read_labelled

from rewardhub import RowError, UsageError

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "prm"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA")

PROCESS_BENCH = {"problem": "p", "steps": ["a", "b", "c"], "label": 1}
MR_GSM8K = {
    "uuid": "u",
    "question": "p",
    "model_output_steps": ["a", "b", "c"],
    "model_output_solution_first_error_step": 2,
    "model_output_solution_correctness": "wrong",
    "model_output_answer_correctness": "wrong",
}
MISTAKE = {
    "task": "t",
    "input": "p",
    "steps": ["a", "b", "c"],
    "answer": "1",
    "target": "2",
    "mistake_index": 1,
}
TAGGED = {
    "input": "p Step 1: a ки\nStep 2: b ки\nStep 3: c ки",
    "label": "p Step 1: a +\nStep 2: b -\nStep 3: c -",
    "task": "GSM8K",
}
NEUTRAL = {"input": "p\n\na <step> b <step> c <step>", "value": [1, 0.25, None]}
STEPWISE = {"prompt": "p", "completions": ["a", "b", "c"], "labels": [True, False, None]}


def prm800k(*steps: dict[str, Any], reason: str = "found_error") -> dict[str, Any]:
    return {
        "question": {"problem": "p"},
        "label": {"steps": list(steps), "finish_reason": reason},
    }


def rated(*ratings: int | None, chosen: int | None = 0) -> dict[str, Any]:
    texts = [{"text": f"s{index}", "rating": rating} for index, rating in enumerate(ratings)]
    return {"completions": texts, "human_completion": None, "chosen_completion": chosen}


def read(folder: Path, *rows: Any, name: str = "rows.jsonl") -> tuple[LabelledRow, ...]:
    path = folder / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return read_labelled([path])


@pytest.mark.parametrize("row", [PROCESS_BENCH, MR_GSM8K, MISTAKE])
def test_a_first_wrong_step_leaves_what_follows_unlabelled(
    row: dict[str, Any], tmp_path: Path
) -> None:
    (found,) = read(tmp_path, row)
    assert (found.problem, found.steps) == ("p", ("a", "b", "c"))
    assert found.labels == (1.0, 0.0, None)
    assert found.first_error == 1


@pytest.mark.parametrize(
    "row",
    [
        {**PROCESS_BENCH, "label": -1},
        {**MR_GSM8K, "model_output_solution_correctness": "correct"},
        {**MISTAKE, "mistake_index": None},
    ],
)
def test_without_a_wrong_step_every_step_is_right(row: dict[str, Any], tmp_path: Path) -> None:
    (found,) = read(tmp_path, row)
    assert found.labels == (1.0, 1.0, 1.0)
    assert found.first_error is None


@pytest.mark.parametrize("label", [-2, 3, True, 1.0, None])
def test_refuses_a_first_wrong_step_that_is_none_of_them(label: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"rows.jsonl:1: "):
        read(tmp_path, {**PROCESS_BENCH, "label": label})


def test_process_bench_rows_keep_what_they_say_of_themselves(tmp_path: Path) -> None:
    more = {"id": "x-1", "split": "math", "final_answer_correct": False}
    (row,) = read(tmp_path, {**PROCESS_BENCH, **more})
    assert (row.id, row.split, row.final_answer_correct) == ("x-1", "math", False)


def test_a_row_without_names_is_called_after_its_file(tmp_path: Path) -> None:
    (row,) = read(tmp_path, PROCESS_BENCH)
    assert (row.id, row.split, row.final_answer_correct) == ("rows:1", "rows", None)


def test_the_answer_of_a_mistake_row_is_right_where_it_is_the_target(tmp_path: Path) -> None:
    wrong, right = read(tmp_path, MISTAKE, {**MISTAKE, "answer": "2"})
    assert (wrong.final_answer_correct, right.final_answer_correct) == (False, True)


def test_tags_are_read_where_the_input_has_them(tmp_path: Path) -> None:
    (row,) = read(tmp_path, TAGGED)
    assert row.steps == ("Step 1: a", "Step 2: b", "Step 3: c")
    assert (row.problem, row.labels, row.split) == ("p", (1.0, 0.0, 0.0), "GSM8K")


def test_plus_and_minus_in_a_tagged_solution_are_text(tmp_path: Path) -> None:
    text = "p Step 1: 1 + 1 - 1 ки"
    (row,) = read(tmp_path, {"input": text, "label": text.replace("ки", "-")})
    assert (row.steps, row.labels) == (("Step 1: 1 + 1 - 1",), (0.0,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "q Step 1: a +\nStep 2: b -\nStep 3: c -"}, "in place of tag 1"),
        ({"label": "p Step 1: a +\nStep 2: b ?\nStep 3: c -"}, "in place of tag 2"),
        ({"input": "p Step 1: a ки b", "label": "p Step 1: a + b"}, "after the last tag"),
        ({"input": "p a ки", "label": "p a +"}, "`Step 1:` between"),
        ({"input": "p", "label": "p"}, "after the last tag"),
    ],
)
def test_refuses_tags_that_do_not_fit(change: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, {**TAGGED, **change})


def test_neutral_rows_have_the_problem_before_the_last_blank_line(tmp_path: Path) -> None:
    first, second = read(
        tmp_path, NEUTRAL, {"input": "p\n\nq\n\na <step>", "value": ["+"], "split": "s"}
    )
    assert (first.problem, first.steps, first.labels) == ("p", ("a", "b", "c"), (1.0, 0.25, None))
    assert (second.problem, second.steps, second.labels) == ("p\n\nq", ("a",), (1.0,))


def test_a_neutral_row_may_say_its_problem_and_separator(tmp_path: Path) -> None:
    (row,) = read(
        tmp_path, {"input": "p a || b ||", "value": [1, 0], "problem": "p", "separator": "||"}
    )
    assert (row.problem, row.steps) == ("p", ("a", "b"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [1, 0]}, "none of .* stands that often"),
        ({"value": [1, 0, 2]}, "lies in"),
        ({"value": [1, 0, "good"]}, "a label is a number"),
        ({"value": 1}, "list of numbers"),
        ({"input": "a <step> b <step> c <step>"}, "a blank line between"),
        ({"input": "p\n\na <step> b <step> c <step> d"}, "after the last"),
        ({"input": "p", "value": []}, "after the last"),
    ],
)
def test_refuses_neutral_rows_that_do_not_fit(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, {**NEUTRAL, **change})


def test_stepwise_rows_have_truth_values(tmp_path: Path) -> None:
    (row,) = read(tmp_path, STEPWISE)
    assert (row.steps, row.labels) == (("a", "b", "c"), (1.0, 0.0, None))


def test_prm800k_rows_follow_the_chosen_completions(tmp_path: Path) -> None:
    (row,) = read(tmp_path, prm800k(rated(1, -1), rated(-1, 0, chosen=1), rated(-1, chosen=None)))
    assert (row.steps, row.labels) == (("s0", "s1", "s0"), (1.0, 1.0, 0.0))
    assert row.final_answer_correct is None


def test_a_step_that_a_labeller_wrote_is_right(tmp_path: Path) -> None:
    human = {**rated(-1, chosen=None), "human_completion": {"text": "own"}}
    (row,) = read(tmp_path, prm800k(human, reason="solution"))
    assert (row.steps, row.labels, row.final_answer_correct) == (("own",), (1.0,), True)


@pytest.mark.parametrize("reason", ["bad_problem", "give_up"])
def test_prm800k_rows_that_were_given_up_are_left_out(reason: str, tmp_path: Path) -> None:
    rows = read(tmp_path, prm800k(rated(1), reason=reason), prm800k(rated(None)))
    assert [row.labels for row in rows] == [(None,)]


def test_reads_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(PROCESS_BENCH).encode()))
    assert [row.id for row in read_labelled([path])] == ["rows:1"]


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError, match="cannot be read"):
        read_labelled([path])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "p", "text": "a"}, "keys question, text is of no known shape"),
        ({"question": "p", "label": "a"}, "are objects"),
        ([1], "a row is a JSON object"),
        ({**PROCESS_BENCH, "steps": []}, "the first wrong step|no steps"),
        ({**PROCESS_BENCH, "steps": "abc"}, "`steps` is a list of texts"),
        ({**PROCESS_BENCH, "problem": 1}, "`problem` is text"),
        ({**STEPWISE, "labels": [True]}, "3 steps and 1 labels"),
        (prm800k(), "no steps"),
    ],
)
def test_refuses_rows_that_are_none(row: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, row)


def test_says_which_line_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(PROCESS_BENCH) + "\n\n{")
    with pytest.raises(UsageError, match=r"rows.jsonl:3: this is no JSON"):
        read_labelled([path])


def test_refuses_a_file_that_is_missing_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name, message in (("gone.jsonl", "does not exist"), ("empty.jsonl", "no labelled rows")):
        with pytest.raises(UsageError, match=message):
            read_labelled([tmp_path / name])


def test_refuses_two_rows_with_one_id(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="called `x`"):
        read(tmp_path, {**PROCESS_BENCH, "id": "x"}, {**PROCESS_BENCH, "id": "x"})


def test_keeps_the_splits_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{**PROCESS_BENCH, "split": name} for name in ("math", "gsm8k")]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [row.split for row in of_splits(read_labelled([path]), ["gsm8k"])] == ["gsm8k"]
    with pytest.raises(UsageError, match="No split is called `gsm8`. Did you mean `gsm8k`"):
        of_splits(read_labelled([path]), ["gsm8"])


def row_of(*labels: float | None) -> LabelledRow:
    return LabelledRow(id="x", problem="p", steps=("a",) * len(labels), labels=labels)


def test_labels_after_the_first_error_can_be_dropped() -> None:
    assert row_of(1, 0, 1, 0).up_to_error().labels == (1, 0, None, None)
    assert row_of(1, 0.5).up_to_error().labels == (1, 0.5)


@pytest.mark.parametrize(
    ("labels", "known"),
    [((1, 1), True), ((1, 0, None), True), ((1, None), False), ((None, 0), False)],
)
def test_a_verdict_needs_every_label_up_to_the_error(
    labels: tuple[float | None, ...], known: bool
) -> None:
    assert row_of(*labels).has_verdict is known


def test_a_label_outside_of_0_to_1_is_none() -> None:
    with pytest.raises(RowError, match="lies in"):
        row_of(1.5)


def test_problems_are_equal_but_for_case_and_signs() -> None:
    assert digest_of_problem("What is 1+1?") == digest_of_problem("what IS  1 + 1")
    assert digest_of_problem("What is 1+1?") != digest_of_problem("What is 1+2?")


def test_signs_count_where_there_are_no_words() -> None:
    assert digest_of_problem("1 + 1 =") == digest_of_problem("1+1=")
    assert digest_of_problem("1 + 1 =") != digest_of_problem("1 - 1 =")


@needs_data
def test_reads_what_others_labelled() -> None:
    rows = read_labelled(
        [
            DATA / "processbench.jsonl",
            DATA / "mr_gsm8k_errors.jsonl",
            DATA / "bigbench_mistake.jsonl",
        ]
    )
    kinds = Counter(row.split.split("_")[0] for row in rows)
    assert min(kinds[name] for name in ("gsm8k", "math", "mr", "multistep")) > 30
    assert all(row.has_verdict for row in rows)
    assert {row.first_error is None for row in rows if row.split == "math"} == {True, False}
    assert all(row.first_error is not None for row in rows if row.split.startswith("mr_"))
