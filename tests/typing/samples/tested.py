"""A pack's own tests, with the kit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from plain import Brevity

from rewardhub import GraderCard, Reader, ReaderCard, Trajectory
from rewardhub.testing import (
    ReaderContract,
    check_cases,
    fake_judge,
    fake_sandbox,
    grade,
    make_task,
    make_trajectory,
    registry_of,
)

CARD = GraderCard(name="style/brevity", grader=Brevity)


def test_cases() -> None:
    """Hold the graders to their cases."""
    check_cases(Path(__file__).with_name("cases.jsonl"))
    check_cases("cases.jsonl", registry_of(CARD), waive={("style/brevity", "exploit"): "none"})


def test_grades() -> None:
    """Grade with a card, a grader, a class."""
    trajectory = make_trajectory(["a", {"text": "b"}], task=make_task("Q", reference="A"))
    assert grade(CARD, trajectory, options={"limit": 3}).value == 1.0
    assert grade(Brevity(limit=3), trajectory).value == 1.0
    assert grade(Brevity, trajectory, judge=fake_judge(["yes", {"score": 1}])).status == "graded"
    assert fake_sandbox("out", {"status": "timeout"}).jobs == []


def test_fixture(make_trajectory: Callable[..., Trajectory]) -> None:
    """Use a fixture of the plugin."""
    assert make_trajectory("a").final_text == "a"


def read_card(reader: type[Reader]) -> ReaderCard:
    """Return a card."""
    return ReaderCard(name="x", reader=reader, recognises=lambda head: head.startswith(b"x"))


class TestReader(ReaderContract):
    """The kit for readers."""

    sample = b""
    broken_rows = (b"{",)

    def rows(self) -> list[Any]:
        """Return nothing."""
        return []
