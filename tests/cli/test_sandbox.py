"""`rewardhub sandbox check`: what it says, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.sandbox import check_sandboxes
from rewardhub.cli.session import Session
from rewardhub.contracts import Job, Options, Outcome, Sandbox
from rewardhub.errors import InfrastructureError, UnknownNameError
from rewardhub.host import SandboxCard, registry_of

LEAKED = '["/etc/shadow"]'


class Toy(Options, Sandbox):
    """Answers every job as it was told."""

    said: str = "[]"
    level: str = "strong"

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"sandbox": "toy", "level": self.level, "image": "toy:1"}

    def run(self, job: Job) -> Outcome:
        is_first = job.source == "print('ready')"
        return Outcome(status="ok", stdout="ready\n" if is_first else self.said, seconds=0.001)


class Leaky(Toy):
    """Lets programs read what they should not."""

    said: str = LEAKED  # type: ignore[misc]


class Down(Toy):
    """Never answers."""

    def open(self) -> None:
        raise InfrastructureError("nobody answers at build-7: is it running?")


class Mute(Toy):
    """Runs nothing."""

    def run(self, job: Job) -> Outcome:
        del job
        return Outcome(status="sandbox_error", reason="the fork server died")


def session(**cards: type[Sandbox]) -> Session:
    made = Session(as_json=True)
    made.__dict__["registry"] = registry_of(
        *(SandboxCard(name=name, sandbox=sandbox) for name, sandbox in cards.items())
    )
    return made


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return list(json.loads(capsys.readouterr().out)["sandboxes"])


def test_a_sandbox_that_holds_is_told_with_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_sandboxes(session(toy=Toy), names=["toy"]) is ExitCode.OK
    (finding,) = told(capsys)
    assert (finding["name"], finding["level"], finding["escapes"]) == ("toy", "strong", [])
    assert finding["has"] == {"image": "toy:1"}


@pytest.mark.parametrize(
    ("sandbox", "field", "what"),
    [
        (Leaky, "escapes", "writes outside: /etc/shadow"),
        (Down, "problem", "nobody answers at build-7"),
        (Mute, "problem", "sandbox_error: the fork server died"),
    ],
)
def test_one_that_does_not_hold_or_run_is_a_problem(
    sandbox: type[Sandbox], field: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_sandboxes(session(toy=sandbox), names=["toy"]) is ExitCode.INCOMPLETE
    (finding,) = told(capsys)
    assert what in str(finding[field])


def test_all_that_are_named_must_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = check_sandboxes(session(toy=Toy, down=Down), names=["toy", "down"])
    assert code is ExitCode.INCOMPLETE
    assert len(told(capsys)) == 2


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(UnknownNameError, match="toys"):
        check_sandboxes(session(toy=Toy), names=["toys"])


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    made = session(toy=Toy, down=Down)
    object.__setattr__(made, "as_json", False)
    check_sandboxes(made, names=["toy", "down"])
    said = capsys.readouterr().out
    assert "toy: strong" in said
    assert "got nothing" in said
    assert "nobody answers at build-7" in said


def test_the_local_sandbox_says_what_this_machine_gives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = check_sandboxes(session(), names=["local"])
    (finding,) = told(capsys)
    assert finding["has"]
    assert (code is ExitCode.OK) == (finding["level"] != "none")
    assert finding["escapes"] == []
