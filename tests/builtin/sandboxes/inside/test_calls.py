"""The filter of system calls, run by a small machine of our own: also for others' processors."""

from __future__ import annotations

import errno
import platform

import pytest

from rewardhub.builtin.sandboxes.inside import calls

ALLOW = 0x7FFF0000
KILL = 0x80000000
NEWUSER, NEWNS = 0x10000000, 0x20000


def refused(code: int) -> int:
    return 0x00050000 | code


def verdict(machine: str, name: str, *arguments: int, architecture: int | None = None) -> int:
    """Return what the filter says of a call."""
    number = calls._NUMBERS[machine].get(name, 0) if name != "read" else 9999
    if name.startswith("x32 "):
        number = 0x40000000 | 1
    words = {0: number, 4: architecture or calls._AUDIT[machine]}
    for index in range(6):
        value = arguments[index] if index < len(arguments) else 0
        words[16 + 8 * index] = value & 0xFFFFFFFF
    return interpret(words)


def interpret(words: dict[int, int]) -> int:
    program = calls.call_filter()
    return run(program, words)


def run(program: list[calls.Instruction], words: dict[int, int]) -> int:
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x20:
            accumulator = words[value]
        elif code == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += if_true if holds else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return str(request.param)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", (), ALLOW),
        ("ptrace", (), refused(errno.EPERM)),
        ("io_uring_setup", (), refused(errno.EPERM)),
        ("clone3", (), refused(errno.ENOSYS)),
        ("clone", (17,), ALLOW),
        ("clone", (17 | NEWUSER,), refused(errno.EPERM)),
        ("clone", (17 | NEWNS,), refused(errno.EPERM)),
        ("socket", (1, 1), ALLOW),
        ("socket", (2, 1), refused(errno.EAFNOSUPPORT)),
        ("socket", (16, 3), refused(errno.EAFNOSUPPORT)),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), refused(errno.EPERM)),
        ("kill", (1, 9), ALLOW),
    ],
)
def test_a_call_is_allowed_or_refused(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert verdict(machine, name, *arguments) == expected


def test_every_name_is_refused_in_one_case_at_least(machine: str) -> None:
    always = [name for name in calls._NUMBERS[machine] if verdict(machine, name) != ALLOW]
    rest = set(calls._NUMBERS[machine]) - set(always)
    assert rest == {"clone", "ioctl", *calls._SIGNALS}


def test_calls_of_another_processor_are_deadly(machine: str) -> None:
    assert verdict(machine, "read", architecture=0x40000003) == KILL


def test_calls_with_x32_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert verdict("x86_64", "x32 write") == refused(errno.EPERM)


def test_a_filter_without_sockets_and_signals(machine: str) -> None:
    program = calls.call_filter(sockets=False, signals_only_to=77)
    numbers = calls._NUMBERS[machine]

    def said(name: str, first: int) -> int:
        blank = dict.fromkeys((24, 32, 40, 48, 56), 0)
        return run(program, {0: numbers[name], 4: calls._AUDIT[machine], 16: first, **blank})

    assert said("socket", 1) == refused(errno.EAFNOSUPPORT)
    for name in ("kill", "tkill", "tgkill"):
        assert (said(name, 77), said(name, 0)) == (ALLOW, ALLOW)
        assert (said(name, 1), said(name, 0xFFFFFFFF)) == (refused(errno.EPERM),) * 2
    assert said("pidfd_send_signal", 77) == refused(errno.EPERM)


def test_no_number_stands_twice(machine: str) -> None:
    numbers = list(calls._NUMBERS[machine].values())
    assert len(set(numbers)) == len(numbers)


def test_for_other_processors_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no filter of system calls for riscv64"):
        calls.call_filter()
