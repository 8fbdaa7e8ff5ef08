"""Models and tokenizers, loaded from files that are here."""

import json
import shutil

import pytest

from rewardhub import ModelFiles, UsageError, dtype_of, load_model, load_tokenizer


def load(folder, auto="AutoModelForCausalLM", **more):
    return load_model(
        auto, ModelFiles.find(folder), device="cpu", dtype=dtype_of("auto", "cpu"), **more
    )


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "copy")


def change(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def test_a_model_is_loaded_for_evaluation(tiny):
    assert not load(tiny).training


def test_a_model_of_another_kind_is_refused(copy):
    change(copy, architectures=["LlamaForTokenClassification"])
    with pytest.raises(UsageError, match="is a LlamaForTokenClassification"):
        load(copy)


def test_a_kind_that_is_known_to_fit_is_taken(copy):
    change(copy, architectures=["LlamaForRewards"])
    assert load(copy, kinds=["LlamaForRewards"]) is not None


def test_weights_that_are_missing_are_never_made_up(copy):
    change(copy, architectures=["LlamaForTokenClassification"])
    with pytest.raises(UsageError, match="lacks the weights score"):
        load(copy, "AutoModelForTokenClassification")


def test_weights_of_another_size_are_named(copy):
    change(copy, intermediate_size=128)
    with pytest.raises(UsageError, match="cannot be loaded as a model"):
        load(copy)


def test_weights_that_are_damaged_are_named(copy):
    (copy / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(UsageError, match="cannot be loaded as a model"):
        load(copy)


def test_a_model_type_that_nobody_knows_is_named(copy):
    change(copy, model_type="llamma")
    with pytest.raises(UsageError, match="cannot be loaded as a model"):
        load(copy)


def test_a_tokenizer_that_is_damaged_is_named(copy):
    (copy / "tokenizer.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be loaded as a tokenizer"):
        load_tokenizer(ModelFiles.find(copy))
