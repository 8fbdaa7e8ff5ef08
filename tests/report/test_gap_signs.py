"""What is seen in one attempt: each sign by itself, and what is none."""

import pytest

from rewardhub.records import Part, Reward, Score, Step, ToolCall
from rewardhub.report.gap_rules import Thresholds
from rewardhub.report.gap_signs import look_at
from rewardhub.report.scored import ScoredPair, ScoredRow
from rewardhub.testing import make_trajectory

WRONG = Reward(0.0, False, step_rewards=(0.0,))
TOOLS = ({"type": "function", "function": {"name": "ls"}}, {"name": "cat"})
IN_GROUP = {"others-succeed", "reached-unused", "beyond-reach"}


def signs_of(reply, reward=WRONG, *, limits=None, prompt="Do it.", **fields):
    attempt = make_trajectory(reply, prompt=prompt, **fields)
    row = ScoredRow(
        schema_version=1, id=attempt.id, task="t", group="t", source=0, row=1, digest="",
        status=attempt.status, steps=1, reward=reward,
    )  # fmt: skip
    return set(look_at(ScoredPair(attempt, row), limits or Thresholds()).signs)


def call(name="ls", arguments="{}", **fields):
    return {"name": name, "arguments": arguments, **fields}


def turn(*calls, result=None, text="", **observation):
    observations = [] if result is None else [{"content": result, **observation}]
    return {"text": text, "tool_calls": list(calls), "observations": observations}


def test_a_plain_wrong_answer_shows_nothing():
    assert signs_of("5") == set()


# --- the form -----------------------------------------------------------------------------------


def gated(stage, grader):
    score = Score.of(False).signed(grader, 0.0)
    part = Part("f", stage, score=score, contribution=0.0)
    return Reward(-1.0, False, step_rewards=(-1.0,), parts=(part,), decided_by=stage)


@pytest.mark.parametrize(
    ("stage", "grader", "sign"),
    [
        ("format", "my/own", {"wrong-format"}),
        ("first", "rules/code-block", {"wrong-format"}),
        ("safety", "my/own", set()),
    ],
)
def test_a_closed_gate_is_a_sign_if_it_is_one_for_the_format(stage, grader, sign):
    assert signs_of("5", gated(stage, grader)) == sign


def test_which_gates_are_for_the_format_can_be_said():
    limits = Thresholds(format_gates="safety")
    assert signs_of("5", gated("safety", "my/own"), limits=limits) == {"wrong-format"}


def test_a_truncated_attempt():
    assert signs_of("", status="truncated") == {"truncated"}


def test_an_attempt_without_a_final_text():
    assert signs_of(" ") == {"no-answer"}


def test_in_an_environment_nothing_need_be_said():
    assert signs_of(" ", environment={"use": "shell"}) == set()


LETTER = {number: " ".join(f"word{number}x{each}" for each in range(150)) for number in range(20)}
BOOK = "\n".join(LETTER.values())


def test_a_long_input_of_which_nothing_comes_up():
    assert signs_of("I cannot say.", prompt=BOOK) == {"unread-input"}


def test_a_long_input_of_which_something_comes_up():
    assert signs_of("It is word7x20.", prompt=BOOK) == set()


def test_a_file_that_is_named_counts_as_read():
    files = {"data/book.txt": BOOK}
    assert signs_of("Of book.txt I know nothing.", files=files) == set()
    assert signs_of("Of what I know nothing.", files=files) == {"unread-input"}


def test_a_short_input_is_never_unread():
    assert signs_of("5", prompt="x" * 7999) == set()


# --- calls --------------------------------------------------------------------------------------


def test_a_tool_that_the_task_does_not_list():
    assert signs_of([turn(call("rm")), "done"], tools=TOOLS) == {"unknown-tool"}


def test_without_listed_tools_any_name_will_do():
    assert signs_of([turn(call("rm")), "done"]) == set()


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', "1"])
def test_arguments_that_are_no_object(arguments):
    assert signs_of([turn(call(arguments=arguments)), "done"], tools=TOOLS) == {"broken-arguments"}


@pytest.mark.parametrize("arguments", ["", "  ", '{"a": [1, {"b": 2}]}'])
def test_blank_arguments_are_none(arguments):
    assert signs_of([turn(call(arguments=arguments)), "done"], tools=TOOLS) == set()


def test_arguments_that_were_parsed_elsewhere():
    made = ToolCall(name="ls", arguments="?", parsed={"a": 1})
    assert signs_of((Step(tool_calls=(made,)), Step(text="x")), tools=TOOLS) == set()


def test_a_call_that_stands_in_the_text():
    text = 'I call. <tool_call>{"name": "ls"}</tool_call>'
    assert signs_of([turn(call()), text], tools=TOOLS) == {"call-in-text"}
    assert signs_of(text) == set()


def test_an_agent_that_never_acts():
    assert signs_of("I give up.", tools=TOOLS) == {"stopped-early"}


def test_a_loop_is_the_same_call_with_the_same_result():
    again = [turn(call(), result="a b")] * 3
    assert signs_of([*again, "done"], tools=TOOLS) == {"loop"}
    assert signs_of([*again[:2], "done"], tools=TOOLS) == set()


def test_waiting_for_a_change_is_no_loop():
    steps = [turn(call(), result=f"{share} %") for share in (10, 60, 100)]
    assert signs_of([*steps, "done"], tools=TOOLS) == set()


def test_the_order_of_arguments_makes_no_other_call():
    one, other = call(arguments='{"a": 1, "b": 2}'), call(arguments='{"b": 2, "a": 1}')
    steps = [turn(each, result="x") for each in (one, other, one)]
    assert signs_of([*steps, "done"], tools=TOOLS) == {"loop"}


def test_a_loop_of_texts():
    assert signs_of(["I try.", "I try.", "I try."]) == {"loop"}


def test_a_call_that_failed_and_comes_again_unchanged():
    steps = [turn(call(), result="", exit_code=1), turn(call(), result="fine"), "done"]
    assert signs_of(steps, tools=TOOLS) == {"same-call-after-error"}


def test_another_call_after_an_error_is_sound():
    steps = [turn(call(), result="", error="no"), turn(call("cat"), result="fine"), "done"]
    assert signs_of(steps, tools=TOOLS) == set()


@pytest.mark.parametrize(
    ("result", "is_error"),
    [
        ("Error: no such file", True),
        ("Traceback (most recent call last):", True),
        ("ValueError: x", True),
        ("[error] no", True),
        ("no errors found", False),
        ("0 errors", False),
    ],
)
def test_an_error_that_is_left(result, is_error):
    sign = {"error-left"} if is_error else set()
    assert signs_of([turn(call(), result=result), "done"], tools=TOOLS) == sign


def test_results_belong_to_their_calls_by_id():
    step = {
        "tool_calls": [call(id="1"), call("cat", id="2")],
        "observations": [
            {"call_id": "2", "content": "fine"},
            {"call_id": "1", "content": "", "error": "no"},
        ],
    }
    assert signs_of([step, "done"], tools=TOOLS) == set()


# --- what graders found -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grader", "metrics", "sign"),
    [
        ("agent/valid-calls", {"faults": 1}, {"invalid-call"}),
        ("agent/valid-calls", {"faults": 0}, set()),
        ("agent/no-loops", {"faults": 2}, {"loop"}),
        ("agent/no-loops", {"faults": 1}, set()),
        ("agent/recovers", {"errors": 2, "recovered": 1}, {"error-left"}),
        ("agent/recovers", {"errors": 2, "recovered": 2}, set()),
        ("my/valid-calls", {"faults": 1}, set()),
    ],
)
def test_metrics_of_graders_are_believed(grader, metrics, sign):
    score = Score.of(0.5, metrics=metrics).signed(grader, 0.0)
    part = Part("p", "process", score=score, contribution=0.0)
    reward = Reward(0.0, False, step_rewards=(0.0,), parts=(part,))
    assert signs_of("5", reward) == sign


def test_an_unscored_attempt_is_not_looked_at():
    assert signs_of("", Reward.unscored("task", "no reference"), status="truncated") == set()
