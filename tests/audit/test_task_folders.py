from pathlib import Path

import pytest

from rewardhub.audit.task_folders import is_yaml, yaml_tasks
from rewardhub.errors import UsageError

ONE = "id: one\nmessages: [{role: user, content: Hi}]\n"


def written(path: Path) -> list[tuple[str, str]]:
    """Return the name of the place, and the id or the error, of each task."""
    found = yaml_tasks(path)
    return [(Path(each.where).name, each.task.id if each.task else each.error) for each in found]


def test_a_file_holds_one_task_or_a_list(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "two.yml").write_text(
        "- {id: a, messages: [{role: user, content: Hi}]}\n"
        "- {id: b, messages: [{role: user, content: Ho}]}\n"
    )
    assert written(tmp_path / "one.yaml") == [("one.yaml:1", "one")]
    assert written(tmp_path) == [("one.yaml:1", "one"), ("two.yml:1", "a"), ("two.yml:2", "b")]


def test_a_folder_with_a_task_file_is_one_task_with_its_files(tmp_path: Path) -> None:
    place = tmp_path / "fix" / "files" / "src"
    place.mkdir(parents=True)
    (place / "a.py").write_text("print(1)\n")
    (tmp_path / "fix" / "asked.md").write_text("Fix it.")
    (tmp_path / "fix" / "task.yaml").write_text(
        "id: fix\nmessages: [{role: user, content: {from_file: asked.md}}]\n"
    )
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.yaml").write_text("nonsense: 1\n")
    (found,) = yaml_tasks(tmp_path)
    assert found.task is not None
    assert dict(found.task.files) == {"src/a.py": "print(1)\n"}
    assert found.task.prompt == "Fix it."


@pytest.mark.parametrize(
    ("text", "where", "error"),
    [
        ("id: a\nmesages: []\n", "t.yaml:2", "`mesages` is not a field here. Did you mean"),
        ("- 7\n", "t.yaml:1", "a task is a mapping: begin with `messages:`"),
        ("id: [\n", "t.yaml:2", "this is no YAML"),
        ("id: a\nmessages: [{role: boss, content: x}]\n", "t.yaml:2", "`messages.0.role`"),
        ("id: a\nreference: {from_file: none.txt}\n", "t.yaml:1", "`from_file: none.txt` cannot"),
        ("id: a\nreference: {from_file: ../x}\n", "t.yaml:1", "lies outside the folder"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, where: str, error: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    ((place, told),) = written(tmp_path / "t.yaml")
    assert place == where
    assert error in told


def test_files_are_text_of_their_folder_and_stand_once(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    task = tmp_path / "task.yaml"
    task.write_text(ONE)
    (files / "x.bin").write_bytes(b"\xff")
    assert "no UTF-8 text" in written(tmp_path)[0][1]
    (files / "x.bin").unlink()
    (files / "x").symlink_to("/etc/hostname")
    assert "leads out of the folder" in written(tmp_path)[0][1]
    (files / "x").unlink()
    (files / "y").write_text("1")
    task.write_text(f"{ONE}files: {{y: '2'}}\n")
    assert "keep one" in written(tmp_path)[0][1]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no `"):
        written(tmp_path)
    with pytest.raises(UsageError, match="There is no file"):
        written(tmp_path / "none.yaml")
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(UsageError, match="holds no task"):
        written(tmp_path / "empty.yaml")


def test_folders_and_endings_tell_yaml(tmp_path: Path) -> None:
    assert is_yaml(tmp_path)
    assert is_yaml(Path("a.YML"))
    assert not is_yaml(Path("a.jsonl"))
