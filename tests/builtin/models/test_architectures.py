"""Batches of other architectures than the tiny Llama: learned positions, windows, states."""

import pytest

from rewardhub import ModelFiles, TextGenerator
from rewardhub.builtin.models.loading import quiet
from rewardhub.builtin.models.requests import Request

torch = pytest.importorskip("torch", reason="local models need torch")
transformers = pytest.importorskip("transformers", reason="local models need transformers")

PROMPTS = ["One.", "Twenty and two, which is longer than a window of eight.", "?"]
LENGTHS = [12, 5, 20]
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
CONFIGS = {
    "learned-positions": (
        "GPT2Config",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    ),
    "no-positions": ("BloomConfig", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "sliding-window": ("MistralConfig", SIZES | {"sliding_window": 8}),
    "window-and-whole": ("Gemma2Config", SIZES | {"sliding_window": 8, "head_dim": 8}),
    "linear-states": (
        "Lfm2Config",
        SIZES | {"layer_types": ["conv", "full_attention"], "conv_L_cache": 3},
    ),
}


@pytest.fixture(params=CONFIGS)
def generator(request, tiny, tmp_path):
    name, sizes = CONFIGS[request.param]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    config = getattr(transformers, name)(
        **sizes,
        vocab_size=len(tokenizer),
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.5,
    )
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        tokenizer.save_pretrained(tmp_path)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    with TextGenerator.lease(ModelFiles.find(tmp_path)) as model:
        yield model


def slow_greedy(generator, prompt, count):
    """Write on by asking the model for all logits anew at each token, without cache or batch."""
    written = []
    while len(written) < count and generator.tokenizer.eos_token_id not in written:
        with torch.no_grad():
            logits = generator._decoder.model(torch.tensor([[*prompt, *written]])).logits[0, -1]
        written.append(int(logits.argmax()))
    return tuple(written)


def test_rows_of_a_padded_batch_are_those_of_the_model_asked_token_by_token(generator):
    asked = [
        Request(
            prompt_ids=tuple(generator.tokenizer(text)["input_ids"]), max_new_tokens=length,
            temperature=0, top_p=1, seed=0, logprobs=0, stop=(),
        )
        for text, length in zip(PROMPTS, LENGTHS, strict=True)
    ]  # fmt: skip
    written = dict(generator._decoder.write(asked))
    assert [written[request].token_ids for request in asked] == [
        slow_greedy(generator, request.prompt_ids, request.max_new_tokens) for request in asked
    ]
