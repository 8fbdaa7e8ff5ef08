"""`rewardhub judge measure`, as a person calls it."""

import importlib
import json

import pytest
from rewardhub_judge.measure.command import app
from typer.testing import CliRunner

from rewardhub import UsageError

pytest.importorskip("numpy", reason="measuring judges needs numpy")

PAIRS = [
    {
        "id": f"p{n}",
        "labels": ["first" if n % 3 else "second"],
        "lengths": [10 + n, 15],
        "decisions": {"j": {"given": ["first"], "swapped": ["first" if n % 2 else "second"]}},
    }
    for n in range(12)
]


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "cache"))

    def call(*arguments, files=None):
        for name, lines in (files or {"pairs.jsonl": PAIRS}).items():
            text = lines if isinstance(lines, str) else "\n".join(map(json.dumps, lines))
            (tmp_path / name).write_text(text)
        result = CliRunner().invoke(app, ["measure", *arguments])
        if isinstance(result.exception, UsageError):
            raise result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return call


def test_tells_each_figure_with_its_interval(call):
    result = call("pairs.jsonl", "--resamples", "50")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert lines[0] == ["pairs.jsonl:", "12", "pairs", "(neutral),", "12", "with", "a", "label"]
    (accuracy,) = (line for line in lines if "accuracy" in line)
    assert accuracy[:4] == ["j", "(24", "answers)", "accuracy"]
    assert len(accuracy) == 8


def test_gives_the_same_as_json(call):
    (told,) = json.loads(call("pairs.jsonl", "--json", "--resamples", "20").stdout)["files"]
    (judge,) = told["judges"]
    assert (told["kind"], told["rows"], judge["answers"]) == ("pairs", 12, 24)
    found = judge["measures"]["accuracy"]
    assert found["low"] <= found["value"] <= found["high"]


def test_what_is_not_defined_says_so(call):
    ties = [row | {"decisions": {"j": {"given": ["tie"], "swapped": ["tie"]}}} for row in PAIRS]
    result = call("pairs.jsonl", "--resamples", "0", files={"pairs.jsonl": ties})
    assert "undefined" in result.stdout


def test_measures_several_files_one_after_the_other(call):
    files = {"a.jsonl": PAIRS, "b.jsonl": PAIRS}
    told = json.loads(call("a.jsonl", "b.jsonl", "--json", "--resamples", "0", files=files).stdout)
    assert [each["file"] for each in told["files"]] == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_draws_a_picture(call, tmp_path, suffix, start):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    call("pairs.jsonl", "--resamples", "10", "--plot", f"pictures/judges{suffix}")
    assert (tmp_path / f"pictures/judges{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "cannot be read"),
        (["pairs.jsonl", "--labels", "pairs.jsonl"], "`--labels` go with a run folder"),
        (["."], "is a run folder: say where its labels are"),
        (["pairs.jsonl", "--map", "label"], "say FIELD=COLUMN"),
        (["pairs.jsonl", "--plot", "judges.gif"], r"a picture ends in \.png"),
        (["pairs.jsonl", "pairs.jsonl", "--plot", "judges.png"], "draws one file"),
        (["pairs.jsonl", "--reward", "judged.yaml"], "`--reward` needs `--labels FILE`"),
    ],
)
def test_a_call_that_is_wrong_says_what_to_do(call, arguments, message):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    with pytest.raises(UsageError, match=message):
        call(*arguments)


@pytest.mark.parametrize(("library", "extra"), [("numpy", "measure"), ("matplotlib", "plot")])
def test_a_library_that_is_missing_is_named_before_anything_is_measured(
    call, monkeypatch, library, extra
):
    imported = importlib.import_module

    def missing(name, *more):
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(name=library)
        return imported(name, *more)

    monkeypatch.setattr("rewardhub_judge.measure.needs.importlib.import_module", missing)
    with pytest.raises(UsageError, match=rf"`{library}`.*rewardhub-judge\[{extra}\]"):
        call("pairs.jsonl", "--plot", "judges.png")


SPEC = """
rewardhub: 1
name: judged
success: right == 1
resources:
  judge: {use: replay, file: recorded.jsonl}
stages:
  - name: outcome
    graders:
      - use: judge/criteria
        as: right
        options: {criteria: [{name: right, question: "Is it right?"}]}
"""


def test_asks_the_judges_of_a_spec_on_labelled_rows(call):
    answers = [
        {"id": f"a{n}", "prompt": "7 + 5?", "completion": text}
        for n, text in enumerate(["It is 12.", "It is 13.", "It is twelve."])
    ]
    recorded = [
        {"contains": ["It is 12."], "data": {"right": {"reason": "7 + 5 is 12", "verdict": True}}},
        {"contains": ["It is"], "data": {"right": {"reason": "not 12", "verdict": False}}},
    ]
    labels = [{"id": f"a{n}", "human": right} for n, right in enumerate([1, 0, 1])]
    files = {"answers.jsonl": answers, "recorded.jsonl": recorded, "judged.yaml": SPEC,
             "labels.jsonl": labels}  # fmt: skip
    result = call(
        "answers.jsonl", "--reward", "judged.yaml", "--run", "run", "--labels", "labels.jsonl",
        "--map", "label=human", "--json", "--resamples", "0", files=files,
    )  # fmt: skip
    (told,) = json.loads(result.stdout)["files"]
    (judge,) = told["judges"]
    assert (judge["judge"], judge["answers"], judge["without_verdict"]) == ("right", 3, 0)
    assert judge["measures"]["accuracy"]["value"] == pytest.approx(2 / 3)


def test_asks_a_pairwise_judge_in_both_orders_on_labelled_pairs(call):
    answers = [
        {
            "id": f"{group}{n}",
            "group": group,
            "group_size": 2,
            "prompt": "7 + 5?",
            "completion": text,
        }
        for group, texts in {"g": ("It is 12.", "It is 13."), "h": ("Twelve.", "A dozen.")}.items()
        for n, text in enumerate(texts)
    ]
    recorded = [
        {
            "contains": ["It is 12.\n", "It is 13.\n"],
            "data": {"reason": "place", "winner": "first"},
        },
        {"contains": ["Twelve.\n"], "data": {"reason": "alike", "winner": "tie"}},
    ]
    spec = SPEC[: SPEC.index("      - use: judge/criteria")] + "      - use: judge/pairwise\n"
    files = {
        "answers.jsonl": answers,
        "recorded.jsonl": recorded,
        "judged.yaml": spec.replace("right == 1", "pairwise >= 1"),
        "labels.jsonl": [{"id": "g", "label": "first"}, {"id": "h", "label": "tie"}],
    }
    result = call(
        "answers.jsonl", "--reward", "judged.yaml", "--run", "run", "--labels", "labels.jsonl",
        "--json", "--resamples", "0", files=files,
    )  # fmt: skip
    (judge,) = json.loads(result.stdout)["files"][0]["judges"]
    found = {name: each["value"] for name, each in judge["measures"].items()}
    assert (judge["answers"], judge["ties"]) == (4, 2)
    assert (found["accuracy"], found["shown_first"], found["consistent"]) == (0.75, 1, 0.5)
