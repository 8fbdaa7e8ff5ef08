import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from rewardhub_policies.simulated_user import SimulatedUser, UserTools

from rewardhub import InfrastructureError, JudgeReply, Message, Task
from rewardhub.testing import FakeJudge

TASK = Task(id="t", messages=(Message(role="user", content="I need help"),))


def said(message: str, *, done: bool = False) -> JudgeReply:
    data = {"message": message, "done": done}
    return JudgeReply(text=f"<{message}>", data=data)


def replies(user: SimulatedUser, *texts: str) -> list[str | None]:
    async def talked() -> list[str | None]:
        return [await user.reply(text) for text in texts]

    return asyncio.run(talked())


def played(*answers: Any, turns: int = 20) -> tuple[SimulatedUser, FakeJudge]:
    judge = FakeJudge(answers)
    return SimulatedUser(UserTools(plays="You are Ann.", turns=turns), TASK, judge), judge


def test_a_script_is_said_turn_by_turn() -> None:
    user = SimulatedUser(UserTools(says=("a", "b")), TASK, None)
    assert replies(user, "x", "y", "z") == ["a", "b", None]


def test_a_judge_plays_the_user() -> None:
    user, judge = played(said("my order"), said("12"))
    assert replies(user, "which?", "what number?") == ["my order", "12"]
    system, *talk = judge.asked[1].messages
    assert "You are Ann." in system["content"]
    assert [(each["role"], each["content"]) for each in talk] == [
        ("assistant", "I need help"),
        ("user", "which?"),
        ("assistant", "<my order>"),
        ("user", "what number?"),
    ]


def test_a_played_user_ends_when_it_is_done_and_has_nothing_to_say() -> None:
    user, _ = played(said("", done=True))
    assert replies(user, "here you are") == [None]


def test_a_last_word_is_heard() -> None:
    user, _ = played(said("thanks, bye", done=True))
    assert replies(user, "here you are", "bye") == ["thanks, bye", None]


def test_a_played_user_has_so_many_turns() -> None:
    user, judge = played(said("more"), said("more"), turns=1)
    assert replies(user, "a", "b") == ["more", None]
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        JudgeReply(text="no JSON"),
        JudgeReply(text="", finish_reason="refusal"),
        JudgeReply(text="{}", data={"message": 3, "done": False}),
        JudgeReply(text="cut", data={"message": "x", "done": False}, finish_reason="length"),
    ],
)
def test_a_reply_that_cannot_be_used_is_infrastructure(reply: JudgeReply) -> None:
    user, _ = played(reply)
    with pytest.raises(InfrastructureError, match="plays the user"):
        replies(user, "hello")


def test_without_a_judge_nobody_plays() -> None:
    user = SimulatedUser(UserTools(plays="You are Ann."), TASK, None)
    with pytest.raises(InfrastructureError, match="none is given"):
        replies(user, "hello")


@pytest.mark.parametrize("options", [{}, {"says": ("a",), "plays": "b"}])
def test_a_user_has_a_script_or_is_played(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="not both"):
        UserTools(**options)
