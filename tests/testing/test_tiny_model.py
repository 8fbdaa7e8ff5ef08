"""tiny_language_model: a model for tests of what stands on local models."""

import pytest

from rewardhub import ModelFiles, load_tokenizer
from rewardhub.testing import tiny_language_model

pytest.importorskip("torch", reason="local models need torch")
pytest.importorskip("transformers", reason="local models need transformers")


def test_the_same_seed_makes_the_same_model(tmp_path):
    folders = [
        tiny_language_model(tmp_path / str(n), seed=seed) for n, seed in enumerate((1, 1, 2))
    ]
    first, second, other = (ModelFiles.find(folder).digest for folder in folders)
    assert first == second != other


def test_every_text_comes_back_from_its_tokens(tmp_path):
    tokenizer = load_tokenizer(ModelFiles.find(tiny_language_model(tmp_path)))
    text = "2 + 2 = 4,  \n<tag> caf\u00e9 \u6f22\u5b57"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_its_chat_template_marks_who_speaks(tmp_path):
    tokenizer = load_tokenizer(ModelFiles.find(tiny_language_model(tmp_path)))
    chat = [{"role": "user", "content": "Hi"}]
    told = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert told == "<|user|>Hi<|end|><|assistant|>"
