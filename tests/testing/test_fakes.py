"""Stand-ins for judges, sandboxes and workers."""

import asyncio

import pytest

from rewardhub.contracts import Job, JudgeReply, Outcome
from rewardhub.errors import InfrastructureError, UsageError
from rewardhub.testing import CallingWorkers, fake_judge, fake_sandbox

CHAT = [{"role": "user", "content": "Good?"}]


def ask(judge, **arguments):
    return asyncio.run(judge.ask(CHAT, **arguments))


def test_judge_gives_its_replies_in_order():
    judge = fake_judge(["yes", {"score": 1}, JudgeReply(text="x", finish_reason="length")])
    assert ask(judge) == JudgeReply(text="yes")
    assert ask(judge) == JudgeReply(text='{"score": 1}', data={"score": 1})
    assert ask(judge).finish_reason == "length"


def test_judge_reads_json_only_where_a_schema_asks():
    judge = fake_judge(['{"a": 1}', '{"a": 1}', "no json"])
    assert ask(judge).data is None
    assert ask(judge, schema={}).data == {"a": 1}
    assert ask(judge, schema={}).data is None


def test_judge_keeps_what_it_was_asked():
    judge = fake_judge(["yes"])
    ask(judge, schema={"type": "object"}, seed=3)
    (question,) = judge.asked
    assert (question.text, question.schema, question.seed) == ("Good?", {"type": "object"}, 3)


def test_judge_raises_a_prepared_exception():
    with pytest.raises(InfrastructureError, match="down"):
        ask(fake_judge([InfrastructureError("down")]))


def test_judge_says_that_it_has_no_reply_left():
    judge = fake_judge(["yes"])
    ask(judge)
    with pytest.raises(UsageError, match="prepared for 1 calls"):
        ask(judge)


def test_sandbox_gives_its_outcomes_in_order():
    sandbox = fake_sandbox("out", Outcome(status="timeout"), {"status": "nonzero", "exit_code": 2})
    jobs = [Job(source=str(number)) for number in range(3)]
    assert sandbox.run(jobs[0]) == Outcome(status="ok", exit_code=0, stdout="out")
    assert asyncio.run(sandbox.arun(jobs[1])).status == "timeout"
    assert sandbox.run(jobs[2]).exit_code == 2
    assert sandbox.jobs == jobs


def test_sandbox_raises_a_prepared_exception():
    with pytest.raises(InfrastructureError, match="no slot"):
        fake_sandbox(InfrastructureError("no slot")).run(Job())


def test_no_fake_is_taken_for_another():
    identities = [str(fake.identity) for fake in (fake_judge([]), fake_judge([]), fake_sandbox())]
    assert len(set(identities)) == 3


def test_workers_call_here_and_now():
    workers = CallingWorkers()
    assert workers.limited(cpu_seconds=1).call(divmod, 7, 2) == (3, 1)
