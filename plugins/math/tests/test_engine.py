"""The pack behind the real engine: what leaves the process, and whose fault a limit is."""

from collections.abc import Iterator

import pytest
import rewardhub_math

from rewardhub import Engine
from rewardhub.testing import make_trajectory, registry_of

SLOW = r"\sum_{k=1}^{\infty}\frac{1}{k^{3}+\sin k}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    entry = {"use": "math/equivalent", "limits": {"cpu_seconds": 4}}
    spec = {
        "rewardhub": 1,
        "name": "math/test",
        "version": 1,
        "range": [0, 1],
        "stages": [{"name": "outcome", "graders": [entry]}],
    }
    with Engine(spec, registry=registry_of(rewardhub_math), workers=1) as engine:
        yield engine


def test_compares_in_a_worker_what_only_algebra_can_tell(engine: Engine) -> None:
    assert engine.score(make_trajectory(r"\boxed{\sqrt{8}}", reference=r"2\sqrt2")).value == 1
    assert engine.score(make_trajectory(r"\boxed{\sqrt{8}}", reference=r"3\sqrt2")).value == 0


@pytest.mark.proof
def test_gives_nothing_for_an_answer_that_cannot_be_processed_in_time(engine: Engine) -> None:
    reward = engine.score(make_trajectory(rf"\boxed{{{SLOW}}}", reference="x+1"))
    assert reward.value == 0
    score = reward.parts[0].score
    assert score is not None
    assert "could not be processed" in score.reason


@pytest.mark.proof
@pytest.mark.parametrize("text", [r"\boxed{5}", ""])
def test_abstains_if_the_reference_cannot_be_processed_in_time(engine: Engine, text: str) -> None:
    reward = engine.score(make_trajectory(text, reference=SLOW))
    assert (reward.value, reward.fault) == (None, "task")
