"""BFCL's rows: what is accepted passes, and each systematic corruption of it does not."""

import ast
import copy
import gzip
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rewardhub_agent

from rewardhub import Score
from rewardhub.testing import grade, make_trajectory, registry_of

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "agent"
FILE = DATA / "bfcl_v4.jsonl.gz"
CARD = registry_of(rewardhub_agent).grader("agent/tool-calls").card

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"there is no {FILE}")

Row = dict[str, Any]
Made = list[dict[str, Any]]


@cache
def rows() -> tuple[Row, ...]:
    return tuple(map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines()))


def single_turn() -> list[Row]:
    return [row for row in rows() if row["ground_truth"] and row["category"] != "multi_turn_base"]


def value_of(accepted: Any) -> Any:
    """The value that a list of accepted ones stands for; objects have such a list per field."""
    if not accepted:
        return []
    value = next((each for each in accepted if each != ""), "")
    if isinstance(value, dict):
        return {key: value_of(each) for key, each in value.items() if value_of(each) != ""}
    return value


def made_from(row: Row, *, leave_out: bool) -> Made:
    made: Made = []
    for entry in row["ground_truth"]:
        ((name, arguments),) = entry.items()
        given = {
            key: value_of(accepted)
            for key, accepted in arguments.items()
            if not ("" in accepted and (leave_out or value_of(accepted) == ""))
        }
        made.append({"name": name, "arguments": given})
    return made


def score_of(row: Row, made: Made, *, order: str = "any", **options: Any) -> Score:
    accepted = row["ground_truth"]
    trajectory = make_trajectory(
        [{"text": "", "tool_calls": made}],
        messages=row["question"][0],
        tools=row["function"],
        checks={"tool_calls": {"accepted": accepted, "order": order}},
    )
    return grade(CARD, trajectory, options=options)


def test_reads_all_rows() -> None:
    assert len(single_turn()) == 146
    assert len([row for row in rows() if not row["ground_truth"]]) == 35
    assert len(rows()) == 146 + 35 + 7


@pytest.mark.parametrize("leave_out", [False, True])
def test_accepts_the_call_made_from_the_accepted_values(leave_out: bool) -> None:
    for row in single_turn():
        score = score_of(row, made_from(row, leave_out=leave_out))
        assert score.value == 1, (row["id"], score.reason)


def test_accepts_parallel_calls_in_any_order() -> None:
    several = [row for row in single_turn() if len(row["ground_truth"]) > 1]
    assert len(several) == 57
    for row in several:
        assert score_of(row, made_from(row, leave_out=False)[::-1]).value == 1, row["id"]


def first(made: Made, fits: Callable[[Any], bool], row: Row) -> tuple[Made, str] | None:
    """A copy of the calls, and the first argument of the first call that must be given and fits."""
    accepted = next(iter(row["ground_truth"][0].values()))
    for key, value in made[0]["arguments"].items():
        if "" not in accepted[key] and fits(value):
            return copy.deepcopy(made), key
    return None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def change(
    make: Callable[[Any], Any], fits: Callable[[Any], bool] = lambda _: True
) -> Callable[[Row, Made], Made | None]:
    def corrupt(row: Row, made: Made) -> Made | None:
        found = first(made, fits, row)
        if found is None:
            return None
        changed, key = found
        changed[0]["arguments"][key] = make(changed[0]["arguments"][key])
        return changed

    return corrupt


def another_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if is_number(value):
        return value + 97
    if isinstance(value, str):
        return f"not {value}"
    if isinstance(value, list):
        return [*value, *(value[:1] or ["more"])]
    return {**value, "one_more": "field"}


def another_type(value: Any) -> Any:
    return 7 if isinstance(value, str) else json.dumps(value)


def without_argument(row: Row, made: Made) -> Made | None:
    found = first(made, lambda _: True, row)
    if found is None:
        return None
    del found[0][0]["arguments"][found[1]]
    return found[0]


def misspelt_argument(row: Row, made: Made) -> Made | None:
    found = first(made, lambda _: True, row)
    if found is None:
        return None
    arguments = found[0][0]["arguments"]
    arguments[f"{found[1]}_"] = arguments.pop(found[1])
    return found[0]


def first_call(**changes: Any) -> Callable[[Row, Made], Made]:
    return lambda _, made: [{**made[0], **changes}, *made[1:]]


def extra_argument(_: Row, made: Made) -> Made:
    arguments = {**made[0]["arguments"], "verbose_output": True}
    return [{**made[0], "arguments": arguments}, *made[1:]]


def broken_json(_: Row, made: Made) -> Made:
    return [{**made[0], "arguments": json.dumps(made[0]["arguments"])[:-1]}, *made[1:]]


CORRUPTIONS: dict[str, tuple[Callable[[Row, Made], Made | None], int]] = {
    "missing argument": (without_argument, 146),
    "misspelt argument": (misspelt_argument, 146),
    "extra argument": (extra_argument, 146),
    "wrong value": (change(another_value), 146),
    "wrong type": (change(another_type), 146),
    "null": (change(lambda _: None), 146),
    "whole number as a float": (change(float, lambda each: type(each) is int), 72),
    "true for a number": (change(lambda _: True, is_number), 77),
    "wrong name": (first_call(name="another_tool"), 146),
    "extra call": (lambda _, made: [*made, made[-1]], 146),
    "missing call": (lambda _, made: made[:-1], 146),
    "broken JSON": (broken_json, 146),
    "arguments in a list": (first_call(arguments="[1]"), 146),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_refuses_every_corruption(name: str) -> None:
    """Each is counted where it can be made: not every call has a number, or must have arguments."""
    corrupt, applicable = CORRUPTIONS[name]
    passed: list[str] = []
    count = 0
    for row in single_turn():
        made = corrupt(row, made_from(row, leave_out=False))
        if made is None:
            continue
        count += 1
        score = score_of(row, made)
        assert score.status == "graded"
        if score.value != 0:
            passed.append(f"{row['id']}: {made}")
    assert (count, passed) == (applicable, [])


def test_accepts_no_call_where_no_tool_fits_and_refuses_any() -> None:
    for row in rows():
        if row["ground_truth"]:
            continue
        assert score_of(row, []).value == 1
        for tool in row["function"]:
            assert score_of(row, [{"name": tool["name"], "arguments": {}}]).value == 0


def calls_of(turns: list[list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """BFCL writes the calls of many turns as Python: ``cd(folder='x')``."""
    for text in (text for turn in turns for text in turn):
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = {f"argument_{n}": ast.literal_eval(each) for n, each in enumerate(call.args)}
        arguments |= {each.arg or "": ast.literal_eval(each.value) for each in call.keywords}
        yield ast.unparse(call.func), arguments


def as_multi_turn(row: Row) -> tuple[Row, Made]:
    made = [{"name": name, "arguments": given} for name, given in calls_of(row["ground_truth"])]
    accepted = [
        {call["name"]: {key: [value] for key, value in call["arguments"].items()}} for call in made
    ]
    # The file has no schemas of these tools: the kinds of the accepted values decide.
    tools = [{"name": name} for name in dict.fromkeys(call["name"] for call in made)]
    return {"question": row["question"], "function": tools, "ground_truth": accepted}, made


def test_compares_multi_turn_rows_call_by_call() -> None:
    several = [row for row in rows() if row["category"] == "multi_turn_base"]
    counts: list[int] = []
    for row in several:
        turned, made = as_multi_turn(row)
        counts.append(len(made))
        assert score_of(turned, made, order="given").value == 1, row["id"]
        for number in range(len(made)):
            shorter = made[:number] + made[number + 1 :]
            assert score_of(turned, shorter, order="given").value == 0
            wrong = copy.deepcopy(made)
            wrong[number]["name"] = "another_tool"
            score = score_of(turned, wrong, order="given", partial=True)
            assert score.value == pytest.approx(1 - 1 / len(made))
        assert score_of(turned, made[::-1], order="given").value == 0
    assert len(several) == 7
    assert sum(counts) == 40
