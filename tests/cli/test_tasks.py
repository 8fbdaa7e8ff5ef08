"""`rewardhub tasks check`: tasks whose reward is wrong before anybody tries them."""

import json

from rewardhub.cli import ExitCode

CHECK = ("tasks", "check", "tasks.jsonl", "--reward", "strict.yaml")


def task(prompt, reference):
    return json.dumps({"prompt": prompt, "reference": reference, "task_id": prompt})


def test_finds_nothing_wrong_with_sound_tasks(call, folder):
    folder.write("tasks.jsonl", f"{task('one', 'two')}\n{task('three', 'four')}\n")
    code, out, _ = call(*CHECK)
    assert (code, out) == (ExitCode.OK, "2 tasks, 0 problems\n")


def test_tells_each_problem_with_its_row(call, folder):
    sound, unclear, copied = task("one", "two"), task("two", "?"), task("six", "SIX")
    folder.write("tasks.jsonl", f"{sound}\n{unclear}\n[]\n{copied}\n")
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("plain/same}", "plain/same, options: {fold: true}}"))
    code, out, _ = call(*CHECK)
    assert code == ExitCode.INCOMPLETE
    reason = "part `same` of stage `outcome` abstained: the reference is a question mark"
    parts = "`same` 1 (equal), `brevity` 1 (1 words)"
    assert out.splitlines() == [
        f"tasks.jsonl:2: task two: the reference is unscored (fault: task): {reason}",
        "tasks.jsonl:3: the row is an array, not a JSON object",
        f"tasks.jsonl:4: task six: the prompt copy earns success: {parts}",
        "3 tasks, 3 problems",
    ]


def test_writes_a_right_answer_as_the_spec_wants_it(call, folder):
    folder.write("tasks.jsonl", f"{task('one', 'two')}\n")
    plugin = (folder.path / "rewardhub_plugins.py").read_text()
    folder.write("rewardhub_plugins.py", plugin.replace("text == wanted", "text == f'<{wanted}>'"))
    assert call(*CHECK)[0] == ExitCode.INCOMPLETE
    assert call(*CHECK, "--answer", "<{reference}>")[0] == ExitCode.OK


def test_gives_problems_as_json(call, folder):
    folder.write("tasks.jsonl", f"{task('one', 'two')}\n{task('two', '?')}\n")
    code, out, _ = call(*CHECK, "--json")
    found = json.loads(out)
    assert code == ExitCode.INCOMPLETE
    assert (found["ok"], found["tasks"], found["without_reference"]) == (False, 2, 0)
    assert [(each["row"], each["task"], each["trial"]) for each in found["problems"]] == [
        (2, "two", "reference")
    ]


def test_refuses_a_wrong_spec(call, folder):
    folder.write("tasks.jsonl", f"{task('one', 'two')}\n")
    folder.write("strict.yaml", "rewardhub: 1\nname: x\n")
    code, out, err = call(*CHECK)
    assert (code, out) == (ExitCode.WRONG, "")
    assert "strict.yaml" in err
