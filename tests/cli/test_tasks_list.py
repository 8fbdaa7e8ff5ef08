import json

from rewardhub.cli.codes import ExitCode

TASKS = """\
- {id: one, domain: math, messages: [{role: user, content: What is 1 + 1?}], reference: "2"}
- {id: two, domain: math, messages: [{role: user, content: What is 2 + 2?}], reference: "4"}
"""
SOURCE = """
from rewardhub import Message, Task, TaskSourceCard, hookimpl


def counted(upto: int = 3):
    for number in range(upto):
        yield Task(id=f"n{number}", messages=(Message(role="user", content=f"Say {number}."),))


@hookimpl
def rewardhub_task_sources():
    yield TaskSourceCard(name="counted", source=counted, description="numbers")
"""


def test_lists_the_tasks_of_a_file(call, folder):
    folder.write("tasks.yaml", TASKS)
    code, out, _ = call("tasks", "list", "tasks.yaml", "--json")
    assert code == ExitCode.OK
    assert [(each["id"], each["asked"]) for each in json.loads(out)] == [
        ("one", "What is 1 + 1?"),
        ("two", "What is 2 + 2?"),
    ]
    assert "2 tasks" in call("tasks", "list", "tasks.yaml")[1]


def test_shows_one_task_and_suggests_the_closest(call, folder):
    folder.write("tasks.yaml", TASKS)
    assert json.loads(call("tasks", "show", "tasks.yaml", "two")[1])["reference"] == "4"
    assert json.loads(call("tasks", "show", "tasks.yaml")[1])["id"] == "one"
    code, _, err = call("tasks", "show", "tasks.yaml", "tow")
    assert code == ExitCode.WRONG
    assert "Did you mean `two`" in err


def test_writes_what_a_source_gives(call, folder):
    folder.write("rewardhub_plugins.py", SOURCE)
    assert "counted" in call("tasks", "list")[1]
    code, out, _ = call("tasks", "write", "counted", "--set", "upto=5", "-n", "4", "-o", "t.jsonl")
    assert (code, out) == (ExitCode.OK, "t.jsonl: 4 tasks\n")
    rows = (folder.path / "t.jsonl").read_text().splitlines()
    assert [json.loads(row)["id"] for row in rows] == ["n0", "n1", "n2", "n3"]


def test_names_what_cannot_be_read_or_written(call, folder):
    folder.write("rewardhub_plugins.py", SOURCE)
    for arguments, told in (
        (("list", "none"), "There is no file and no task source `none`"),
        (("write", "counted", "-o", "t.csv"), "to a `.jsonl` file"),
        (("write", "counted", "-o", "t.jsonl", "--set", "upto"), "is no setting"),
        (("write", "counted", "-o", "t.jsonl", "--set", "upto=many"), "`upto`: Input should be"),
    ):
        code, _, err = call("tasks", *arguments)
        assert (code, told in err) == (ExitCode.WRONG, True), err
