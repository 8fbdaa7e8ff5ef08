"""prm/steps: from trajectories to Scores."""

import asyncio
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rewardhub_prm
import torch
from rewardhub_prm import StepRewards
from rewardhub_prm.steps import aggregated

from rewardhub import GraderCard, Score, Trajectory, UsageError, score_all
from rewardhub.testing import grade, make_trajectory

SOLUTION = (
    "One and one are two.\n\n  Step 2: so it is two.\n\n```\n1 + 1\n\n2\n```\n\nThe answer is 2."
)


@pytest.fixture(scope="module")
def card() -> GraderCard:
    return next(c for c in rewardhub_prm.rewardhub_graders() if c.name == "prm/steps")


@pytest.fixture
def scored(card: GraderCard, folders: dict[str, Path]) -> Callable[..., Score]:
    def run(reply: Any = SOLUTION, *, preset: str = "qwen", **options: Any) -> Score:
        trajectory = (
            reply
            if isinstance(reply, Trajectory)
            else make_trajectory(reply, prompt="What is 1 + 1?")
        )
        given = {"model": str(folders[preset]), "device": "cpu", **options}
        return grade(card, trajectory, options=given)

    return run


@pytest.fixture
def open_grader(folders: dict[str, Path]) -> Iterator[Callable[..., StepRewards]]:
    made: list[StepRewards] = []

    def make(preset: str = "qwen", **options: Any) -> StepRewards:
        grader = StepRewards(model=str(folders[preset]), device="cpu", **options)
        grader.open()
        made.append(grader)
        return grader

    yield make
    for grader in made:
        grader.close()


def values(score: Score) -> list[float | None]:
    return [each.value for each in score.step_values]


def test_gives_each_step_its_span(scored: Callable[..., Score]) -> None:
    found = [SOLUTION[each.start : each.end] for each in scored().step_values]
    assert found == [
        "One and one are two.",
        "Step 2: so it is two.",
        "```\n1 + 1\n\n2\n```",
        "The answer is 2.",
    ]


def test_rounds_each_value_to_four_decimals(scored: Callable[..., Score]) -> None:
    for value in values(scored()):
        assert value is not None
        assert value == round(value, 4)


@pytest.mark.parametrize(
    ("preset", "rule"),
    [
        ("qwen", math.prod),
        ("generic", min),
        ("skywork", lambda found: found[-1]),
        ("rlhflow", lambda found: found[-1]),
        ("math-shepherd", lambda found: found[-1]),
    ],
)
def test_aggregates_by_the_rule_of_the_preset(
    scored: Callable[..., Score], preset: str, rule: Any
) -> None:
    score = scored(preset=preset)
    assert score.value == pytest.approx(rule(values(score)), abs=1e-12)


def test_aggregates_by_the_rule_that_is_asked_for(scored: Callable[..., Score]) -> None:
    score = scored(aggregate="mean")
    found = [value for value in values(score) if value is not None]
    assert score.value == pytest.approx(sum(found) / len(found))


@pytest.mark.parametrize(
    ("rule", "value"), [("last", 0.5), ("min", 0.2), ("product", 0.04), ("mean", 1.1 / 3)]
)
def test_aggregates(rule: Any, value: float) -> None:
    assert aggregated([0.4, 0.2, 0.5], rule) == pytest.approx(value)


def test_a_step_of_skywork_is_a_line(scored: Callable[..., Score]) -> None:
    score = scored("One.\n Two. \n\nThree.\n", preset="skywork")
    spans = [(each.start, each.end) for each in score.step_values]
    assert spans == [(0, 4), (6, 10), (13, 19)]


def test_lines_may_be_asked_of_any_preset(scored: Callable[..., Score]) -> None:
    assert len(scored("One.\nTwo.", split="lines").step_values) == 2
    assert len(scored("One.\nTwo.").step_values) == 1


def test_a_turn_is_a_step_where_there_are_several(scored: Callable[..., Score]) -> None:
    score = scored(make_trajectory(["One.\n\nTwo.", "", "Three."], prompt="What?"))
    assert [(each.step, each.start) for each in score.step_values] == [(0, None), (2, None)]


@pytest.mark.parametrize("empty", ["", " \n\n\t"])
def test_an_empty_answer_is_a_graded_zero(scored: Callable[..., Score], empty: str) -> None:
    score = scored(empty)
    assert (score.status, score.value) == ("graded", 0.0)
    assert "empty" in score.reason


def test_a_task_without_messages_abstains(scored: Callable[..., Score]) -> None:
    assert scored(make_trajectory("One.")).status == "abstained"


def test_a_task_of_several_messages_is_told_whole(open_grader: Callable[..., StepRewards]) -> None:
    chat = [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Yes."}]
    long = make_trajectory("So it is.", messages=chat, prompt="Sure?")
    short = make_trajectory("So it is.", prompt="Sure?")
    first, second = asyncio.run(open_grader().grade_batch([long, short]))
    assert values(first) != values(second)


def test_batches_change_nothing(open_grader: Callable[..., StepRewards]) -> None:
    replies = [SOLUTION, "No.", "", "a " * 80, "Step 1: a\nStep 2: b", SOLUTION]
    rows = [make_trajectory(reply, prompt="What is 1 + 1?") for reply in replies]
    together = asyncio.run(open_grader().grade_batch(rows))
    small = open_grader(batch_tokens=70)
    alone = [asyncio.run(small.grade_batch([row]))[0] for row in reversed(rows)][::-1]
    assert [(s.value, s.step_values) for s in together] == [(s.value, s.step_values) for s in alone]


def test_a_long_solution_is_read_in_windows(scored: Callable[..., Score]) -> None:
    score = scored("\n\n".join(f"Step {i}: so it is {i}." for i in range(60)), max_tokens=200)
    assert len(score.step_values) == 60
    assert len(score.evidence["windows"]) > 2
    assert [step for window in score.evidence["windows"] for step in window] == list(range(60))


def test_the_first_window_gives_the_values_of_a_short_solution(
    scored: Callable[..., Score],
) -> None:
    text = "\n\n".join(f"Step {i}: so it is {i}." for i in range(60))
    score = scored(text, max_tokens=200)
    first = len(score.evidence["windows"][0])
    whole = scored("\n\n".join(text.split("\n\n")[:first]))
    assert values(score)[:first] == values(whole)


def test_a_long_solution_is_a_graded_zero_where_windows_are_not_wanted(
    scored: Callable[..., Score],
) -> None:
    score = scored("So. " * 300, too_long="zero", max_tokens=200)
    assert (score.status, score.value) == ("graded", 0.0)
    assert score.evidence["tokens"] > 200
    assert str(score.evidence["tokens"]) in score.reason


def test_a_step_that_never_fits_is_a_graded_zero(scored: Callable[..., Score]) -> None:
    score = scored(f"Short.\n\n{'long ' * 300}\n\nShort.", max_tokens=200)
    assert (score.status, score.value) == ("graded", 0.0)
    assert "step 1 alone" in score.reason


def test_a_task_that_never_fits_abstains(scored: Callable[..., Score]) -> None:
    score = scored(make_trajectory("Short.", prompt="long " * 300), max_tokens=200)
    assert (score.status, score.fault) == ("abstained", "task")


def test_numbers_that_are_none_are_the_graders_fault(
    scored: Callable[..., Score], folders: dict[str, Path], tmp_path: Path
) -> None:
    broken = spoil(folders["math-shepherd"], tmp_path, "lm_head.weight", math.nan)
    score = scored(model=str(broken), preset="math-shepherd")
    assert (score.status, score.fault) == ("failed", "grader")
    assert "finite" in score.reason


def test_two_graders_share_one_model(
    open_grader: Callable[..., StepRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewardhub_prm import opening

    loaded: list[str] = []
    make = opening.TokenModel
    monkeypatch.setattr(opening, "TokenModel", lambda *a: loaded.append("") or make(*a))
    open_grader(aggregate="min")
    open_grader(aggregate="last", max_tokens=300)
    assert len(loaded) == 1


def test_a_batch_that_is_too_large_for_the_memory_is_halved(
    open_grader: Callable[..., StepRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewardhub_prm.network import TokenModel

    rows = [make_trajectory(SOLUTION, prompt=f"What is 1 + {i}?") for i in range(5)]
    expected = asyncio.run(open_grader().grade_batch(rows))
    sizes = memory_for(2, monkeypatch, TokenModel)
    found = asyncio.run(open_grader().grade_batch(rows))
    assert [s.step_values for s in found] == [s.step_values for s in expected]
    assert max(size for size in sizes if size <= 2) == 2
    assert max(sizes) == 5


def test_a_row_that_is_too_large_for_the_memory_is_infrastructure(
    scored: Callable[..., Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewardhub_prm.network import TokenModel

    memory_for(0, monkeypatch, TokenModel)
    score = scored()
    assert (score.status, score.fault) == ("failed", "infrastructure")
    assert "memory" in score.reason


def test_other_errors_of_the_model_are_the_graders_fault(
    scored: Callable[..., Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewardhub_prm.network import TokenModel

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(TokenModel, "_forward", broken)
    assert scored().fault == "grader"


def test_the_preset_follows_from_the_model(card: GraderCard, folders: dict[str, Path]) -> None:
    for name in ("qwen", "skywork", "rlhflow", "math-shepherd", "thinkprm", "generic"):
        identity = StepRewards(model=str(folders[name]), device="cpu").identity
        assert identity["preset"] == name


def test_identity_follows_the_weights(folders: dict[str, Path], tmp_path: Path) -> None:
    before = StepRewards(model=str(folders["qwen"]), device="cpu").identity
    changed = spoil(folders["qwen"], tmp_path, "score.2.bias", 0.5)
    after = StepRewards(model=str(changed), device="cpu").identity
    assert before["model"] != after["model"]
    assert {**before, "model": ""} == {**after, "model": ""}


def test_identity_follows_the_numbers(folders: dict[str, Path]) -> None:
    narrow = StepRewards(model=str(folders["qwen"]), device="cpu", dtype="bfloat16")
    assert narrow.identity["dtype"] == "torch.bfloat16"


def test_narrow_numbers_give_nearly_the_same_values(scored: Callable[..., Score]) -> None:
    wide, narrow = scored(), scored(dtype="bfloat16")
    pairs = zip(values(wide), values(narrow), strict=True)
    assert max(abs((a or 0) - (b or 0)) for a, b in pairs) < 0.2
    assert values(wide) != values(narrow)


def test_a_missing_folder_is_a_named_error() -> None:
    with pytest.raises(UsageError, match="no model folder"):
        StepRewards(model="no/such/model/here", preset="qwen").open()


def test_a_sequence_head_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="LlamaForSequenceClassification"):
        StepRewards(model=str(folders["reward"]), preset="rlhflow", device="cpu").open()


def test_a_model_without_the_head_is_a_named_error(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    model = without(folders["skywork"], "v_head", tmp_path)
    with pytest.raises(UsageError, match=r"no weights `v_head"):
        StepRewards(model=str(model), preset="skywork", device="cpu").open()


def test_a_tokenizer_without_the_step_token_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="<extra_0>"):
        StepRewards(model=str(folders["thinkprm"]), preset="qwen", device="cpu").open()


def test_a_tokenizer_without_a_begin_token_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="bos_token"):
        StepRewards(model=str(folders["thinkprm"]), preset="skywork", device="cpu").open()


def test_a_model_that_says_no_preset_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="Say `preset:`"):
        StepRewards(model=str(folders["reward"]), device="cpu").open()


def test_a_generic_head_without_its_file_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"rewardhub_prm\.json"):
        StepRewards(model=str(folders["qwen"]), preset="generic", device="cpu").open()


@pytest.mark.parametrize(
    "text", ["{", '{"separator": ""}', '{"separator": "[SEP]", "more": 1}', "[]"]
)
def test_a_wrong_file_of_a_generic_head_is_a_named_error(
    folders: dict[str, Path], tmp_path: Path, text: str
) -> None:
    folder = shutil.copytree(folders["generic"], tmp_path / "copy")
    (folder / "rewardhub_prm.json").write_text(text)
    with pytest.raises(UsageError, match=r"rewardhub_prm\.json cannot be used"):
        StepRewards(model=str(folder), device="cpu").open()


def test_a_class_that_the_head_lacks_is_a_named_error(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(folders["generic"], tmp_path / "copy")
    (folder / "rewardhub_prm.json").write_text('{"separator": "[SEP]", "positive": 2}')
    with pytest.raises(UsageError, match="has 2 classes"):
        StepRewards(model=str(folder), device="cpu").open()


def test_more_tokens_than_the_model_reads_are_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="the model reads 512"):
        StepRewards(model=str(folders["qwen"]), device="cpu", max_tokens=513).open()


def test_a_device_that_is_not_there_is_a_named_error(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="cuda:77|no GPU"):
        StepRewards(model=str(folders["qwen"]), device="cuda:77").open()


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="preset"):
        StepRewards(model="x", preset="qwen3")  # type: ignore[arg-type]


def test_a_grader_that_is_not_open_says_so(folders: dict[str, Path]) -> None:
    grader = StepRewards(model=str(folders["qwen"]))
    with pytest.raises(UsageError, match="not open"):
        asyncio.run(grader.grade_batch([make_trajectory("a", prompt="b")]))


def test_the_spec_of_the_pack_pays_for_the_lowest_step(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folders["generic"], tmp_path / "prm-model")
    monkeypatch.chdir(tmp_path)
    trajectory = make_trajectory(SOLUTION, prompt="What is 1 + 1?", metadata={"success": True})
    (reward,) = score_all([trajectory], "prm/process")
    assert reward.value is not None
    (part, _) = reward.parts
    lowest = min(value for value in values(part.score) if value is not None)
    assert reward.value == pytest.approx(0.7 + 0.3 * lowest)
    assert sum(reward.step_rewards) == pytest.approx(reward.value)


def spoil(folder: Path, into: Path, name: str, value: float) -> Path:
    """A copy of a model with one tensor filled with a number."""
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(folder, into / folder.name)
    tensors = load_file(copy / "model.safetensors")
    save_file(
        {**tensors, name: torch.full_like(tensors[name], value)},
        copy / "model.safetensors",
        metadata={"format": "pt"},
    )
    return copy


def without(folder: Path, prefix: str, into: Path) -> Path:
    """A copy of a model that lacks some tensors."""
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(folder, into / folder.name)
    tensors = load_file(copy / "model.safetensors")
    kept = {name: each for name, each in tensors.items() if not name.startswith(prefix)}
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


def memory_for(rows: int, monkeypatch: pytest.MonkeyPatch, model: type[Any]) -> list[int]:
    """Let batches of more rows run out of memory; return the sizes that were tried."""
    forward = model._forward
    sizes: list[int] = []

    def tight(self: Any, batch: Any, **how: Any) -> Any:
        sizes.append(len(batch))
        if len(batch) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, batch, **how)

    monkeypatch.setattr(model, "_forward", tight)
    return sizes
