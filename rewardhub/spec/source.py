"""Reward files as trees of marked nodes: YAML 1.2 from a file, or a mapping from Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rewardhub.errors import SpecError, did_you_mean
from rewardhub.spec.marks import Mark, Mistakes, Node, Scalar

MAX_BYTES = 128 * 1024
"""The largest reward file that is read."""

MAX_NODES = 20_000
"""How many values a reward file may hold, with those that aliases repeat."""

MAX_DEPTH = 40
"""How deep lists and mappings may nest."""

_ADVICE = {
    "mapping values": "Text with `: ` in it needs quotes.",
    "'\\t'": "Indent with spaces, not tabs.",
    "undefined alias": "Write `&name` before `*name`, or quote text that begins with `*`.",
    "cannot start any token": "Quote text that begins with this character.",
}
_KINDS = {"int": int, "float": float, "bool": bool}


def read_yaml(path: Path) -> Node:
    """Return the one mapping in a YAML file.

    Raises:
        SpecError: if the file cannot be read, is no YAML, or holds anything else.
    """
    text = _text_of(path)
    root = Mark(str(path), 1, 1)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.max_depth = MAX_DEPTH + 1
    yaml.composer.warn_double_anchors = False
    mistakes = Mistakes()
    try:
        tree: Any = yaml.compose(text)
        if tree is None:
            raise _Refused(root, "The file is empty. Begin with `rewardhub: 1`.")
        node = _Tree(str(path), yaml.constructor, mistakes).node(tree)
    except MarkedYAMLError as error:
        mistakes.add(_place_of(error, str(path)), _explained(error))
    except YAMLError as error:
        mistakes.add(root, f"This is no YAML: {str(error).splitlines()[0]}.")
    except RecursionError:  # before ruamel.yaml 0.19, which counts
        mistakes.add(root, _too_deep())
    except _Refused as refused:
        mistakes.add(refused.mark, refused.message)
    else:
        if not isinstance(node.value, dict):
            mistakes.add(root, "A reward file is a mapping: begin with `rewardhub: 1`.")
        if not mistakes.found:
            return node
    raise SpecError(mistakes.found)


def node_of(source: Mapping[str, Any]) -> Node:
    """Return a mapping from Python as nodes without places.

    Raises:
        SpecError: for what YAML cannot hold.
    """
    try:
        return _bare(source, "", 0)
    except _Refused as refused:
        mistakes = Mistakes()
        mistakes.add(refused.mark, refused.message)
        raise SpecError(mistakes.found) from None


class _Refused(Exception):  # noqa: N818  # it never leaves this module
    def __init__(self, mark: Mark, message: str) -> None:
        super().__init__(message)
        self.mark = mark
        self.message = message


def _text_of(path: Path) -> str:
    mistakes = Mistakes()
    mark = Mark(str(path))
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            problem = f"The file has {len(data)} bytes; a reward file has at most {MAX_BYTES}."
            mistakes.add(mark, problem)
        else:
            return data.decode("utf-8-sig")
    except FileNotFoundError:
        siblings = [other.name for other in path.parent.glob("*.y*ml")]
        mistakes.add(mark, f"There is no such file.{did_you_mean(path.name, siblings)}")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        mistakes.add(
            Mark(str(path), line),
            f"The byte 0x{error.object[error.start]:02x} is no UTF-8. Save the file as UTF-8.",
        )
    except OSError as error:
        mistakes.add(mark, f"The file cannot be read: {error.strerror}.")
    raise SpecError(mistakes.found)


def _place_of(error: Any, file: str) -> Mark:
    mark = error.problem_mark or error.context_mark
    return Mark(file, mark.line + 1, mark.column + 1) if mark else Mark(file)


def _explained(error: Any) -> str:
    if "single document" in str(error.context):
        return "A reward file holds one document. Take out the `---`, or make it another file."
    problem = str(error.problem)
    if problem.startswith("maximum depth"):
        return _too_deep()
    advice = next(
        (advice for clue, advice in _ADVICE.items() if clue in problem),
        "Look at the indentation, brackets and quotes here and just above.",
    )
    return f"This is no YAML: {problem}. {advice}"


def _too_deep() -> str:
    return f"Nested deeper than {MAX_DEPTH} levels, or an alias that holds itself. Simplify."


class _Tree:
    """Turns the tree that ruamel composed into nodes. Aliases are written out."""

    def __init__(self, file: str, constructor: Any, mistakes: Mistakes) -> None:
        self.file = file
        self.constructor = constructor
        self.mistakes = mistakes
        self.count = 0

    def node(self, raw: Any, key: Mark | None = None, depth: int = 0) -> Node:
        mark = self.mark(raw)
        self.count += 1
        if self.count > MAX_NODES:
            problem = f"More than {MAX_NODES} values, those that aliases repeat among them."
            raise _Refused(mark, problem)
        if depth > MAX_DEPTH:
            raise _Refused(mark, _too_deep())
        tag = str(raw.tag).rpartition(":")[2]
        if tag == "map":
            return Node(self.mapping(raw, depth), mark, key or mark)
        if tag == "seq":
            items = [self.node(item, None, depth + 1) for item in raw.value]
            return Node(items, mark, key or mark)
        value = self.scalar(raw, tag, mark)
        return Node(value, mark, key or mark, _inset(raw) if isinstance(value, str) else None)

    def mapping(self, raw: Any, depth: int) -> dict[str, Node]:
        fields: dict[str, Node] = {}
        for raw_key, raw_value in raw.value:
            mark = self.mark(raw_key)
            if not isinstance(raw_key.value, str):
                self.mistakes.add(mark, "A key is a word, not a list or a mapping.")
                continue
            name = raw_key.value
            node = self.node(raw_value, mark, depth + 1)
            if name in fields:
                first = fields[name].key.line
                problem = f"`{name}` was already written on line {first}. Keep one of the two."
                self.mistakes.add(mark, problem)
                continue
            fields[name] = node
        return fields

    def mark(self, raw: Any) -> Mark:
        return Mark(self.file, raw.start_mark.line + 1, raw.start_mark.column + 1)

    def scalar(self, raw: Any, tag: str, mark: Mark) -> Scalar:
        if tag == "null":
            return None
        if tag in _KINDS:
            try:
                value: Scalar = getattr(self.constructor, f"construct_yaml_{tag}")(raw)
            except ValueError:
                raise _Refused(mark, f"{raw.value[:20]}... is no number that fits.") from None
            if isinstance(value, float) and not math.isfinite(value):
                raise _Refused(mark, f"`{raw.value}` is no finite number.")
            return value
        # Dates and the like are text here: a reward file knows the values of JSON only.
        if isinstance(raw.value, str) and tag in {"str", "timestamp", "value", "merge"}:
            return _whole(raw.value, mark)
        raise _Refused(mark, f"The tag `{raw.tag}` means nothing here. Leave it out.")


def _whole(text: str, mark: Mark) -> str:
    """Return ``text``, refused where it holds half of a character, which no file can hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _Refused(mark, "The text holds half of a surrogate pair. Write the character itself.")
    return text


def _inset(raw: Any) -> int | None:
    """Return how far the text begins after its mark, or None where it is escaped or folded."""
    start, end = raw.start_mark, raw.end_mark
    quotes = {None: 0, "'": 1, '"': 1}.get(raw.style)
    if quotes is None or start.line != end.line:
        return None
    return quotes if end.column - start.column == len(raw.value) + 2 * quotes else None


def _bare(value: Any, path: str, depth: int) -> Node:
    nowhere = Mark()
    if depth > MAX_DEPTH:
        raise _Refused(nowhere, _too_deep())
    if isinstance(value, Mapping):
        mapping = cast("Any", value)
        fields = {
            str(name): _bare(item, f"{path}.{name}" if path else str(name), depth + 1)
            for name, item in mapping.items()
        }
        return Node(fields, nowhere, nowhere)
    if isinstance(value, list | tuple):
        listed = enumerate(cast("Sequence[Any]", value))
        items = [_bare(item, f"{path}[{index}]", depth + 1) for index, item in listed]
        return Node(items, nowhere, nowhere)
    if isinstance(value, str):
        return Node(_whole(value, nowhere), nowhere, nowhere)
    if value is None or isinstance(value, bool | int):
        return Node(value, nowhere, nowhere)
    if isinstance(value, float) and math.isfinite(value):
        return Node(value, nowhere, nowhere)
    what = f"{value}" if isinstance(value, float) else f"a {type(value).__name__}"
    raise _Refused(
        nowhere,
        f"`{path}` is {what}. A reward spec holds text, finite numbers, true, false, null, lists "
        "and mappings.",
    )
