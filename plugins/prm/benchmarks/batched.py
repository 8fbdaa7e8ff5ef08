# ruff: noqa: S311, T201  # a script: its output is its documentation
"""Batched scoring of steps against one row at a time, on this machine.

    python plugins/prm/benchmarks/batched.py [--rows 64] [--width 256] [--device cpu]

``--model FOLDER`` measures a model of your own.

Without a model it makes one with random weights (4 layers, 256 wide): what is measured is the
batching, and random weights are as heavy as trained ones. torch has one thread, and on a CPU the
clock counts processor time, so that neighbours on the machine do not count. It prints one JSON
line for each length of step.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rewardhub_prm.encoding import Encoded, TextEncoder
from rewardhub_prm.network import TokenModel
from rewardhub_prm.presets import GenericForm, name_of, preset_of

from rewardhub import ModelFiles, device_of, dtype_of, load_tokenizer
from rewardhub.testing import tiny_language_model

WORDS = ("so", "the", "sum", "of", "both", "is", "nothing", "which", "leaves")


def random_model(folder: Path, width: int) -> None:
    """Save a token classifier with random weights beside a byte tokenizer."""
    import torch
    import transformers

    tiny_language_model(folder, context_length=4096)
    base = transformers.AutoConfig.from_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=base.vocab_size,
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=4096,
    )
    config.num_labels = 2
    torch.manual_seed(0)
    transformers.LlamaForTokenClassification(config).save_pretrained(folder)
    GenericForm(separator="<|end|>", positive=1).save(folder)


def solutions(rows: int, most: int) -> list[tuple[str, list[str]]]:
    """Made-up problems with 2 to 8 steps of up to ``most`` words."""
    draw = random.Random(0)

    def words(low: int, high: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(low, high)))

    return [(words(3, 9), [words(1, most) for _ in range(draw.randint(2, 8))]) for _ in range(rows)]


def seconds(call: Callable[[], object], times: int, clock: Callable[[], float]) -> float:
    """Return the median time of a call, after one to warm up."""
    call()
    taken = []
    for _ in range(times):
        start = clock()
        call()
        taken.append(clock() - start)
    return statistics.median(taken)


def main() -> None:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        folder = given.model or Path(made)
        if given.model is None:
            random_model(folder, given.width)
        files = ModelFiles.find(folder)
        preset = preset_of(name_of(files), files)
        text = TextEncoder(load_tokenizer(files), preset.separators)
        device = device_of(given.device)
        network = preset.network(files, text, device, dtype_of("auto", device))
        model = TokenModel(network, device)
    clock = time.process_time if device == "cpu" else time.perf_counter
    for most in (2, 8, 24):
        rows = [preset.encode(text, *each) for each in solutions(given.rows, most)]
        print(json.dumps(measure(model, rows, given.batch_tokens, given.times, clock)))


def measure(
    model: TokenModel,
    rows: Sequence[Encoded],
    batch_tokens: int | None,
    times: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Return tokens per second in batches and one by one."""
    tokens = sum(map(len, rows))

    def batched() -> object:
        return model.read(rows, batch_tokens=batch_tokens)

    def alone() -> object:
        return [model.read([row], batch_tokens=batch_tokens) for row in rows]

    one, many = seconds(alone, times, clock), seconds(batched, times, clock)
    return {
        "rows": len(rows),
        "mean_tokens": round(tokens / len(rows)),
        "tokens_per_second_batched": round(tokens / many),
        "tokens_per_second_one_by_one": round(tokens / one),
        "ratio": round(one / many, 2),
    }


if __name__ == "__main__":
    main()
