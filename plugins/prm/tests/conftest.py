"""Tiny models with random weights, made on the spot, of the shapes that real ones have."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `models` is not installed")

CORPUS = [
    "What is 1 + 1? How many apples are there? The answer is 2.",
    "Step 1: One and one are two. Step 2: So the answer is two.\n\nThe answer is 3 - 1 = 2.\n",
    "user assistant system Please reason step by step, and put your final answer within \\boxed{}.",
    "You are given a math problem and a proposed step-by-step solution: [Math Problem] [Solution]",
    "Is the solution correct? yes\nyes\nno\nno\nyes\nno\n\\boxed{correct} \\boxed{incorrect}\n\n",
    "Is the solution correct? ки ки\n+ - ки ки\n",
] * 4

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}"
    "<|end_header_id|>\n\n{{ message.content | trim }}<|eot_id|>{% endfor %}"
)


@pytest.fixture(autouse=True, scope="session")
def _few_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def byte_tokenizer(special: list[str], template: str | None = CHATML, **names: str) -> Any:
    """A byte-level tokenizer that splits as those of Qwen and Llama 3 do."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    pattern = Regex(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        additional_special_tokens=special,
        chat_template=template,
        **names,
    )


def metaspace_tokenizer() -> Any:
    """A tokenizer as Mistral's: no pre-tokenizer, a space before the text, a begin token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>"]
    letters = [chr(code) for code in range(32, 127)] + ["\n"]
    trainer = trainers.BpeTrainer(
        vocab_size=160,
        special_tokens=special,
        initial_alphabet=letters,
        show_progress=False,
        max_token_length=4,
    )
    words = [word for line in CORPUS for word in line.replace("\n", " ").split()]
    tokenizer.train_from_iterator([*words, *["+", "-", "ки"] * 500], trainer)
    start = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", start)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def tiny(kind: str, tokenizer: Any, **more: Any) -> Any:
    """The configuration of a tiny decoder."""
    return getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_attention_heads=4,
        num_key_value_heads=2,
        **{
            "num_hidden_layers": 2,
            "max_position_embeddings": 512,
            "initializer_range": 0.4,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
            **more,
        },
    )


def seeded(make: Callable[[], Any], seed: int = 0) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def save(folder: Path, tokenizer: Any, model: Any, **tensors: Any) -> Path:
    """Save a model as its authors do: with further tensors under names of their own."""
    state = {**model.state_dict(), **tensors}
    model.save_pretrained(folder, state_dict=state)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model's folder for each preset, by the preset's name; `reward` has a sequence head."""
    root = tmp_path_factory.mktemp("models")
    return {
        "qwen": _qwen(root / "Qwen2.5-Math-PRM"),
        "skywork": _skywork(root / "Skywork-o1-Open-PRM"),
        "rlhflow": _rlhflow(root / "Llama3.1-8B-PRM-Mistral-Data"),
        "math-shepherd": _math_shepherd(root / "math-shepherd-mistral-7b-prm"),
        "generic": _generic(root / "head"),
        "thinkprm": _thinkprm(root / "ThinkPRM-1.5B"),
        "reward": _reward(root / "reward"),
    }


def _qwen(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<|im_start|>", "<extra_0>"], eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    config = tiny("Qwen2", tokenizer, num_labels=2, architectures=["Qwen2ForProcessRewardModel"])
    model = seeded(lambda: transformers.Qwen2Model(config))
    first, second = seeded(lambda: (torch.nn.Linear(32, 32), torch.nn.Linear(32, 2)), 1)
    head = {
        "score.0.weight": first.weight.detach(),
        "score.0.bias": first.bias.detach(),
        "score.2.weight": second.weight.detach() * 3,
        "score.2.bias": second.bias.detach(),
    }
    save(folder, tokenizer, model, **head)
    return _architecture(folder, "Qwen2ForProcessRewardModel")


def _skywork(folder: Path) -> Path:
    tokenizer = byte_tokenizer([], eos_token="<|im_end|>", bos_token="<|im_start|>")
    model = seeded(lambda: transformers.Qwen2ForCausalLM(tiny("Qwen2", tokenizer)))
    head = seeded(lambda: torch.nn.Linear(32, 1), 2)
    tensors = {
        "v_head.summary.weight": head.weight.detach(),
        "v_head.summary.bias": head.bias.detach(),
    }
    return save(folder, tokenizer, model, **tensors)


def _rlhflow(folder: Path) -> Path:
    tokenizer = byte_tokenizer(
        ["<|start_header_id|>", "<|end_header_id|>"],
        LLAMA,
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
    )
    model = seeded(lambda: transformers.LlamaForCausalLM(tiny("Llama", tokenizer)))
    return save(folder, tokenizer, model)


def _math_shepherd(folder: Path) -> Path:
    tokenizer = metaspace_tokenizer()
    config = tiny("Mistral", tokenizer, sliding_window=None)
    return save(folder, tokenizer, seeded(lambda: transformers.MistralForCausalLM(config)))


def _generic(folder: Path) -> Path:
    tokenizer = byte_tokenizer([], None, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        num_labels=2,
        initializer_range=0.4,
    )
    model = seeded(lambda: transformers.BertForTokenClassification(config))
    save(folder, tokenizer, model)
    text = '{"separator": "[SEP]", "opening": "[CLS]", "aggregate": "min"}'
    (folder / "rewardhub_prm.json").write_text(text)
    return folder


def _thinkprm(folder: Path) -> Path:
    tokenizer = byte_tokenizer(["<|im_start|>"], eos_token="<|im_end|>", pad_token="<|pad|>")
    config = tiny("Qwen2", tokenizer, max_position_embeddings=768)
    return save(folder, tokenizer, seeded(lambda: transformers.Qwen2ForCausalLM(config)))


def _reward(folder: Path) -> Path:
    tokenizer = byte_tokenizer(["<|im_start|>"], eos_token="<|im_end|>", pad_token="<|pad|>")
    config = tiny("Llama", tokenizer, num_labels=1)
    model = seeded(lambda: transformers.LlamaForSequenceClassification(config))
    return save(folder, tokenizer, model)


def _architecture(folder: Path, name: str) -> Path:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "architectures": [name]}))
    return folder


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that know an error: whatever comes after a `✗` is worth 0, all else 1.

    `steps` has a head on tokens, `outcome` one on the sequence. Each token looks at all before it
    alike, so the share of `✗` among them is what the heads see.
    """
    root = tmp_path_factory.mktemp("planted")
    tokenizer = byte_tokenizer([], eos_token="<|im_end|>", sep_token="[SEP]", pad_token="<|pad|>")
    mark = tokenizer.encode("✗")[-1]
    for kind, name in (("TokenClassification", "steps"), ("SequenceClassification", "outcome")):
        config = tiny("Llama", tokenizer, num_hidden_layers=1, num_labels=1)
        model = getattr(transformers, f"LlamaFor{kind}")(config)
        with torch.no_grad():
            for tensor in model.parameters():
                tensor.zero_()
            for tensor_name, tensor in model.named_parameters():
                if tensor_name.endswith("norm.weight"):
                    tensor.fill_(1.0)
            model.model.embed_tokens.weight[:, 0] = 1.0
            model.model.embed_tokens.weight[mark, 1] = 1.0
            attention = model.model.layers[0].self_attn
            attention.v_proj.weight[0, 1] = 1.0  # heads share their values, two to a pair
            attention.o_proj.weight[1, 0] = 1.0
            model.score.weight[0, :2] = torch.tensor([10.0, -90_000.0])
        save(root / name, tokenizer, model)
    (root / "steps" / "rewardhub_prm.json").write_text('{"separator": "[SEP]"}')
    return root
