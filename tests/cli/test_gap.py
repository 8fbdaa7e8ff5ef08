"""`rewardhub gap`: from scored attempts to what lacks."""

import json

import pytest

from rewardhub.cli import ExitCode


@pytest.fixture
def gap(call, folder):
    """Score two tasks with eight attempts each, and return a function that reports on the run."""
    row = folder.row
    folder.answers(
        *(row("four" if number < 2 else "five", "four", domain="sums") for number in range(8)),
        *(row("x", "seven", domain="primes") for _ in range(8)),
    )
    assert call("score", "answers.jsonl", "--reward", "strict.yaml")[0] == ExitCode.OK

    def report(*arguments):
        return call("gap", folder.run_name, *arguments)

    return report


def test_reports_on_a_run_that_was_scored(gap):
    code, out, _ = gap()
    lines = out.splitlines()
    assert code == ExitCode.OK
    assert lines[0] == "plain/strict: 2 tasks, 16 attempts"
    assert lines[2].split() == [
        "Domain", "Tasks", "Attempts", "Unjudged", "pass@1", "pass@8", "majority@8", "Deficit",
    ]  # fmt: skip
    assert [line.split()[-1] for line in lines[-2:]] == ["8", "6"]
    assert "knowledge" in lines[-2]
    assert "behaviour" in lines[-1]


def test_gives_json(gap):
    code, out, _ = gap("--json", "--k", "2")
    told = json.loads(out)
    assert (code, told["k"]) == (ExitCode.OK, 2)
    assert {task["domain"]: task["verdict"] for task in told["tasks"]} == {
        "sums": "behaviour", "primes": "knowledge",
    }  # fmt: skip


def test_gives_markdown(gap):
    code, out, _ = gap("--markdown", "--tasks", "1")
    assert code == ExitCode.OK
    assert out.startswith("# plain/strict: 2 tasks, 16 attempts\n")
    assert "## Hardest tasks (1 of 2)" in out


def test_takes_thresholds(gap):
    _, out, _ = gap("--json", "--set", "beyond_after=9")
    verdicts = {task["domain"]: task["verdict"] for task in json.loads(out)["tasks"]}
    assert verdicts["primes"] == "unknown"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "--markdown"], "`--json` and `--markdown` are two forms"),
        (["--set", "hold=1"], "Did you mean `holds`?"),
    ],
)
def test_refuses_a_wrong_command(gap, arguments, message):
    code, out, err = gap(*arguments)
    assert (code, out) == (ExitCode.WRONG, "")
    assert message in err


def test_names_an_input_that_is_gone(gap, folder):
    (folder.path / "answers.jsonl").unlink()
    code, _, err = gap()
    assert code == ExitCode.WRONG
    assert "answers.jsonl` of the run" in err
