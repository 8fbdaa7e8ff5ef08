"""What the engine puts around every judge: kept verdicts, one request a question, limits, tries."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewardhub.contracts import Grader, Judge, JudgeReply, Options, Usage
from rewardhub.contracts.waiting import CLOCK
from rewardhub.engine import Cache, Engine, judging
from rewardhub.engine.judging import Judging
from rewardhub.engine.judging_cache import Verdicts
from rewardhub.errors import InfrastructureError, UsageError
from rewardhub.host import GraderCard, JudgeCard, Registry, registry_of
from rewardhub.records import Reward, Trajectory
from rewardhub.spec.model import ResourceEntry
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
ASKED = Usage(prompt_tokens=10, completion_tokens=2, cost=0.5)


def said(text: str = "yes") -> JudgeReply:
    return JudgeReply(text=text, usage=ASKED)


class Scripted(Judge):
    """Plays its script over and over: replies, errors, and coroutines to wait for."""

    def __init__(self, *script: Any, bound: Usage | None = None) -> None:
        self.script = script or (said(),)
        self.bound = bound
        self.asked: list[tuple[Any, ...]] = []
        self.inside = self.peak = 0
        self.opened = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"judge": "scripted"}

    def open(self) -> None:
        self.opened += 1

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage | None:
        return self.bound

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        step = self.script[len(self.asked) % len(self.script)]
        self.asked.append((messages, schema, seed, logprobs))
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        try:
            await asyncio.sleep(0)
            if callable(step):
                return await step()  # type: ignore[no-any-return]
        finally:
            self.inside -= 1
        if isinstance(step, Exception):
            raise step
        assert isinstance(step, JudgeReply)
        return step


def around(judge: Judge, verdicts: Verdicts | None = None, **limits: Any) -> Judging:
    cache_only = limits.pop("cache_only", False)
    entry = ResourceEntry(name="judge", use="scripted", resource=judge, **limits)
    return Judging(entry, verdicts, cache_only=cache_only)


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def ask(judge: Judge, *texts: str, **how: Any) -> list[Any]:
    """Return the reply to each question, all asked at once; errors as they are."""

    async def ask_all() -> list[Any]:
        asked = (judge.ask(chat(text), **how) for text in texts)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(ask_all())


@pytest.fixture
def verdicts(tmp_path: Path) -> Iterator[Verdicts]:
    made = Verdicts(tmp_path / "verdicts.sqlite")
    yield made
    made.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses between tries, none of which is made."""
    made: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        if seconds:
            made.append(seconds)
        await sleep(0)

    monkeypatch.setattr(judging.asyncio, "sleep", note)
    return made


# --- kept verdicts --------------------------------------------------------------------------------


def test_an_equal_question_is_answered_from_the_cache(verdicts: Verdicts) -> None:
    backend = Scripted()
    first, second = (ask(around(backend, verdicts), "?")[0] for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert (second.text, second.usage) == (first.text, ASKED)
    assert len(backend.asked) == 1


@pytest.mark.parametrize(
    "changed", [{"seed": 1}, {"logprobs": 5}, {"schema": {"type": "object"}}, {"messages": "other"}]
)
def test_whatever_a_reply_depends_on_makes_another_question(
    changed: dict[str, Any], verdicts: Verdicts
) -> None:
    backend = Scripted()
    ask(around(backend, verdicts), "?")
    ask(around(backend, verdicts), changed.pop("messages", "?"), **changed)
    assert len(backend.asked) == 2


def test_limits_make_no_other_question(verdicts: Verdicts) -> None:
    backend = Scripted()
    ask(around(backend, verdicts), "?")
    ask(around(backend, verdicts, max_calls=1, deadline=5.0), "?")
    assert len(backend.asked) == 1


def test_a_reply_that_was_cut_off_is_kept_too(verdicts: Verdicts) -> None:
    backend = Scripted(JudgeReply(text="ye", finish_reason="length"))
    replies = [ask(around(backend, verdicts), "?")[0] for _ in range(2)]
    assert [reply.finish_reason for reply in replies] == ["length", "length"]
    assert len(backend.asked) == 1


def test_an_error_is_not_kept(verdicts: Verdicts) -> None:
    broken = InfrastructureError("wrong key", passing=False)
    backend = Scripted(broken, said())
    judge = around(backend, verdicts)
    assert isinstance(ask(judge, "?")[0], InfrastructureError)
    assert ask(judge, "?")[0].text == "yes"


def test_without_a_cache_nothing_is_kept() -> None:
    backend = Scripted()
    judge = around(backend)
    assert [ask(judge, "?")[0].cached for _ in range(2)] == [False, False]


def test_the_cache_is_asked_again_right_before_a_request(verdicts: Verdicts) -> None:
    backend = Scripted()
    judge = around(backend, verdicts, max_concurrency=1, max_calls=1)

    async def another_process_is_quicker() -> JudgeReply:
        turn = await judge.meter.atake()
        asking = asyncio.create_task(judge.ask(chat("?")))
        await asyncio.sleep(0.01)
        await around(Scripted(), verdicts).ask(chat("?"))
        turn.give_back()
        return await asking

    assert asyncio.run(another_process_is_quicker()).cached
    assert (backend.asked, judge.meter.calls) == ([], 0)


# --- equal questions under way --------------------------------------------------------------------


def test_equal_questions_under_way_are_one_request() -> None:
    backend = Scripted()
    judge = around(backend, max_calls=1)
    replies = ask(judge, *["?"] * 50)
    assert [reply.text for reply in replies] == ["yes"] * 50
    assert [reply.cached for reply in replies].count(False) == 1, "one of them pays"
    assert (len(backend.asked), judge.meter.used) == (1, ASKED)


def test_equal_questions_under_way_break_together() -> None:
    backend = Scripted(InfrastructureError("wrong key", passing=False))
    errors = ask(around(backend), *["?"] * 3)
    assert [str(error) for error in errors] == ["wrong key"] * 3
    assert len({id(error) for error in errors}) == 3
    assert len(backend.asked) == 1


def test_whoever_gives_up_does_not_end_the_request_of_the_others() -> None:
    go = asyncio.Event()

    async def slow() -> JudgeReply:
        await go.wait()
        return said()

    judge = around(Scripted(slow))

    async def first_gives_up() -> JudgeReply:
        first, second = (asyncio.create_task(judge.ask(chat("?"))) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        go.set()
        return await second

    assert asyncio.run(first_gives_up()).text == "yes"


def test_a_request_that_nobody_waits_for_is_given_up() -> None:
    async def endless() -> JudgeReply:
        await asyncio.sleep(1000)
        return said()

    judge = around(Scripted(endless, bound=ASKED), max_tokens=1000, max_concurrency=1)

    async def all_give_up() -> None:
        asking = [asyncio.create_task(judge.ask(chat("?"))) for _ in range(2)]
        await asyncio.sleep(0.01)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await asyncio.sleep(0.01)
        (await judge.meter.atake()).end()

    asyncio.run(all_give_up())
    assert judge.meter.used == ASKED, "nobody knows what it used, so its bound counts"


def test_questions_of_an_earlier_loop_are_forgotten() -> None:
    async def endless() -> JudgeReply:
        await asyncio.sleep(1000)
        return said()

    judge = around(Scripted(endless, said()))

    async def leave() -> None:
        judge_task = asyncio.create_task(judge.ask(chat("?")))
        await asyncio.sleep(0.01)
        judge_task.cancel()

    asyncio.run(leave())
    assert ask(judge, "?")[0].text == "yes"


# --- tries ----------------------------------------------------------------------------------------


def test_what_may_pass_is_tried_again(pauses: list[float]) -> None:
    down = InfrastructureError("down")
    backend = Scripted(down, down, said())
    assert ask(around(backend), "?")[0].text == "yes"
    assert len(backend.asked) == 3
    assert 0.25 <= pauses[0] <= 0.75
    assert 0.5 <= pauses[1] <= 1.5


def test_pauses_depend_on_the_question_alone(pauses: list[float]) -> None:
    down = InfrastructureError("down")
    for text in ("a", "a", "b"):
        ask(around(Scripted(down, down, down, said())), text)
    assert pauses[:3] == pauses[3:6] != pauses[6:]


def test_an_endpoint_is_left_alone_as_long_as_it_asks(pauses: list[float]) -> None:
    ask(around(Scripted(InfrastructureError("busy", retry_after=20.0), said())), "?")
    assert 20.25 <= pauses[0] <= 20.75


def test_an_endpoint_that_asks_for_hours_is_given_up(pauses: list[float]) -> None:
    (error,) = ask(around(Scripted(InfrastructureError("busy", retry_after=7200.0))), "?")
    assert (str(error), error.passing, pauses) == ("busy", False, [])


@pytest.mark.parametrize(("limits", "tries"), [({}, 5), ({"retries": 1}, 2), ({"retries": 0}, 1)])
def test_tries_end(limits: dict[str, int], tries: int, pauses: list[float]) -> None:
    backend = Scripted(InfrastructureError("down"))
    (error,) = ask(around(backend, **limits), "?")
    assert str(error) == ("down" if tries == 1 else f"down (tried {tries} times)")
    assert not error.passing
    assert (len(backend.asked), len(pauses)) == (tries, tries - 1)


def test_what_does_not_pass_is_not_tried_again(pauses: list[float]) -> None:
    backend = Scripted(InfrastructureError("no such model", passing=False))
    (error,) = ask(around(backend), "?")
    assert (str(error), len(backend.asked), pauses) == ("no such model", 1, [])


def test_a_bug_of_a_judge_is_let_through() -> None:
    (error,) = ask(around(Scripted(ZeroDivisionError())), "?")
    assert isinstance(error, ZeroDivisionError)


def test_a_call_over_its_deadline_is_made_again(pauses: list[float]) -> None:
    async def endless() -> JudgeReply:
        await asyncio.Event().wait()
        return said()

    backend = Scripted(endless, said())
    assert ask(around(backend, deadline=0.05), "?")[0].text == "yes"
    (error,) = ask(around(Scripted(endless), deadline=0.05, retries=0), "?")
    assert str(error) == "`judge` did not answer within 0.05 s"


def test_a_judges_own_timeout_is_not_taken_for_the_deadline() -> None:
    (error,) = ask(around(Scripted(TimeoutError("of the judge"))), "?")
    assert str(error) == "of the judge"


def test_no_clock_runs_while_a_question_waits(pauses: list[float]) -> None:
    class Clock:
        def __init__(self) -> None:
            self.holders = 0
            self.seen: list[int] = []

        def hold(self) -> None:
            self.holders += 1

        def go_on(self) -> None:
            self.holders -= 1

    clock = Clock()

    async def look() -> JudgeReply:
        clock.seen.append(clock.holders)
        raise InfrastructureError("down")

    async def under_clock() -> None:
        CLOCK.set(clock)
        judge = around(Scripted(look, said()))
        await judge.ask(chat("?"))

    asyncio.run(under_clock())
    assert (clock.seen, clock.holders) == ([0], 0), "it runs during a request, and not in a pause"


# --- limits ---------------------------------------------------------------------------------------


def test_requests_stay_under_the_limit() -> None:
    backend = Scripted()
    ask(around(backend, max_concurrency=3), *[f"{n}" for n in range(50)])
    assert (len(backend.asked), backend.peak) == (50, 3)


def test_every_request_counts_tries_too(pauses: list[float]) -> None:
    backend = Scripted(InfrastructureError("down"))
    (error,) = ask(around(backend, max_calls=3), "?")
    assert "the budget of `judge` is used up: max_calls is 3" in str(error)
    assert len(backend.asked) == 3


def test_budgets_are_never_passed() -> None:
    bound = Usage(prompt_tokens=40, completion_tokens=20, cost=1.0)
    backend = Scripted(bound=bound)  # which uses 12 of 60 tokens
    judge = around(backend, max_tokens=300, max_concurrency=8)
    replies = ask(judge, *[f"{n}" for n in range(100)])
    answered = [reply for reply in replies if isinstance(reply, JudgeReply)]
    # The last call that may begin leaves room for a whole bound: 12 n + 60 <= 300.
    assert len(answered) == len(backend.asked) == 21
    assert judge.meter.used.prompt_tokens + judge.meter.used.completion_tokens == 21 * 12
    assert {str(each) for each in replies if isinstance(each, InfrastructureError)} == {
        "the budget of `judge` is used up: max_tokens is 300"
    }


def test_an_error_uses_no_tokens(pauses: list[float]) -> None:
    down = InfrastructureError("down")
    judge = around(Scripted(down, down, said(), bound=ASKED), max_tokens=12)
    assert ask(judge, "?")[0].text == "yes"
    assert judge.meter.used == ASKED


def test_a_question_without_a_bound_is_refused_where_tokens_are_counted() -> None:
    (error,) = ask(around(Scripted(), max_tokens=1000), "?")
    assert "cannot tell how much this question uses at most" in str(error)
    assert not error.passing


# --- by kept verdicts alone -----------------------------------------------------------------------


def test_by_kept_verdicts_alone_no_question_leaves(verdicts: Verdicts) -> None:
    ask(around(Scripted(), verdicts), "kept")
    backend = Scripted()
    judge = around(backend, verdicts, cache_only=True)
    judge.open()
    kept, missing = ask(judge, "kept", "missing")
    judge.close()
    assert (kept.text, kept.cached) == ("yes", True)
    assert "not in the verdict cache" in str(missing)
    assert not missing.passing
    assert (backend.asked, backend.opened) == ([], 0)


# --- through an engine ----------------------------------------------------------------------------


class Words(Options, Judge):
    """Says how many words a question has; breaks at `!`."""

    model: str = "small"

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self.model}

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        text = messages[-1]["content"]
        COUNT.append(text)
        if "!" in text:
            raise InfrastructureError("the endpoint is down")
        return JudgeReply(text=str(len(text.split())))


COUNT: list[str] = []


class ByWords(Grader):
    async def grade(self, trajectory: Trajectory, judge: Judge) -> float:
        reply = await judge.ask(chat(trajectory.final_text))
        return min(1.0, int(reply.text) / 4)


@pytest.fixture
def registry() -> Registry:
    COUNT.clear()
    return registry_of(
        GraderCard(name="test/words", grader=ByWords, deterministic=False),
        JudgeCard(name="words", judge=Words),
    )


@pytest.fixture
def rewards_of(registry: Registry, spec_of: SpecOf) -> Callable[..., list[Reward]]:
    def rewards(*texts: str, judge: Mapping[str, Any] | None = None, **how: Any) -> list[Reward]:
        spec = spec_of({"use": "test/words"}) | {"resources": {"judge": judge or {"use": "words"}}}
        with Engine(spec, registry=registry, **how) as engine:
            return list(engine.score_all(make_trajectory(text) for text in texts))

    return rewards


def test_an_engine_keeps_verdicts_beside_its_scores(
    rewards_of: Callable[..., list[Reward]], tmp_path: Path
) -> None:
    for _ in range(2):
        cache = Cache(tmp_path / "scores.sqlite")
        assert [reward.value for reward in rewards_of("a b", "a b", "c", cache=cache)] == [
            0.5, 0.5, 0.25,
        ]  # fmt: skip
    assert sorted(COUNT) == ["a b", "c"]
    assert (tmp_path / "verdicts.sqlite").exists()


def test_an_engine_does_not_try_again_what_the_judge_has_tried(
    rewards_of: Callable[..., list[Reward]], pauses: list[float]
) -> None:
    (reward,) = rewards_of("down!", judge={"use": "words", "retries": 1})
    assert (reward.value, reward.fault) == (None, "infrastructure")
    score = reward.parts[0].score
    assert score is not None
    assert "the endpoint is down (tried 2 times)" in score.reason
    assert (score.evidence["passing"], "tries" in score.evidence) == (False, False)
    assert COUNT == ["down!"] * 2


def test_an_engine_replays_by_kept_verdicts_alone(
    rewards_of: Callable[..., list[Reward]], tmp_path: Path
) -> None:
    rewards_of("a b", cache=Cache(tmp_path / "scores.sqlite"))
    COUNT.clear()
    cache = Cache(tmp_path / "scores.sqlite")
    kept, missing = rewards_of("a b", "c", cache=cache, judge_cache_only=True)
    assert (kept.value, missing.value, missing.fault) == (0.5, None, "infrastructure")
    assert COUNT == []


def test_kept_verdicts_alone_need_a_cache(rewards_of: Callable[..., list[Reward]]) -> None:
    with pytest.raises(UsageError, match="without a cache"):
        rewards_of("a", judge_cache_only=True)


OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from rewardhub.contracts import JudgeReply
from rewardhub.engine.judging_cache import Question, Verdicts

verdicts = Verdicts(Path(sys.argv[1]))
mine = [Question(messages=[{"role": "user", "content": f"{sys.argv[2]} {n}"}]) for n in range(200)]
for question in mine:
    verdicts.put(question.key({"judge": "scripted"}), JudgeReply(text=sys.argv[2]))
    assert verdicts.get(question.key({"judge": "scripted"})).text == sys.argv[2]
verdicts.close()
"""


def test_processes_share_kept_verdicts(verdicts: Verdicts) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(verdicts.path), name],
            stderr=subprocess.PIPE,
        )
        for name in ("one", "two")
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=100)
        assert (writer.returncode, errors) == (0, b"")
    backend = Scripted()
    judge = around(backend, verdicts)
    replies = ask(judge, *[f"{name} {n}" for name in ("one", "two") for n in range(200)])
    assert [reply.text for reply in replies] == ["one"] * 200 + ["two"] * 200
    assert backend.asked == []
