"""Tasks as YAML: a file with one task or a list, or a folder of such files and of task folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from rewardhub.errors import RecordError, RowError, UsageError
from rewardhub.records import Task, explain_validation
from rewardhub.records.migrate import upgrade

SUFFIXES = (".yaml", ".yml")
TASK_FILE = "task.yaml"
"""In a folder of one task; ``files/`` beside it are the task's files."""

FILES = "files"
FROM_FILE = "from_file"
"""``{from_file: PATH}`` stands for the text of a file beside the YAML."""


@dataclass(frozen=True, slots=True)
class Written:
    """A task as it was written, or why it is none.

    Attributes:
        where: file and line (from 1).
        task: the task; None where it is none.
        error: why.
    """

    where: str
    task: Task | None
    error: str = ""


def is_yaml(path: Path) -> bool:
    """Return whether tasks at ``path`` are YAML: a file by its ending, or a folder."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def yaml_tasks(path: Path) -> Iterator[Written]:
    """Yield the tasks of a YAML file or a folder, in order of path.

    In a folder each YAML file is read, and each folder with a `TASK_FILE` is one task; folders
    inside are searched likewise, hidden ones and other files are passed over.

    Raises:
        UsageError: if there is no such file, or no task in it.
    """
    if not path.exists():
        raise UsageError(f"There is no file `{path}`.")
    found = False
    for file in _files_of(path):
        for each in _tasks_in(file):
            found = True
            yield each
    if not found:
        what = f"no `*.yaml` and no folder with a `{TASK_FILE}`" if path.is_dir() else "no task"
        raise UsageError(f"`{path}` holds {what}.")


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif (path / TASK_FILE).is_file():
        yield path / TASK_FILE
    else:
        for each in sorted(path.iterdir()):
            if each.is_dir() and not each.name.startswith("."):
                yield from _files_of(each)
            elif each.is_file() and each.suffix.lower() in SUFFIXES:
                yield each


def _tasks_in(file: Path) -> Iterator[Written]:
    try:
        tree, values = _parsed(file)
    except _UnreadableError as error:
        yield Written(f"{file}:{error.line}", None, str(error))
        return
    if tree is None:
        return
    if not isinstance(values, list):
        yield _task(file, tree, values)
        return
    for node, value in zip(tree.value, values, strict=True):
        yield _task(file, node, value)


class _UnreadableError(Exception):
    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def _parsed(file: Path) -> tuple[Any, Any]:
    """Return the nodes of the one document in a file, which know their lines, and its values."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _UnreadableError(f"the file cannot be read: {error}") from None
    try:
        values: Any = YAML(typ="safe", pure=True).load(text)
        return YAML(typ="safe", pure=True).compose(text), values
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _UnreadableError(f"this is no YAML: {error.problem}", line) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise _UnreadableError(f"this is no YAML: {str(error).splitlines()[0]}") from None


def _task(file: Path, node: Any, value: Any) -> Written:
    line = _line(node)
    if not isinstance(value, Mapping):
        return Written(f"{file}:{line}", None, "a task is a mapping: begin with `messages:`")
    try:
        fields = _with_texts(dict(cast("Mapping[str, Any]", value)), file.parent)
        if file.name == TASK_FILE and (file.parent / FILES).is_dir():
            fields["files"] = _with_folder(fields.get("files"), file.parent / FILES)
        return Written(f"{file}:{line}", Task.model_validate(upgrade("task", fields)))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]["loc"]
        place = _line(_at(node, wrong))
        return Written(f"{file}:{place}", None, explain_validation(error, Task))
    except RecordError as error:
        return Written(f"{file}:{line}", None, str(error))


def _line(node: Any) -> int:
    return cast("int", node.start_mark.line) + 1


def _at(node: Any, path: Sequence[int | str]) -> Any:
    """Return the node at a path, or the nearest one above it."""
    for step in path:
        below = node.value
        if not isinstance(below, list):
            break
        if isinstance(step, int) and step < len(below) and not isinstance(below[step], tuple):
            node = below[step]
            continue
        pairs = [each for each in below if isinstance(each, tuple)]
        found = next((value for key, value in pairs if key.value == str(step)), None)
        if found is None:
            break
        node = found
    return node


def _with_texts(value: Any, folder: Path) -> Any:
    """Return ``value`` with the text of a file for each ``{from_file: PATH}``."""
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value
        if set(mapping) == {FROM_FILE}:
            return _text_beside(folder, mapping[FROM_FILE])
        return {key: _with_texts(each, folder) for key, each in mapping.items()}
    if isinstance(value, list):
        return [_with_texts(each, folder) for each in value]
    return value


def _text_beside(folder: Path, named: Any) -> str:
    path = (folder / str(named)).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise RowError(f"`{FROM_FILE}: {named}` lies outside the folder of the task")
    return _text(path, f"`{FROM_FILE}: {named}`")


def _text(path: Path, named: str) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise RowError(f"{named} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RowError(f"{named} is no UTF-8 text, and tasks hold text alone") from None


def _with_folder(written: Any, folder: Path) -> dict[str, str]:
    """Return the files that a task names, and those in its folder.

    Raises:
        RowError: for a file that is in both, is no text, or is a link out of the folder.
    """
    files = dict(cast("Mapping[str, str]", written)) if isinstance(written, Mapping) else {}
    inside = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(folder).as_posix()
        if name in files:
            raise RowError(f"the file `{name}` stands in the YAML and in `{FILES}/`: keep one")
        if not path.resolve().is_relative_to(inside):
            raise RowError(f"the file `{FILES}/{name}` is a link that leads out of the folder")
        files[name] = _text(path, f"the file `{FILES}/{name}`")
    return files
