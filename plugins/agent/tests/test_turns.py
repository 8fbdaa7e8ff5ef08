"""What files lack or garble, decided once for every grader."""

import json

import pytest
from rewardhub_agent.turns import arguments_of, error_in, need_results, turns_of

from rewardhub import Observation, TaskError, ToolCall, Trajectory
from rewardhub.testing import make_trajectory


def attempt(*steps: object) -> Trajectory:
    return make_trajectory(list(steps))  # type: ignore[arg-type]


def step(names: list[tuple[str, str]], results: list[tuple[str, str]]) -> dict[str, object]:
    """A step with calls (id, name) and results (id, content)."""
    return {
        "tool_calls": [{"id": key, "name": name, "arguments": {}} for key, name in names],
        "observations": [{"call_id": key, "content": content} for key, content in results],
    }


def results(*steps: object) -> list[str | None]:
    return [call.result for turn in turns_of(attempt(*steps)) for call in turn.calls]


def test_finds_results_by_id_whatever_their_order() -> None:
    assert results(step([("a", "x"), ("b", "y")], [("b", "2"), ("a", "1")])) == ["1", "2"]


def test_finds_results_without_ids_by_order() -> None:
    assert results(step([("a", "x"), ("b", "y")], [("", "1"), ("", "2")])) == ["1", "2"]


def test_takes_no_result_whose_id_is_of_no_call() -> None:
    assert results(step([("a", "x")], [("z", "1")])) == [None]


def test_uses_each_result_once_where_ids_repeat() -> None:
    assert results(step([("a", "x"), ("a", "y")], [("a", "1"), ("a", "2")])) == ["1", "2"]
    assert results(step([("a", "x"), ("a", "y")], [("a", "1")])) == ["1", None]


def test_takes_no_result_of_another_step() -> None:
    assert results(step([("a", "x")], []), step([("b", "y")], [("a", "1"), ("b", "2")])) == [
        None,
        "2",
    ]


def test_passes_over_results_without_calls() -> None:
    assert turns_of(attempt(step([], [("a", "1")])))[0].calls == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1', "no JSON"),
        ("a=1", "no JSON"),
        ('{"a": NaN}', "no JSON"),
        ('{"a": 1e999}', "no JSON"),
        ("[" * 100_000, "characters"),
        ("[" * 50_000, "no JSON"),
        ("[1]", "a list"),
        ("null", "NoneType"),
        ("1" * 5000, "no JSON"),
        ('{"a": ' * 101 + "1" + "}" * 101, "nested"),
        ('"{}"', "str"),
        ("7", "int"),
        ('{"a": "' + "x" * 70_000 + '"}', "characters"),
    ],
)
def test_says_why_arguments_cannot_be_read(text: str, why: str) -> None:
    arguments, problem = arguments_of(ToolCall(name="x", arguments=text))
    assert arguments is None
    assert why in problem


def test_reads_arguments_up_to_the_deepest() -> None:
    text = '{"a": ' * 100 + "1" + "}" * 100
    assert arguments_of(ToolCall(name="x", arguments=text))[1] == ""


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_reads_blank_arguments_as_none(text: str) -> None:
    assert arguments_of(ToolCall(name="x", arguments=text)) == ({}, "")


def test_reads_the_text_where_nothing_was_parsed() -> None:
    assert arguments_of(ToolCall(name="x", arguments='{"a": [1]}')) == ({"a": [1]}, "")


@pytest.mark.parametrize(
    "content",
    [
        "Error: user not found",
        "ERROR - no such file",
        "[ERROR] : no",
        "ValueError: no",
        "json.decoder.JSONDecodeError: no",
        "Traceback (most recent call last):\n  ...",
        "Unknown tool fly",
        json.dumps({"error": "no"}),
        json.dumps({"success": False}),
        json.dumps({"status": "error", "message": "no"}),
        json.dumps({"isError": True}),
    ],
)
def test_recognises_an_error_by_its_text(content: str) -> None:
    assert error_in(Observation(content=content), recognise=True) is not None
    assert error_in(Observation(content=content), recognise=False) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "The error rate is 0.1",
        "errors: 0",
        "0 failed",
        json.dumps({"error": None, "rows": []}),
        json.dumps({"status": "ok"}),
        '{"error": ',
        "{" * 60_000,
    ],
)
def test_takes_other_texts_for_results(content: str) -> None:
    assert error_in(Observation(content=content), recognise=True) is None


def test_believes_what_is_recorded_before_any_text() -> None:
    assert error_in(Observation(content="ok", error=""), recognise=False) == "an error"
    assert error_in(Observation(content="ok", exit_code=2), recognise=False) == "exit code 2"
    assert error_in(Observation(content="ok", exit_code=0), recognise=False) is None


def test_equal_calls_have_equal_keys() -> None:
    texts = ['{"a": 1, "b": [2]}', '{ "b":[2.0],"a":1 }', '{"a": true, "b": [2]}']
    turn = {
        "tool_calls": [{"id": str(n), "name": "x", "arguments": t} for n, t in enumerate(texts)]
    }
    one, other, third = (call.key for call in turns_of(attempt(turn))[0].calls)
    assert one == other != third


def test_needs_results_of_calls_before_the_last_turn() -> None:
    asked = step([("a", "x")], [])
    need_results(turns_of(attempt(asked)))
    need_results(turns_of(attempt(asked, step([("b", "x")], [("b", "1")]))))
    with pytest.raises(TaskError, match="no result of any call"):
        need_results(turns_of(attempt(asked, "Done.")))
