from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewardhub.errors import SpecError
from rewardhub.spec import source
from rewardhub.spec.source import node_of, read_yaml

FOLDER_FULL_OF_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
)


def refusal(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    Path("spec.yaml").write_bytes(data)
    with pytest.raises(SpecError) as caught:
        read_yaml(Path("spec.yaml"))
    return [str(mistake) for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "spec.yaml:1:1: The file is empty. Begin with `rewardhub: 1`."),
        ("# a comment\n", "spec.yaml:1:1: The file is empty. Begin with `rewardhub: 1`."),
        ("- 1\n", "spec.yaml:1:1: A reward file is a mapping: begin with `rewardhub: 1`."),
        ("text\n", "spec.yaml:1:1: A reward file is a mapping: begin with `rewardhub: 1`."),
        (
            "a: 1\n---\nb: 2\n",
            ("spec.yaml:2:1: A reward file holds one document. Take out the `---`, or make it "
            "another file."),
        ),
        (
            "a: 1\nb: 2\na: 3\n",
            "spec.yaml:3:1: `a` was already written on line 1. Keep one of the two.",
        ),
        (
            "a: b: c\n",
            ("spec.yaml:1:5: This is no YAML: mapping values are not allowed here. Text with `: ` "
            "in it needs quotes."),
        ),
        (
            "a: [1, 2\n",
            ("spec.yaml:2:1: This is no YAML: expected ',' or ']', but got '<stream end>'. Look at "
            "the indentation, brackets and quotes here and just above."),
        ),
        (
            "a:\n\t- 1\n",
            ("spec.yaml:2:1: This is no YAML: found character '\\t' that cannot start any token. "
            "Indent with spaces, not tabs."),
        ),
        (
            "a: *b\n",
            ("spec.yaml:1:4: This is no YAML: found undefined alias 'b'. Write `&name` before "
            "`*name`, or quote text that begins with `*`."),
        ),
        (
            "a: @b\n",
            ("spec.yaml:1:4: This is no YAML: found character '@' that cannot start any token. "
            "Quote text that begins with this character."),
        ),
        (
            "a: \x00\n",
            ("spec.yaml:1:1: This is no YAML: unacceptable character #x0000: special characters "
            "are not allowed."),
        ),
        ("a: !!python/name:os.system x\n",
         ("spec.yaml:1:4: The tag `tag:yaml.org,2002:python/name:os.system` means nothing here. "
         "Leave it out.")),
        ("a: !mine x\n", "spec.yaml:1:4: The tag `!mine` means nothing here. Leave it out."),
        (
            'a: "\\ud83d"\n',
            "spec.yaml:1:4: The text holds half of a surrogate pair. Write the character itself.",
        ),
        ("a: .nan\n", "spec.yaml:1:4: `.nan` is no finite number."),
        ("a: [1, -.inf]\n", "spec.yaml:1:8: `-.inf` is no finite number."),
        ("? [a]\n: 1\n", "spec.yaml:1:3: A key is a word, not a list or a mapping."),
        (
            f"a: {'9' * 5000}\n",
            "spec.yaml:1:4: 99999999999999999999... is no number that fits.",
        ),
    ],
)  # fmt: skip
def test_refuses_what_is_no_reward_file(text: str, message: str) -> None:
    assert refusal(text) == [message]


def test_lists_every_key_that_is_written_twice() -> None:
    assert refusal("a: 1\nb: {c: 1, c: 2}\na: 3\n") == [
        "spec.yaml:2:11: `c` was already written on line 2. Keep one of the two.",
        "spec.yaml:3:1: `a` was already written on line 1. Keep one of the two.",
    ]


def test_says_which_byte_is_no_utf_8() -> None:
    assert refusal(b"a: 1\nb: caf\xe9\n") == [
        "spec.yaml:2: The byte 0xe9 is no UTF-8. Save the file as UTF-8."
    ]


def test_reads_a_file_that_begins_with_a_byte_order_mark() -> None:
    Path("spec.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(Path("spec.yaml")).plain == {"a": 1}


def test_names_the_file_that_was_probably_meant() -> None:
    Path("strict.yaml").write_text("a: 1\n")
    with pytest.raises(SpecError) as caught:
        read_yaml(Path("strct.yaml"))
    assert str(caught.value) == "strct.yaml: There is no such file. Did you mean `strict.yaml`?"


def test_says_that_a_folder_cannot_be_read() -> None:
    Path("spec.yaml").mkdir()
    with pytest.raises(SpecError) as caught:
        read_yaml(Path("spec.yaml"))
    assert str(caught.value) == "spec.yaml: The file cannot be read: Is a directory."


def test_refuses_a_file_that_is_too_large() -> None:
    assert refusal("#" * (source.MAX_BYTES + 1)) == [
        "spec.yaml: The file has 131073 bytes; a reward file has at most 131072."
    ]


def test_refuses_aliases_that_multiply() -> None:
    (message,) = refusal(FOLDER_FULL_OF_LAUGHS)
    assert message.endswith(": More than 20000 values, those that aliases repeat among them.")


@pytest.mark.parametrize("text", ["[" * 200, "a: &a [*a]\n", "a: " + "[" * 60 + "]" * 60])
def test_refuses_what_nests_too_deep(text: str) -> None:
    (message,) = refusal(text)
    assert message.endswith(
        "Nested deeper than 40 levels, or an alias that holds itself. Simplify."
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("=", "="),
        ("010", 10),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("[a, {b: 0.5}]", ["a", {"b": 0.5}]),
    ],
)
def test_reads_scalars_as_yaml_1_2_does(text: str, value: Any) -> None:
    Path("spec.yaml").write_text(f"a: {text}\n")
    assert read_yaml(Path("spec.yaml")).plain == {"a": value}


def test_writes_anchors_out() -> None:
    Path("spec.yaml").write_text("a: &x {b: 1}\nc: *x\n")
    assert read_yaml(Path("spec.yaml")).plain == {"a": {"b": 1}, "c": {"b": 1}}


def test_an_anchor_may_be_used_again() -> None:
    Path("spec.yaml").write_text("a: [&x 1, *x, &x 2, *x]\n")
    assert read_yaml(Path("spec.yaml")).plain == {"a": [1, 1, 2, 2]}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a: b > 1", 8),
        ("a: 'b > 1'", 9),
        ('a: "b > 1"', 9),
        ('a: "\\x62 > 1"', 4),
        ("a: >\n  b", 4),
    ],
)
def test_knows_where_a_character_of_a_text_stands(text: str, column: int) -> None:
    Path("spec.yaml").write_text(text)
    assert read_yaml(Path("spec.yaml")).fields["a"].inside(4).column == column


def test_a_mapping_from_python_has_no_places() -> None:
    node = node_of({"a": ({"b": None},)})
    assert node.plain == {"a": [{"b": None}]}
    assert node.fields["a"].mark.line is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [{"b": {1}}]}, "`a[0].b` is a set."),
        ({"a": float("nan")}, "`a` is nan."),
        ({"a": b"x"}, "`a` is a bytes."),
    ],
)
def test_refuses_what_yaml_could_not_hold(value: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        node_of(value)
    assert str(caught.value) == (
        f"{message} A reward spec holds text, finite numbers, true, false, null, lists and "
        "mappings."
    )


def test_refuses_a_mapping_that_holds_itself() -> None:
    value: dict[str, Any] = {}
    value["a"] = value
    with pytest.raises(SpecError, match="Nested deeper than 40 levels"):
        node_of(value)
