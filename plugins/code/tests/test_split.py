"""What passes between tests and a solution, and what does not."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest
from rewardhub_code.inside import plain
from rewardhub_code.split import Conversation

from rewardhub import Outcome, Program, ProgramEndedError

DONE = {"op": "done"}
CALL = {"op": "call", "target": None, "name": "add", "args": [1], "kwargs": {}, "out": False}
OBJECT = {"$handle": {"id": 1, "kind": "object", "classes": [[0, "Evil"]]}}


class Scripted(Program):
    """Says what it was told to say, and keeps what it was sent."""

    def __init__(self, says: Iterable[object], end: Outcome | None = None) -> None:
        self._says = deque(each if isinstance(each, bytes) else plain.dumps(each) for each in says)
        self._end = end or Outcome(status="ok", exit_code=0)
        self.heard: list[Any] = []

    def send(self, message: bytes) -> None:
        self.heard.append(plain.loads(message))

    def receive(self) -> bytes:
        if not self._says:
            raise ProgramEndedError(self._end)
        return self._says.popleft()

    def finish(self) -> Outcome:
        return self._end

    def kill(self) -> Outcome:
        return self._end


def result(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"op": "result", "name": name, "passed": True, "reason": "", "seconds": 0.1} | fields


def talk(
    tests: Iterable[object], solution: Iterable[object] = (), *, objects: bool = False
) -> tuple[Conversation, Scripted, Scripted]:
    one, other = Scripted(tests), Scripted(solution)
    conversation = Conversation(one, other, objects=objects)
    conversation.hold(b'{"tests": []}')
    return conversation, one, other


def test_the_tests_hear_what_the_solution_returns() -> None:
    conversation, tests, solution = talk([CALL, result(), DONE], [{"value": {"$tuple": [3]}}])
    assert solution.heard == [CALL]
    assert tests.heard[1:] == [{"value": {"$tuple": [3]}}]
    assert [each.name for each in conversation.results] == ["a"]
    assert not conversation.broke


def test_the_solution_hears_nothing_of_results() -> None:
    _, _, solution = talk([result(), result("b"), DONE])
    assert solution.heard == []


@pytest.mark.parametrize(
    "reply",
    [
        OBJECT,
        b"",
        b"{",
        b"[]",
        {"passed": True},
        {"value": {"$tuple": 1}},
        {"value": {"$handle": {"id": "x", "kind": "object", "classes": []}}},
        {"value": {"$callback": 1}},
        {"raised": [1], "message": ""},
        {"raised": [], "message": ""},
        {"callback": 0},
        {"callback": 0, "args": 1, "kwargs": {}},
        {"value": 1, "args": 2},
        result(),
        DONE,
    ],
    ids=str,
)
def test_what_is_no_reply_gets_to_the_tests_as_a_refusal(reply: object) -> None:
    conversation, tests, _ = talk([CALL, DONE], [reply])
    assert list(tests.heard[1]) == ["refused"]
    assert conversation.tampered
    assert conversation.results == []


def test_objects_pass_only_where_the_task_has_them() -> None:
    reply = {"value": [OBJECT]}
    conversation, tests, _ = talk([CALL, DONE], [reply], objects=True)
    assert (tests.heard[1], conversation.used_objects) == (reply, True)
    conversation, tests, _ = talk([CALL, DONE], [reply])
    assert tests.heard[1] == {"refused": "it gave an object of type Evil"}


def test_a_function_of_the_tests_is_called_back() -> None:
    back = {"callback": 0, "args": [1], "kwargs": {}}
    answer = {"op": "answer", "value": 2}
    conversation, tests, solution = talk([CALL, answer, DONE], [back, {"value": 2}])
    assert solution.heard == [CALL, answer]
    assert tests.heard[1:] == [back, {"value": 2}]
    assert not conversation.broke


def test_tests_go_on_without_a_solution_that_ended() -> None:
    conversation, tests, _ = talk([CALL, CALL, result(passed=False), DONE], [])
    refusals = [each["refused"] for each in tests.heard[1:]]
    assert refusals == ["it ended before it answered (exit code 0)"] * 2
    assert len(conversation.results) == 1
    assert conversation.solution_end is not None


@pytest.mark.parametrize(
    "message", [b"{", [], {"op": "else"}, {"op": "result"}, result(passed=1), result(seconds="x")]
)
def test_tests_that_do_not_report_properly_are_ended(message: object) -> None:
    conversation, _, _ = talk([message, DONE])
    assert "the tests did not finish" in conversation.broke


def test_tests_that_end_early_did_not_finish() -> None:
    conversation, _, _ = talk([result()])
    assert "the tests did not finish" in conversation.broke
    assert len(conversation.results) == 1


def test_tests_do_not_report_without_end() -> None:
    conversation, _, _ = talk([result(str(number)) for number in range(20_000)])
    assert "more than 10000 results" in conversation.broke
