"""`rewardhub score`: what it prints, writes and returns."""

import gzip
import json
import re
import signal
import time
from pathlib import Path

import pytest

from rewardhub.cli import ExitCode
from rewardhub.host import discover
from rewardhub.spec import check

SCORE = ("score", "answers.jsonl", "--reward", "strict.yaml")


def timeless(text):
    """Return lines without what the clock says: seconds, rows a second."""
    lines = []
    for line in text.splitlines():
        kept = "  Time" if line.startswith("  Time ") else line
        lines.append(re.sub(r"^(  (?:same|brevity) .*?) +\d+\.\d{3}$", r"\1", kept))
    return lines


def test_prints_what_came_of_a_run(folder):
    code, out, err = folder.run(*SCORE)
    run = folder.run_name
    assert code == ExitCode.OK
    assert err.splitlines() == ["Plugin file: rewardhub_plugins.py", f"Run folder: {run}"]
    full = "█" * 40
    assert timeless(out) == [
        "plain/strict 1: 3 of 3 trajectories scored",
        "  Success   1 of 3 (33.3%)",
        "  Reward    mean 0.4167, min 0, max 1",
        "  Time",
        "",
        "  Part     Graded   Mean  Seconds",
        "  same          3  0.333",
        "  brevity       3  0.667",
        "",
        "  Rewards",
        f"   0.00 to  0.10  {full} 1",
        "   0.10 to  0.20  0",
        f"   0.20 to  0.30  {full} 1",
        "   0.30 to  0.40  0",
        "   0.40 to  0.50  0",
        "   0.50 to  0.60  0",
        "   0.60 to  0.70  0",
        "   0.70 to  0.80  0",
        "   0.80 to  0.90  0",
        f"   0.90 to  1.00  {full} 1",
        "",
        f"  Ledger    {run}/rewards.jsonl",
        f"  Why one   rewardhub explain {run} ID",
    ]
    assert [line["reward"]["value"] for line in folder.ledger()] == [1.0, 0.0, 0.25]


def test_says_which_trajectories_have_no_reward_and_why(call, folder):
    row = folder.row
    bad = '{"prompt": "x", "completion": "y"}'
    folder.answers(row("four", "four"), row("boom", "x"), row("one", "?"), "[]", bad)
    code, out, _ = call(*SCORE)
    assert code == ExitCode.INCOMPLETE
    assert timeless(out)[:16] == [
        "plain/strict 1: 1 of 3 trajectories scored",
        "  Unscored  2 (fault: grader 1, task 1)",
        "  Bad rows  2",
        "  Success   1 of 1 (100.0%)",
        "  Reward    mean 1, min 1, max 1",
        "  Time",
        "",
        "  Rows  Unscored, because",
        "     1  part `same` of stage `outcome` failed: `plain/same` broke: ValueError: boom",
        "     1  part `same` of stage `outcome` abstained: the reference is a question mark",
        "",
        "  Rows  Bad rows, because",
        "     1  the row is an array, not a JSON object",
        "     1  there is no reference, and `plain/same` needs one",
        "",
        "  Part     Graded  Abstained  Failed   Mean  Seconds",
    ]
    assert f"  Bad rows  {folder.run_name}/failures.jsonl" in out.splitlines()


def test_answers_at_once_when_the_run_is_complete(folder):
    _, first, _ = folder.run(*SCORE)
    before = folder.ledger()
    code, out, err = folder.run(*SCORE)
    assert (code, out) == (ExitCode.OK, first)
    assert err.splitlines()[1:] == [
        f"Nothing to grade: {folder.run_name} has this very run, complete."
    ]
    assert folder.ledger() == before


def test_grades_only_what_an_edit_of_the_spec_changed(call, folder):
    call(*SCORE)
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("plain/same}", "plain/same, options: {fold: true}}"))
    folder.answers(*[folder.row("four", "four")] * 3, name="other.jsonl")
    _, out, _ = call(*SCORE, "--json")
    assert json.loads(out)["reused"] == 3
    assert json.loads(out)["parts"]["same"]["graded"] == 3


def test_grades_again_what_an_edit_of_a_grader_changed(call, folder):
    call(*SCORE)
    plugin = (folder.path / "rewardhub_plugins.py").read_text()
    folder.write("rewardhub_plugins.py", plugin.replace("words <= 1", "words <= 3"))
    _, out, _ = call(*SCORE, "--json")
    assert json.loads(out)["reused"] == 0
    assert [line["reward"]["value"] for line in folder.ledger()] == [1.0, 0.25, 0.25]


def test_reuses_nothing_where_the_columns_mean_something_else(call, folder):
    folder.answers(folder.row("a", "a", other="b"))
    call(*SCORE)
    _, out, _ = call(*SCORE, "--map", "reference=other", "--json")
    summary = json.loads(out)
    assert (summary["reused"], summary["success"]["count"]) == (0, 0)


def test_gives_the_summary_as_json(call, folder):
    folder.answers(folder.row("four", "four"), folder.row("boom", "x"), "[]")
    code, out, _ = call(*SCORE, "--json")
    summary = json.loads(out)
    assert code == ExitCode.INCOMPLETE
    assert summary["run"] == folder.run_name
    assert summary["complete"] is True
    counts = ("trajectories", "bad_rows", "scored", "unscored", "faults", "resumed", "reused")
    assert [summary[name] for name in counts] == [2, 1, 1, 1, {"grader": 1}, 0, 0]
    assert summary["reward"] == {"mean": 1.0, "min": 1.0, "max": 1.0}
    assert summary["success"] == {"count": 1, "of": 1, "rate": 1.0}
    assert sum(summary["histogram"]["counts"]) == 1


def test_writes_every_row_in_any_order_when_unordered(call, folder):
    code, _, _ = call(*SCORE, "--unordered")
    assert code == ExitCode.OK
    assert {(line["row"], line["reward"]["value"]) for line in folder.ledger()} == {
        (1, 1.0), (2, 0.0), (3, 0.25),
    }  # fmt: skip


# --- outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("out.jsonl", lambda path: path.read_text("utf-8")),
        ("out", lambda path: path.read_text("utf-8")),
        ("out.jsonl.gz", lambda path: gzip.decompress(path.read_bytes()).decode()),
    ],
)
def test_writes_the_rewards_in_the_format_of_the_ending(call, folder, name, read):
    code, out, _ = call(*SCORE, "--out", name)
    rows = [json.loads(line) for line in read(folder.path / name).splitlines()]
    assert code == ExitCode.OK
    assert [each["id"] for each in rows] == [f"answers.jsonl:{number}" for number in (1, 2, 3)]
    assert [each["reward"]["value"] for each in rows] == [1.0, 0.0, 0.25]
    assert f"  Output    {name}" in out.splitlines()
    assert [path.name for path in folder.path.glob(".*")] == []


def test_writes_a_table_where_parquet_can_be_written(call, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    call(*SCORE, "--out", "out.parquet")
    table = parquet.read_table(folder.path / "out.parquet").to_pylist()
    assert [each["value"] for each in table] == [1.0, 0.0, 0.25]


def test_writes_rows_to_stdout_and_the_summary_to_stderr(folder):
    code, out, err = folder.run(*SCORE, "--out", "-")
    assert code == ExitCode.OK
    assert [json.loads(line)["reward"]["value"] for line in out.splitlines()] == [1.0, 0.0, 0.25]
    assert "plain/strict 1: 3 of 3 trajectories scored" in err.splitlines()


def test_leaves_an_existing_output_alone_until_the_run_is_complete(call, folder):
    folder.write("out.jsonl", "yesterday's\n")
    folder.answers(folder.row("four", "four"), "[]")
    code, _, _ = call(*SCORE, "--out", "out.jsonl", "--strict")
    assert code == ExitCode.INCOMPLETE
    assert (folder.path / "out.jsonl").read_text() == "yesterday's\n"


# --- what is refused ----------------------------------------------------------------------------

REFUSED = {
    "a missing file": (
        ("score", "answer.jsonl", "--reward", "strict.yaml"),
        "`answer.jsonl` does not exist.",
    ),
    "a folder": (("score", "cache", "--reward", "strict.yaml"), "`cache` is no file."),
    "one file twice": (
        ("score", "answers.jsonl", "./answers.jsonl", "--reward", "strict.yaml"),
        "`answers.jsonl` is named twice.",
    ),
    "an unknown reader": (
        (*SCORE, "--reader", "nativ"),
        "No reader is called `nativ`. Did you mean `native` or `atif`?",
    ),
    "an unknown field": (
        (*SCORE, "--map", "referense=x"),
        "`--map referense=x`: completion rows have no `referense`. Did you mean `reference`?",
    ),
    "an unknown ending": (
        (*SCORE, "--out", "x.csv"),
        "No writer knows the ending of `x.csv`. Known endings: {endings}.",
    ),
    "an output that is an input": (
        (*SCORE, "--out", "answers.jsonl"),
        "`--out answers.jsonl` is one of the inputs: name another file.",
    ),
    "an output without a folder": (
        (*SCORE, "--out", "no/out.jsonl"),
        "`--out no/out.jsonl`: the folder `no` does not exist. Make it.",
    ),
    "two results on stdout": (
        (*SCORE, "--json", "--out", "-"),
        "`--json` and `--out -` both write to stdout: choose one.",
    ),
    "an unknown plugin file": (
        (*SCORE, "--plugin", "more.py"),
        "There is no plugin file `{here}/more.py`.",
    ),
    "a missing spec": (
        ("score", "answers.jsonl", "--reward", "stric.yaml"),
        "stric.yaml: There is no such file. Did you mean `strict.yaml`?",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refuses(call, folder, what):
    (folder.path / "cache").mkdir()
    arguments, message = REFUSED[what]
    code, out, err = call(*arguments)
    assert (code, out) == (ExitCode.WRONG, "")
    said = [line for line in err.splitlines() if line != "Plugin file: rewardhub_plugins.py"]
    endings = ".jsonl, .jsonl.gz, .jsonl.zst, .ndjson, .ndjson.gz, .ndjson.zst, .parquet"
    endings += ", .parts.parquet, reward.json"
    assert said == [message.format(here=folder.path, endings=endings)]
    assert not (folder.path / "rewardhub-runs").exists()


def test_names_every_mistake_of_a_spec(call, folder):
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("brevity}", "brevty}").replace("0.75", "heavy"))
    code, out, err = call(*SCORE)
    mistakes = check("strict.yaml", discover(loose=["rewardhub_plugins.py"])).errors
    assert [mistake.line for mistake in mistakes] == [7, 11]
    assert (code, out) == (ExitCode.WRONG, "")
    assert err.splitlines()[1:] == [str(mistake) for mistake in mistakes]
    assert not (folder.path / "rewardhub-runs").exists()


def test_ends_at_the_first_bad_row_when_strict(call, folder):
    folder.answers(folder.row("four", "four"), "[]")
    code, out, err = call(*SCORE, "--strict")
    assert (code, out) == (ExitCode.INCOMPLETE, "")
    assert err.splitlines()[2:] == [
        "answers.jsonl, row 2: the row is an array, not a JSON object",
        "The run ended there (--strict). The same command goes on.",
    ]


# --- plugins and settings -----------------------------------------------------------------------


def test_names_each_loose_plugin_file(call, folder):
    (folder.path / "rewardhub_plugins.py").rename(folder.path / "mine.py")
    code, _, err = call(*SCORE, "--plugin", "mine.py")
    assert code == ExitCode.OK
    assert err.splitlines()[0] == "Plugin file: mine.py"


def test_takes_plugin_files_from_the_environment(folder):
    (folder.path / "rewardhub_plugins.py").rename(folder.path / "mine.py")
    code, _, err = folder.run(*SCORE, REWARDHUB_PLUGINS="mine.py")
    assert code == ExitCode.OK
    assert err.splitlines()[0] == "Plugin file: mine.py"


def test_a_flag_comes_before_the_environment(folder):
    code, _, err = folder.run(*SCORE, "--workers", "1", REWARDHUB_WORKERS="none")
    assert code == ExitCode.OK, err


def test_refuses_a_setting_that_is_none(folder):
    code, _, err = folder.run(*SCORE, REWARDHUB_WORKERS="none")
    assert code == ExitCode.WRONG
    assert "REWARDHUB_WORKERS" in err


def test_says_nothing_but_results_when_quiet(call):
    code, out, err = call(*SCORE, "--quiet")
    assert (code, err) == (ExitCode.OK, "")
    assert out.startswith("plain/strict 1: 3 of 3")


# --- interruptions ------------------------------------------------------------------------------


def held(folder):
    """Write 60 rows of which the 50th waits while there is a file `hold`; start scoring them."""
    rows = [folder.row("wait" if number == 50 else "a", "a") for number in range(1, 61)]
    folder.answers(*rows)
    folder.write("hold", "")
    process = folder.start(*SCORE)
    deadline = time.monotonic() + 60
    while not list(folder.path.glob("rewardhub-runs/*/rewards.jsonl")) or not folder.ledger():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
)
def test_goes_on_after_an_interruption(folder, number, code):
    process = held(folder)
    process.send_signal(number)
    (folder.path / "hold").unlink()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    said = re.fullmatch(
        r"Interrupted after (\d+) rows?. The same command goes on from there.", err.splitlines()[-1]
    )
    assert said, err
    done = int(said[1])
    assert done == len(folder.ledger()) > 0

    code, out, _ = folder.run(*SCORE, "--json")
    assert code == ExitCode.OK
    assert json.loads(out)["resumed"] == done
    ids = [line["id"] for line in folder.ledger()]
    assert ids == [f"answers.jsonl:{number}" for number in range(1, 61)]


def test_goes_on_after_a_kill(folder):
    process = held(folder)
    process.kill()
    process.communicate(timeout=60)
    (folder.path / "hold").unlink()
    ledger = folder.path / folder.run_name / "rewards.jsonl"
    before = ledger.read_bytes()
    ledger.write_bytes(before + b'{"schema_version":1,"id":"answers.js')  # a torn last line

    code, out, _ = folder.run(*SCORE, "--json")
    assert code == ExitCode.OK
    assert json.loads(out)["resumed"] == before.count(b"\n") > 0
    assert ledger.read_bytes().startswith(before)
    ids = [line["id"] for line in folder.ledger()]
    assert ids == [f"answers.jsonl:{number}" for number in range(1, 61)]


def test_one_process_holds_a_run_folder(folder):
    process = held(folder)
    try:
        code, _, err = folder.run(*SCORE)
        assert code == ExitCode.WRONG
        assert err.splitlines()[-1] == (
            f"Another process is writing to `{folder.run_name}`. Wait for it, or name another "
            "folder with `--run`."
        )
    finally:
        (folder.path / "hold").unlink()
        process.communicate(timeout=60)
    assert process.returncode == ExitCode.OK


def test_uses_no_colour_in_a_pipe(folder):
    _, out, err = folder.run(*SCORE, TERM="xterm-256color")
    assert "\x1b" not in out + err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_without_a_traceback(folder):
    code, _, err = folder.run(*SCORE, "--out", "/dev/full")
    assert code == ExitCode.WRONG
    assert err.splitlines()[2:] == [
        "[Errno 28] No space left on device. Once that is mended, the same command goes on."
    ]
