"""The shapes of step-labelled rows that are known, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardhub import RowError
from rewardhub_prm.labelled import LabelledRow, labels_of_first_error, number_of

__all__ = ["SHAPES", "labelled_row"]

Row = Mapping[str, Any]
Read = Callable[[Row, str, str], LabelledRow | None]

TAG = "ки"
"""What Math-Shepherd writes after each step of its inputs (arXiv 2312.08935)."""

SEPARATORS = ("<step>", "<extra_0>", TAG)


def labelled_row(row: Row, *, name: str, split: str) -> LabelledRow | None:
    """Return a row of any known shape; None where the row says that it can't be used.

    Args:
        row: the JSON object.
        name: the id of a row that has none.
        split: the split of a row that names none.

    Raises:
        RowError: for a row of no known shape, or one that is impossible.
    """
    for keys, read in SHAPES.items():
        if all(key in row for key in keys):
            return read(row, name, split)
    known = "; ".join(", ".join(keys) for keys in SHAPES)
    raise RowError(f"a row with the keys {', '.join(row)} is of no known shape. Known: {known}")


def _process_bench(row: Row, name: str, split: str) -> LabelledRow:
    """ProcessBench (arXiv 2412.06559): ``label`` is the first wrong step from 0, or -1."""
    steps = _texts(row, "steps")
    error = _whole(row, "label")
    return LabelledRow(
        id=str(row.get("id", name)),
        problem=_text(row, "problem"),
        steps=steps,
        labels=labels_of_first_error(None if error == -1 else error, len(steps)),
        final_answer_correct=_truth(row.get("final_answer_correct")),
        split=str(row.get("split", split)),
    )


def _mr_gsm8k(row: Row, name: str, split: str) -> LabelledRow:
    """MR-GSM8K (arXiv 2312.17080): the first wrong step counts from 1."""
    steps = _texts(row, "model_output_steps")
    wrong = row.get("model_output_solution_correctness") != "correct"
    error = _whole(row, "model_output_solution_first_error_step") - 1 if wrong else None
    answer = row.get("model_output_answer_correctness")
    return LabelledRow(
        id=str(row.get("uuid", name)),
        problem=_text(row, "question"),
        steps=steps,
        labels=labels_of_first_error(error, len(steps)),
        final_answer_correct=None if answer is None else answer == "correct",
        split=split,
    )


def _bigbench_mistake(row: Row, name: str, split: str) -> LabelledRow:
    """BIG-Bench Mistake (arXiv 2311.08516): the first wrong step counts from 0, or is null."""
    steps = _texts(row, "steps")
    error = None if row["mistake_index"] is None else _whole(row, "mistake_index")
    answered = "answer" in row and "target" in row
    return LabelledRow(
        id=name,
        problem=_text(row, "input"),
        steps=steps,
        labels=labels_of_first_error(error, len(steps)),
        final_answer_correct=row["answer"] == row["target"] if answered else None,
        split=str(row.get("task", split)),
    )


def _prm800k(row: Row, name: str, split: str) -> LabelledRow | None:
    """PRM800K (arXiv 2305.20050): the chosen completions; 1 and 0 (neutral) are right, -1 wrong.

    Where none was chosen, the first one is the step, and the solution ends there.
    """
    label, question = row["label"], row["question"]
    if not isinstance(label, dict) or not isinstance(question, dict):
        raise RowError("`question` and `label` are objects, as in PRM800K")
    if label.get("finish_reason") in {"bad_problem", "give_up"}:
        return None
    steps: list[str] = []
    labels: list[float | None] = []
    for step in label.get("steps") or ():
        if step.get("human_completion") and step.get("chosen_completion") is None:
            chosen: Row = {"text": _completion_text(step["human_completion"]), "rating": 1}
        elif completions := step.get("completions"):
            chosen = completions[step.get("chosen_completion") or 0]
        else:
            break
        rating = chosen.get("rating")
        steps.append(_text(chosen, "text"))
        labels.append(None if rating is None else float(rating >= 0))
    return LabelledRow(
        id=name,
        problem=_text(question, "problem"),
        steps=tuple(steps),
        labels=tuple(labels),
        final_answer_correct=True if label.get("finish_reason") == "solution" else None,
        split=split,
    )


def _completion_text(completion: Any) -> str:
    return completion["text"] if isinstance(completion, dict) else str(completion)


def _stepwise(row: Row, name: str, split: str) -> LabelledRow:
    """Rows as TRL's stepwise supervision has them: a prompt, its completions and their labels."""
    return LabelledRow(
        id=str(row.get("id", name)),
        problem=_text(row, "prompt"),
        steps=_texts(row, "completions"),
        labels=tuple(None if each is None else number_of(each) for each in row["labels"]),
        final_answer_correct=_truth(row.get("final_answer_correct")),
        split=str(row.get("split", split)),
    )


def _tagged(row: Row, name: str, split: str) -> LabelledRow:
    """Math-Shepherd: ``label`` is ``input`` with ``+`` or ``-`` in place of each tag."""
    text, label = _text(row, "input"), _text(row, "label")
    *pieces, rest = text.split(TAG)
    labels: list[float] = []
    at = 0
    for piece in pieces:
        at += len(piece)
        if label[at - len(piece) : at] != piece or label[at : at + 1] not in {"+", "-"}:
            raise RowError(f"`label` is not `input` with + or - in place of tag {len(labels) + 1}")
        labels.append(number_of(label[at]))
        at += 1
    if rest.strip() or label[at:].strip():
        raise RowError("text stands after the last tag: a step without a label")
    problem, first = _cut_problem(pieces, at_label=True)
    return LabelledRow(
        id=str(row.get("id", name)),
        problem=problem,
        steps=tuple(piece.strip() for piece in (first, *pieces[1:])),
        labels=tuple(labels),
        split=str(row.get("task", split)),
    )


def _neutral(row: Row, name: str, split: str) -> LabelledRow:
    """Our own: ``input`` has a separator after each step, ``value`` the number of each.

    The problem is ``problem`` where the row has it (and `input` may begin with it), else what
    stands before the last blank line of what precedes the first separator.
    """
    values = row["value"]
    text = _text(row, "input")
    if not isinstance(values, list):
        raise RowError("`value` is a list of numbers, one for each step")
    known = [str(row["separator"])] if "separator" in row else list(SEPARATORS)
    separator = next((each for each in known if text.count(each) == len(values)), None)
    if separator is None:
        raise RowError(
            f"`value` has {len(values)} numbers, and none of {', '.join(known)} stands that often "
            "in `input`"
        )
    *pieces, rest = text.split(separator)
    if rest.strip():
        raise RowError(f"text stands after the last `{separator}`: a step without a value")
    if not pieces:
        raise RowError("there are no steps")
    if "problem" in row:
        problem = _text(row, "problem")
        first = pieces[0].removeprefix(problem)
    else:
        problem, first = _cut_problem(pieces, at_label=False)
    return LabelledRow(
        id=str(row.get("id", name)),
        problem=problem,
        steps=tuple(piece.strip() for piece in (first, *pieces[1:])),
        labels=tuple(None if value is None else number_of(value) for value in values),
        final_answer_correct=_truth(row.get("final_answer_correct")),
        split=str(row.get("split", split)),
    )


def _cut_problem(pieces: Sequence[str], *, at_label: bool) -> tuple[str, str]:
    """Return the problem and the first step, which stand together in the first piece."""
    if not pieces:
        raise RowError("there are no steps")
    at = pieces[0].find("Step 1:") if at_label else pieces[0].rstrip().rfind("\n\n")
    if at < 0:
        mark = "`Step 1:`" if at_label else "a blank line"
        raise RowError(f"{mark} between the problem and the first step is missing")
    return pieces[0][:at].strip(), pieces[0][at:].strip()


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise RowError(f"`{key}` is text, not {type(value).__name__}")
    return value


def _texts(row: Row, key: str) -> tuple[str, ...]:
    value = row.get(key)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise RowError(f"`{key}` is a list of texts")
    return tuple(value)


def _whole(row: Row, key: str) -> int:
    value = row.get(key)
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RowError(f"`{key}` is a whole number, not {value!r}")
    return value


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


SHAPES: Mapping[tuple[str, ...], Read] = {
    ("model_output_steps", "model_output_solution_first_error_step"): _mr_gsm8k,
    ("input", "steps", "mistake_index"): _bigbench_mistake,
    ("problem", "steps", "label"): _process_bench,
    ("question", "label"): _prm800k,
    ("prompt", "completions", "labels"): _stepwise,
    ("input", "value"): _neutral,
    ("input", "label"): _tagged,
}
"""Keys that a row of a shape has -> how it is read; the first that fits counts."""
