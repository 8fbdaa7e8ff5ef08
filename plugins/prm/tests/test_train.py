"""A head is trained on a tiny encoder with random weights: what is planted must be learnt."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from rewardhub_prm.labelled import LabelledRow, digest_of_problem
from rewardhub_prm.measure import measure
from rewardhub_prm.measure_values import ask_model, training_of, unseen
from rewardhub_prm.presets import GenericForm
from rewardhub_prm.train import CARD, Trained, Training, examples_of, train
from rewardhub_prm.train_base import load_base
from rewardhub_prm.train_fit import (
    Example,
    HeadAlone,
    Schedule,
    WholeModel,
    fit,
    padded,
)

from rewardhub import ModelFiles, UsageError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "add", "two", "then"]
WORDS += [f"p{number}" for number in range(80)]

FROZEN = Training(
    validate=0.2,
    hold_out=0.3,
    hard=False,
    after_error=False,
    balanced=True,
    frozen=True,
    layers=None,
    separator=None,
    max_tokens=None,
    aggregate="min",
    device="cpu",
    schedule=Schedule(epochs=60, rate=2e-2, decay=0.1, patience=10, batch_tokens=128, seed=0),
)
WHOLE = replace(FROZEN, frozen=False, schedule=replace(FROZEN.schedule, epochs=8, rate=2e-3))


def encoder(folder: Path, **more: Any) -> Path:
    """Save an encoder without a head, with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        initializer_range=0.2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{**names, "sep_token": "[SEP]", **more}
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(encoder(tmp_path_factory.mktemp("base")))


def planted(count: int, *, longest: int = 1, problems: int = 80) -> list[LabelledRow]:
    """Solutions whose first wrong step, and no step before it, says so."""
    dice = random.Random(0)
    rows: list[LabelledRow] = []
    for number in range(count):
        steps = dice.randint(1, longest)
        error = dice.choice([None, dice.randrange(steps)])
        said = ["bad" if at == error else "good" for at in range(steps)]
        rows.append(
            LabelledRow(
                id=f"r{number}",
                problem=f"p{number % problems} add two",
                steps=tuple(f"then {dice.choice(['add', 'two'])} {word}" for word in said),
                labels=tuple(
                    None if error is not None and at > error else float(at != error)
                    for at in range(steps)
                ),
            )
        )
    return rows


def shuffled(rows: Sequence[LabelledRow]) -> list[LabelledRow]:
    """The same solutions with their labels dealt anew: nothing is left to learn."""
    dice = random.Random(1)
    known = [label for row in rows for label in row.labels if label is not None]
    dice.shuffle(known)
    dealt = iter(known)
    return [
        replace(row, labels=tuple(None if label is None else next(dealt) for label in row.labels))
        for row in rows
    ]


def held_out(trained: Trained) -> float:
    """How often the saved model puts a right step of unseen problems above a wrong one."""
    rows = [row for row in trained.parts["held out"] if row.has_verdict]
    values = ask_model(rows, str(trained.folder), dtype="float32")
    auroc = measure(values, resamples=0).pooled.estimates["auroc"].value
    assert auroc is not None
    return auroc


@pytest.mark.parametrize("plan", [FROZEN, WHOLE], ids=["frozen", "whole"])
def test_learns_what_is_planted(plan: Training, base: str, tmp_path: Path) -> None:
    trained = train(planted(200), base, tmp_path / "out", plan)
    assert held_out(trained) > 0.95
    assert trained.epochs[trained.kept - 1].validation_loss == min(
        epoch.validation_loss or 0 for epoch in trained.epochs
    )


@pytest.mark.parametrize("plan", [FROZEN, WHOLE], ids=["frozen", "whole"])
def test_learns_nothing_from_labels_that_were_dealt_anew(
    plan: Training, base: str, tmp_path: Path
) -> None:
    rows = shuffled(planted(200))
    trained = train(rows, base, tmp_path / "out", replace(plan, after_error=True))
    assert abs(held_out(trained) - 0.5) < 0.25


@pytest.mark.parametrize("plan", [FROZEN, WHOLE], ids=["frozen", "whole"])
def test_equal_seeds_give_equal_weights(plan: Training, base: str, tmp_path: Path) -> None:
    short = replace(plan, schedule=replace(plan.schedule, epochs=2))
    digests = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        torch.rand(3)  # what was drawn before must not matter
        seeded = replace(short, schedule=replace(short.schedule, seed=seed))
        train(planted(40), base, tmp_path / name, seeded)
        digests.append((tmp_path / name / "model.safetensors").read_bytes())
    assert digests[0] == digests[1] != digests[2]


def test_leaves_the_random_numbers_of_others_alone(base: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    train(planted(40), base, tmp_path / "out", replace(FROZEN, validate=0.0))
    assert torch.equal(torch.rand(2), expected)


def test_saves_a_model_for_the_generic_preset(base: str, tmp_path: Path) -> None:
    plan = replace(FROZEN, aggregate="product")
    train(planted(40), base, tmp_path / "out", plan)
    form = GenericForm.read(tmp_path / "out")
    assert (form.opening, form.separator, form.after_problem) == ("[CLS]", "[SEP]", "[SEP]")
    assert (form.positive, form.aggregate) == (1, "product")


def test_the_card_says_what_was_trained_on(base: str, tmp_path: Path) -> None:
    trained = train(planted(80), base, tmp_path / "out", FROZEN, data=[{"name": "rows.jsonl"}])
    card = json.loads((tmp_path / "out" / CARD).read_text())
    assert card["data"] == [{"name": "rows.jsonl"}]
    assert card["plan"]["schedule"]["seed"] == 0
    assert {name: part["rows"] for name, part in card["parts"].items()} == {
        name: len(rows) for name, rows in trained.parts.items()
    }
    assert sum(part["rows"] for part in card["parts"].values()) == 80
    assert card["versions"]["torch"] == torch.__version__.partition("+")[0] or torch.__version__
    left = unseen(planted(80), training_of(str(tmp_path / "out")))
    assert {row.id for row in left} == {row.id for row in trained.parts["held out"]}


def test_no_problem_is_in_two_parts(base: str, tmp_path: Path) -> None:
    trained = train(planted(200), base, tmp_path / "out", FROZEN)
    problems = [{digest_of_problem(row.problem) for row in rows} for rows in trained.parts.values()]
    assert all(problems)
    assert not set.intersection(*problems[:2]) | set.intersection(*problems[1:])


def test_a_model_without_a_validation_part_keeps_its_last_epoch(base: str, tmp_path: Path) -> None:
    plan = replace(FROZEN, validate=0.0, schedule=replace(FROZEN.schedule, epochs=3))
    trained = train(planted(40), base, tmp_path / "out", plan)
    assert (len(trained.epochs), trained.kept) == (3, 3)


def test_stops_when_the_validation_part_gets_no_better(base: str, tmp_path: Path) -> None:
    schedule = replace(FROZEN.schedule, epochs=300, patience=3)
    trained = train(
        shuffled(planted(80)), base, tmp_path / "out", replace(FROZEN, schedule=schedule)
    )
    assert len(trained.epochs) == trained.kept + 3 < 300


def test_a_frozen_head_does_to_its_input_what_was_learnt(base: str) -> None:
    loaded = load_base(ModelFiles.find(base), device="cpu")
    examples = examples_of(planted(20, longest=4), loaded, hard=False, tell=print)
    learner = HeadAlone(loaded.model, loaded.head, "cpu")
    learner.read(examples[:15], examples[15:], batch_tokens=64, tell=print)
    with torch.no_grad():
        torch.nn.init.normal_(learner.module().weight)
        expected = learner.logits(examples)
        learner.finish()
        found = WholeModel(loaded.model.eval(), "cpu").logits(examples)
    assert torch.allclose(found, expected, atol=1e-4)


def test_training_the_head_alone_leaves_the_body_as_it_was(base: str, tmp_path: Path) -> None:
    trained = train(planted(80), base, tmp_path / "out", FROZEN)
    body = transformers.AutoModel.from_pretrained(base).state_dict()
    saved = transformers.AutoModel.from_pretrained(trained.folder).state_dict()
    assert all(torch.equal(body[name], saved[name]) for name in body if "pooler" not in name)


def test_layers_can_be_left_out(base: str, tmp_path: Path) -> None:
    train(planted(40), base, tmp_path / "out", replace(FROZEN, layers=1))
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["num_hidden_layers"] == 1
    with pytest.raises(UsageError, match="has 2 layers: `--layers 3`"):
        train(planted(40), base, tmp_path / "other", replace(FROZEN, layers=3))


@pytest.mark.parametrize("limit", [None, 24], ids=["whole", "windows"])
def test_each_label_stands_at_the_separator_behind_its_step(limit: int | None, base: str) -> None:
    rows = planted(20, longest=9)
    loaded = load_base(ModelFiles.find(base), device="cpu", max_tokens=limit)
    examples = examples_of(rows, loaded, hard=False, tell=print)
    found = [
        (WORDS[example.ids[position - 1]], WORDS[example.ids[position]], label)
        for example in examples
        for position, label in zip(example.positions, example.labels, strict=True)
    ]
    expected = [
        (step.split()[-1], "[SEP]", label)
        for row in rows
        for step, label in zip(row.steps, row.labels, strict=True)
        if label is not None
    ]
    assert found == expected
    assert (len(examples) > len(rows)) is (limit is not None)


def test_a_row_with_a_step_that_does_not_fit_is_left_out(base: str, tmp_path: Path) -> None:
    rows = planted(80)
    rows[0] = replace(rows[0], steps=("good " * 70, *rows[0].steps[1:]))
    told: list[str] = []
    plan = replace(FROZEN, validate=0.0, hold_out=0.0)
    train(rows, base, tmp_path / "out", plan, tell=told.append)
    assert told[0] == "1 of 80 rows are left out: one step alone is over the limit"


@pytest.mark.parametrize(("hard", "expected"), [(False, (0.7, 0.4)), (True, (1.0, 0.0))])
def test_a_soft_label_stays_as_it_is_and_a_hard_one_is_rounded(
    hard: bool, expected: tuple[float, ...], base: str
) -> None:
    row = LabelledRow(id="x", problem="p1", steps=("good", "bad", "add"), labels=(0.7, 0.4, None))
    loaded = load_base(ModelFiles.find(base), device="cpu")
    (example,) = examples_of([row], loaded, hard=hard, tell=print)
    assert example.labels == expected


def test_a_language_model_needs_a_separator(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no separator token .* `--separator TEXT`"):
        train(planted(40), str(folders["thinkprm"]), tmp_path / "out", FROZEN)


def test_a_language_model_can_be_the_base(folders: dict[str, Path], tmp_path: Path) -> None:
    schedule = replace(FROZEN.schedule, epochs=2)
    plan = replace(FROZEN, separator="\n", schedule=schedule)
    trained = train(planted(40), str(folders["thinkprm"]), tmp_path / "out", plan)
    form = GenericForm.read(trained.folder)
    assert (form.separator, form.after_problem) == ("\n", "\n")
    (valued,) = ask_model(planted(1), str(trained.folder), dtype="float32")
    assert len(valued.values or ()) == len(valued.row.steps)


def test_refuses_rows_without_labels(base: str, tmp_path: Path) -> None:
    rows = [replace(row, labels=(None,) * len(row.steps)) for row in planted(40)]
    with pytest.raises(UsageError, match="No step of the rows is labelled"):
        train(rows, base, tmp_path / "out", FROZEN)


@pytest.mark.parametrize(("label", "missing"), [(1.0, "wrong"), (0.0, "right")])
def test_refuses_rows_with_one_kind_of_label(
    label: float, missing: str, base: str, tmp_path: Path
) -> None:
    rows = [replace(row, labels=(label,) * len(row.steps)) for row in planted(40)]
    with pytest.raises(UsageError, match=f"is labelled {missing}: a head needs both"):
        train(rows, base, tmp_path / "out", FROZEN)


def test_refuses_a_part_without_rows(base: str, tmp_path: Path) -> None:
    rows = planted(40, problems=1)
    with pytest.raises(UsageError, match="The part `validation` is empty|labelled"):
        train(rows, base, tmp_path / "out", FROZEN)


@pytest.mark.parametrize(("validate", "hold_out"), [(1.0, 0.0), (-0.1, 0.0), (0.5, 0.5)])
def test_refuses_shares_that_leave_nothing(validate: float, hold_out: float) -> None:
    with pytest.raises(UsageError, match="`--validate` and `--hold-out`"):
        replace(FROZEN, validate=validate, hold_out=hold_out)


def test_refuses_a_folder_that_holds_something(base: str, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(UsageError, match="holds something already"):
        train(planted(40), base, tmp_path, FROZEN)


def test_refuses_a_base_that_is_no_token_classifier(base: str, tmp_path: Path) -> None:
    folder = encoder(tmp_path / "base")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "vit"}))
    with pytest.raises(UsageError, match=r"token classifier|cannot be loaded"):
        train(planted(40), str(folder), tmp_path / "out", FROZEN)


def test_refuses_a_base_whose_body_lacks_weights(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = encoder(tmp_path / "base")
    path = folder / "model.safetensors"
    tensors = {name: each for name, each in load_file(path).items() if "layer.1" not in name}
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(UsageError, match="lack weights of its body"):
        train(planted(40), str(folder), tmp_path / "out", FROZEN)


def test_a_loss_that_comes_apart_is_named(base: str, tmp_path: Path) -> None:
    wild = replace(FROZEN, schedule=replace(FROZEN.schedule, rate=1e38))
    with pytest.raises(UsageError, match="the training has come apart"):
        train(planted(40), base, tmp_path / "out", wild)


class Fixed:
    """A learner that says what it was told, and counts."""

    def __init__(self, logits: Sequence[tuple[float, float]]) -> None:
        self.layer = torch.nn.Linear(1, 2)
        torch.nn.init.zeros_(self.layer.weight)
        self.layer.bias = torch.nn.Parameter(torch.zeros(2))
        self._logits = torch.tensor(logits)

    def module(self) -> Any:
        return self.layer

    def logits(self, examples: Sequence[Example]) -> Any:
        return self._logits + self.layer.bias


def test_the_loss_weighs_classes_and_soft_labels() -> None:
    example = Example((1, 2, 3), (0, 1, 2), (1.0, 0.0, 0.25))
    schedule = replace(FROZEN.schedule, epochs=1, rate=0.0)
    logits = [(0.3, 1.1), (-0.2, 0.4), (0.7, 0.1)]
    epochs, _ = fit(Fixed(logits), [example], [example], schedule, class_weights=(3.0, 0.5))
    total = weight = 0.0
    for (wrong, right), label in zip(logits, example.labels, strict=True):
        top = torch.tensor([wrong, right]).softmax(0).log()
        total -= float(0.5 * label * top[1] + 3 * (1 - label) * top[0])
        weight += 0.5 * label + 3 * (1 - label)
    assert epochs[0].validation_loss == pytest.approx(total / weight, rel=1e-5)


def test_a_batch_is_padded_on_the_right_and_masked() -> None:
    batch = padded([Example((5, 6), (), ()), Example((7, 8, 9), (), ())], "cpu")
    assert batch["input_ids"].tolist() == [[5, 6, 0], [7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
