"""The host's end of a stream whose other end breaks in every way that it can."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable

import pytest

from rewardhub.builtin.sandboxes import line as line_module
from rewardhub.builtin.sandboxes.base import Kind, PooledSandbox
from rewardhub.builtin.sandboxes.inside import frames
from rewardhub.builtin.sandboxes.inside.wishes import Setting
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.contracts import Job, Outcome, ProgramEndedError
from rewardhub.errors import InfrastructureError

SETTING = Setting(mode="bare")
READY = frames.pack(frames.READY, b'{"rss_mb": 10}')


def outcome(**changes: object) -> bytes:
    told = {
        "ending": "",
        "status": 0,
        "trouble": "",
        "total": 2,
        "seconds": 0.5,
        "cpu": 0.25,
        "cpu_limit": 1,
        "memory_mb": 3,
        "oom": 0,
        "bounded": True,
        "sizes": [2, 0],
        "files": [["a", 1]],
        "skipped": [],
        "left": [],
        **changes,
    }
    head = json.dumps(told).encode()
    return frames.pack(frames.OUTCOME, len(head).to_bytes(4, "little"), head, b"ok", b"A")


class FakeWarden:
    """Answers by a script: each time that a START arrives, what stands next in it."""

    def __init__(self, *answers: bytes, ready: bytes = READY) -> None:
        self.stream, self._theirs = socket.socketpair()
        self._answers = list(answers)
        self._ready = ready
        self.ended = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def complaint(self) -> str:
        return "first\nit said why\n"

    def end(self) -> None:
        self.ended = True
        self.stream.close()
        self._thread.join(30)

    def _serve(self) -> None:
        # The host may hang up before it has read every answer.
        with contextlib.suppress(ConnectionError), self._theirs as theirs:
            size = int.from_bytes(theirs.recv(4, socket.MSG_WAITALL), "little")
            theirs.recv(size, socket.MSG_WAITALL)
            theirs.sendall(self._ready)
            reader = frames.FrameReader()
            while data := theirs.recv(1 << 16):
                reader.feed(data)
                for kind, _ in reader.frames():
                    if kind == frames.START:
                        if not self._answers:
                            return
                        theirs.sendall(self._answers.pop(0))


def run_on(warden: FakeWarden) -> tuple[Outcome, Line]:
    line = Line(warden, SETTING)
    outcome = line.start(Job(source="pass"), lambda: None).finish()
    line.close()
    return outcome, line


def test_an_outcome_is_told_as_it_is() -> None:
    told, line = run_on(FakeWarden(outcome()))
    assert (told.status, told.exit_code, told.stdout, dict(told.files)) == (
        *("ok", 0, "ok"),
        {"a": b"A"},
    )
    assert line.worn == "it was closed"


@pytest.mark.parametrize(
    ("changes", "status", "limit"),
    [
        ({"status": 3 << 8}, "nonzero", ""),
        ({"status": 9}, "killed", ""),
        ({"status": 9, "ending": "wall"}, "timeout", "wall"),
        ({"status": 9, "ending": "cpu"}, "timeout", "cpu"),
        ({"status": 9, "ending": "output"}, "output_limit", ""),
        ({"status": 9, "ending": "memory"}, "oom", ""),
        ({"status": 9, "ending": "message"}, "killed", ""),
        ({"status": 9, "ending": "asked"}, "killed", ""),
        ({"status": 9, "oom": 1}, "oom", ""),
        ({"status": 1 << 8, "oom": 1}, "oom", ""),
        ({"status": 9, "cpu": 1.5}, "timeout", "cpu"),
        ({"status": 1 << 8, "trouble": "no mount"}, "sandbox_error", ""),
    ],
)
def test_each_end_has_its_status(changes: dict[str, object], status: str, limit: str) -> None:
    told, _ = run_on(FakeWarden(outcome(**changes)))
    assert (told.status, told.limit) == (status, limit)
    assert told.reason


def test_what_a_job_left_is_a_sign_and_wears_the_line() -> None:
    told, line = run_on(FakeWarden(outcome(left=["process 7"])))
    assert told.tampered == ("left behind: process 7",)
    assert line.worn == "the job left process 7"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        frames.pack(frames.ERROR, b"the fork server died"),
        frames.pack(99, b"?"),
        outcome()[:-1],
    ],
)
def test_a_warden_that_breaks_is_a_sandbox_error(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_module, "_GRACE_SECONDS", -29.5)  # of the 30 s of wall time
    told, line = run_on(FakeWarden(answer))
    assert told.status == "sandbox_error"
    assert told.reason
    assert line.worn


def test_a_warden_that_dies_is_a_sandbox_error() -> None:
    told, _ = run_on(FakeWarden())
    assert told.status == "sandbox_error"
    assert "it said why" in told.reason


def test_a_message_to_a_warden_that_died_is_infrastructure() -> None:
    line = Line(FakeWarden(), SETTING)
    program = line.start(Job(source="pass"), lambda: None)
    with pytest.raises(ProgramEndedError):
        program.receive()
    with pytest.raises(InfrastructureError, match="gone or hangs"):
        program.send(b"hello")
    line.close()


@pytest.mark.parametrize(
    "ready", [b"", frames.pack(frames.ERROR, b"no namespaces here"), frames.pack(77, b"what")]
)
def test_a_warden_that_cannot_get_ready_says_why(
    ready: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_module, "_READY_SECONDS", 0.5)
    warden = FakeWarden(ready=ready)
    with pytest.raises(InfrastructureError, match="no namespaces here|said why|what"):
        Line(warden, SETTING)
    assert warden.ended


def test_messages_before_the_end_are_heard_in_order() -> None:
    said = b"".join(frames.pack(frames.MESSAGE, each) for each in (b"one", b"", b"three"))
    line = Line(FakeWarden(said + outcome()), SETTING)
    program = line.start(Job(source="pass"), lambda: None)
    assert [program.receive() for _ in range(3)] == [b"one", b"", b"three"]
    with pytest.raises(ProgramEndedError):
        program.receive()
    line.close()


def test_a_message_that_is_too_long_is_the_mistake_of_who_sends_it() -> None:
    line = Line(FakeWarden(outcome()), SETTING)
    program = line.start(Job(source="pass"), lambda: None)
    with pytest.raises(ValueError, match="at most 1048576 bytes"):
        program.send(bytes((1 << 20) + 1))
    line.close()


class Breaking(PooledSandbox):
    """Makes lines whose wardens answer by a script."""

    def use(self, make: Callable[[], FakeWarden]) -> Breaking:
        vars(self)["make"] = make
        return self

    def _open_line(self, kind: Kind) -> Line:
        del kind
        return Line(vars(self)["make"](), SETTING)


BROKEN = frames.pack(frames.ERROR, b"the fork server died")
WALL = outcome(status=9, ending="wall")


def test_a_program_that_breaks_every_line_beside_good_canaries_did_it() -> None:
    sandbox = Breaking(slots=1).use(lambda: FakeWarden(outcome(), outcome(), BROKEN))
    # A line runs two jobs to prove itself; the third breaks it. The canary comes on a new one.
    made = iter([(outcome(), outcome(), BROKEN)] * 2 + [(outcome(),) * 3])
    sandbox.use(lambda: FakeWarden(*next(made)))
    told = sandbox.fairly(lambda: sandbox.run(Job(source="pass")))
    assert told.status == "killed"
    assert "broke twice under this program alone: the sandbox broke" in told.tampered[0]
    sandbox.close()


def test_a_line_that_breaks_once_is_replaced_and_nobody_is_blamed() -> None:
    made = iter([(outcome(), outcome(), BROKEN), (outcome(),) * 3])
    sandbox = Breaking(slots=1).use(lambda: FakeWarden(*next(made)))
    assert sandbox.fairly(lambda: sandbox.run(Job(source="pass"))).status == "ok"
    sandbox.close()


def test_a_canary_that_breaks_too_is_infrastructure() -> None:
    sandbox = Breaking(slots=1).use(lambda: FakeWarden(outcome(), outcome(), BROKEN))
    with pytest.raises(InfrastructureError, match="canary job beside it: it ended as sandbox_err"):
        sandbox.fairly(lambda: sandbox.run(Job(source="pass")))
    sandbox.close()


def test_a_wall_limit_beside_a_slow_canary_is_infrastructure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox = Breaking(slots=1).use(lambda: FakeWarden(outcome(), outcome(), WALL, WALL, outcome()))
    monkeypatch.setattr("rewardhub.builtin.sandboxes.base._SLOW_SECONDS", 0.0)
    monkeypatch.setattr("rewardhub.builtin.sandboxes.base._SLOW_TIMES", 0.0)
    with pytest.raises(InfrastructureError, match="usually takes"):
        sandbox.fairly(lambda: sandbox.run(Job(source="pass", wall_seconds=1)))
    sandbox.close()


def test_a_line_that_does_not_work_is_not_used() -> None:
    warden = FakeWarden(outcome(status=1 << 8))
    sandbox = Breaking(slots=1).use(lambda: warden)
    with pytest.raises(InfrastructureError, match="a new sandbox does not work: nonzero"):
        sandbox.run(Job(source="pass"))
    assert warden.ended
    with sandbox.alone():
        pass  # the slot was given back
    sandbox.close()
