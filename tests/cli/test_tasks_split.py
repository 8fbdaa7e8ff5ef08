import json

from rewardhub.cli.codes import ExitCode


def rows(count):
    nouns = ("apples", "pears", "plums", "figs", "nuts")
    for number in range(count):
        noun = nouns[number % 5]
        text = f"Ann has {number} {noun} and gives {number // 2} of them to person {number * 37}."
        yield json.dumps({"id": f"t{number}", "messages": [{"role": "user", "content": text}]})


def test_splits_and_writes_a_report(call, folder):
    folder.write("tasks.jsonl", "".join(f"{row}\n" for row in rows(40)))
    code, out, _ = call(
        "tasks", "split", "tasks.jsonl", "--held-out", "0.3", "--out", "parts", "--threshold", "1"
    )
    assert code == ExitCode.OK
    assert "40 tasks" in out
    train, held = (
        [json.loads(row) for row in (folder.path / "parts" / name).read_text().splitlines()]
        for name in ("train.jsonl", "held-out.jsonl")
    )
    assert len(train) + len(held) == 40
    assert {each["split"] for each in train} == {"train"}
    assert {each["split"] for each in held} == {"held-out"}
    assert json.loads((folder.path / "parts" / "split.json").read_text())


def test_refuses_a_share_that_is_none_and_a_rule_that_is_not_known(call, folder):
    folder.write("tasks.jsonl", "".join(f"{row}\n" for row in rows(3)))
    for option, value, told in (
        ("--held-out", "1", "lies between 0 and 1"),
        ("--held-out", "0", "lies between 0 and 1"),
        ("--numbers", "drop", "write `keep` or `mask`"),
    ):
        code, _, err = call("tasks", "split", "tasks.jsonl", "--out", "parts", option, value)
        assert (code, told in err) == (ExitCode.WRONG, True), err
