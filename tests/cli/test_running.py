"""What `score` and `rescore` share: here, answering by kept verdicts alone."""

import json

import pytest

from rewardhub.cli import ExitCode
from rewardhub.cli.running import How
from rewardhub.errors import UsageError

JUDGED = """
import os
from collections.abc import Iterator

from rewardhub import Grader, GraderCard, Judge, JudgeCard, JudgeReply, Options, hookimpl


class Oracle(Options, Judge):
    api_key: str

    @property
    def identity(self):
        return {"judge": "oracle"}

    def open(self):
        if self.api_key != "sesame":
            raise RuntimeError("opened without its key")

    async def ask(self, messages, *, schema=None, seed=None, logprobs=0):
        with open("asked.log", "a") as log:
            log.write(messages[0]["content"] + chr(10))
        return JudgeReply(text="1")


class Asks(Grader):
    async def grade(self, trajectory, judge: Judge):
        chat = [{"role": "user", "content": trajectory.final_text}]
        return float((await judge.ask(chat)).text)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    yield GraderCard(name="judged/asks", grader=Asks, deterministic=False)


@hookimpl
def rewardhub_judges() -> Iterator[JudgeCard]:
    yield JudgeCard(name="oracle", judge=Oracle)
"""

SPEC = """\
rewardhub: 1
name: judged
range: [0, 1]
resources:
  judge: {use: oracle, api_key: {env: ORACLE_KEY}}
stages:
  - name: outcome
    graders: [{use: judged/asks}]
"""


@pytest.fixture
def judged(folder):
    """A folder whose spec asks a judge that needs a key."""
    folder.write("rewardhub_plugins.py", JUDGED)
    folder.write("judged.yaml", SPEC)
    folder.write("new.jsonl", json.dumps({"prompt": "?", "completion": "new"}) + "\n")
    return folder


def asked(folder):
    return (folder.path / "asked.log").read_text().split()


def test_answers_by_kept_verdicts_without_a_key(call_in, judged, monkeypatch):
    monkeypatch.setenv("ORACLE_KEY", "sesame")
    args = ("--reward", "judged.yaml", "--json")
    code, _, err = call_in(judged, "score", "new.jsonl", *args, "--run", "first")
    assert (code, asked(judged)) == (ExitCode.OK, ["new"]), err
    monkeypatch.delenv("ORACLE_KEY")
    only = "--judge-cache-only"
    code, _, err = call_in(judged, "score", "new.jsonl", *args, "--run", "second", only)
    assert (code, asked(judged)) == (ExitCode.OK, ["new"]), err
    code, _, err = call_in(judged, "rescore", "first", *args, "--run", "third", only)
    assert (code, asked(judged)) == (ExitCode.OK, ["new"]), err
    assert judged.ledger("third")[0]["reward"]["value"] == 1.0


def test_a_verdict_that_is_not_kept_leaves_its_row_unscored(call_in, judged, monkeypatch):
    monkeypatch.delenv("ORACLE_KEY", raising=False)
    monkeypatch.setenv("REWARDHUB_JUDGE_CACHE_ONLY", "1")
    code, _, _ = call_in(judged, "score", "new.jsonl", "--reward", "judged.yaml", "--run", "run")
    reward = judged.ledger("run")[0]["reward"]
    assert (code, reward["fault"]) == (ExitCode.INCOMPLETE, "infrastructure")
    assert "not in the verdict cache" in reward["parts"][0]["score"]["reason"]


def test_without_the_flag_a_key_is_needed(call_in, judged, monkeypatch):
    monkeypatch.delenv("ORACLE_KEY", raising=False)
    code, _, err = call_in(judged, "score", "new.jsonl", "--reward", "judged.yaml")
    assert code == ExitCode.WRONG
    assert "`ORACLE_KEY` is not set" in err


def test_kept_verdicts_alone_need_the_cache():
    with pytest.raises(UsageError, match="`--no-cache` bars"):
        How(judge_cache_only=True, cache=False)
