"""A tiny language model with random weights, for tests of what stands on local models."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from rewardhub.builtin.models.loading import quiet

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ["<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]


def tiny_language_model(folder: Path, *, seed: int = 0, context_length: int = 512) -> Path:
    """Save a Llama of two layers with random weights and a byte tokenizer; return the folder.

    Every text can be told in its tokens, one for each byte and one for each marker of the chat
    template. It needs torch and transformers, and takes a blink.

    Args:
        folder: made if it is not there.
        seed: of the weights.
        context_length: the longest text that it reads, in tokens.
    """
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    tokenizer = _byte_tokenizer()
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context_length,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.5,  # large enough that the weights, not rounding, pick the tokens
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        with quiet():
            transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _byte_tokenizer() -> Any:
    tokenizers = importlib.import_module("tokenizers")
    transformers = importlib.import_module("transformers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=_SPECIAL[0],
        pad_token=_SPECIAL[1],
        additional_special_tokens=_SPECIAL[2:],
        chat_template=CHAT_TEMPLATE,
    )
