from pathlib import Path

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from rewardhub_prm.encoding import TextEncoder
from rewardhub_prm.presets import Preset, preset_of
from rewardhub_prm.windows import TooLong, Window, windows

from rewardhub import ModelFiles

NAMES = ["qwen", "skywork", "rlhflow", "math-shepherd", "generic"]


@pytest.fixture(scope="module")
def asked(folders: dict[str, Path]) -> dict[str, tuple[Preset, TextEncoder]]:
    found = {}
    for name in NAMES:
        preset = preset_of(name, ModelFiles.find(folders[name]))  # type: ignore[arg-type]
        tokenizer = transformers.AutoTokenizer.from_pretrained(folders[name])
        found[name] = (preset, TextEncoder(tokenizer, preset.separators))
    return found


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.lists(st.integers(1, 30), min_size=1, max_size=25),
    st.integers(90, 300),
)
def test_windows_fit_and_hold_each_step_once(
    asked: dict[str, tuple[Preset, TextEncoder]], name: str, sizes: list[int], limit: int
) -> None:
    preset, text = asked[name]
    steps = [f"Step {i}: " + "so it is " * size for i, size in enumerate(sizes)]
    steps = [step.strip() for step in steps]
    found = windows(preset, text, "What is 1 + 1?", steps, limit=limit, cut=True)
    if isinstance(found, TooLong):
        assert found.step is not None
        alone = preset.encode(text, "What is 1 + 1?", [steps[found.step]])
        assert len(alone) == found.tokens > limit
        return
    assert all(len(window.row) <= limit for window in found)
    assert [step for window in found for step in window.steps] == list(range(len(steps)))
    assert all(len(window.row.positions) == len(window.steps) for window in found)


@pytest.mark.parametrize("name", NAMES)
def test_each_window_after_the_first_goes_back_over_steps(
    asked: dict[str, tuple[Preset, TextEncoder]], name: str
) -> None:
    preset, text = asked[name]
    steps = ["Then it is two."] * 90
    found = windows(preset, text, "What?", steps, limit=250, cut=True)
    assert isinstance(found, list)
    assert len(found) > 2
    for window in found[1:-1]:
        shown = text.tokenizer.decode(window.row.ids).count("Then")
        assert shown > len(window.steps) + 1


def test_a_solution_that_fits_is_one_window(
    asked: dict[str, tuple[Preset, TextEncoder]],
) -> None:
    preset, text = asked["qwen"]
    found = windows(preset, text, "What?", ["a", "b"], limit=500, cut=False)
    assert found == [Window(preset.encode(text, "What?", ["a", "b"]), range(2))]


def test_a_solution_that_does_not_fit_is_too_long_as_a_whole(
    asked: dict[str, tuple[Preset, TextEncoder]],
) -> None:
    preset, text = asked["qwen"]
    steps = ["so it is"] * 99
    whole = len(preset.encode(text, "What?", steps))
    assert windows(preset, text, "What?", steps, limit=150, cut=False) == TooLong(whole)
