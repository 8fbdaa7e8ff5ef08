import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardhub.builtin.formats import reader_for, writer_for
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import UnknownNameError, UsageError
from rewardhub.host import ReaderCard, Registry, registry_of
from rewardhub.records import Message, Step, Task, Trajectory

CHAT = {"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]}
PAIR = {"prompt": "1+1?", "completion": "2"}
RECORD = Trajectory(task=Task(messages=(Message(role="user", content="1+1?"),)), steps=(Step(),))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return registry_of()


def write(folder: Path, *rows: Any, name: str = "rows") -> Path:
    path = folder / name
    path.write_bytes(b"".join(row if isinstance(row, bytes) else line(row) for row in rows))
    return path


def line(row: Any) -> bytes:
    return json.dumps(row).encode() + b"\n"


def reader_of(path: Path, registry: Registry, **mapping: str) -> str:
    return reader_for(path, registry, mapping=mapping).card.name


@pytest.mark.parametrize(
    ("row", "reader"), [(CHAT, "chat"), (PAIR, "completion"), (CHAT | PAIR, "completion")]
)
def test_recognises_a_shape_by_its_columns(
    row: Any, reader: str, tmp_path: Path, registry: Registry
) -> None:
    assert reader_of(write(tmp_path, row), registry) == reader


def test_recognises_trajectory_records(tmp_path: Path, registry: Registry) -> None:
    assert reader_of(write(tmp_path, RECORD.to_json() + b"\n"), registry) == "native"


def test_recognises_compressed_files(tmp_path: Path, registry: Registry) -> None:
    assert reader_of(write(tmp_path, gzip.compress(line(CHAT))), registry) == "chat"


def test_recognises_parquet_by_the_first_row(tmp_path: Path, registry: Registry) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([PAIR]), tmp_path / "rows")
    assert reader_of(tmp_path / "rows", registry) == "completion"


def test_recognises_a_first_row_that_is_longer_than_the_head(
    tmp_path: Path, registry: Registry
) -> None:
    path = write(tmp_path, {"padding": "x" * 200_000} | CHAT)
    assert reader_of(path, registry) == "chat"


def test_recognises_mapped_columns(tmp_path: Path, registry: Registry) -> None:
    path = write(tmp_path, {"q": "1+1?", "a": {"b": "2"}})
    assert reader_of(path, registry, prompt="q", completion="a.b") == "completion"
    assert reader_of(path, registry, messages="q") == "chat"


def test_mapped_fields_say_more_than_columns(tmp_path: Path, registry: Registry) -> None:
    path = write(tmp_path, CHAT | {"answer": "2", "completion": "3"})
    assert reader_of(path, registry, prompt="messages", completion="answer") == "completion"
    assert reader_of(path, registry, messages="messages") == "chat"
    assert reader_of(path, registry, reference="answer") == "completion"


def test_looks_past_blank_and_broken_rows(tmp_path: Path, registry: Registry) -> None:
    assert reader_of(write(tmp_path, b"\n", b"{broken\n", b"[1]\n", CHAT), registry) == "chat"


def test_takes_the_named_reader(tmp_path: Path, registry: Registry) -> None:
    path = write(tmp_path, CHAT)
    assert reader_for(path, registry, named="native", mapping={}).card.name == "native"
    with pytest.raises(UnknownNameError, match="Did you mean `chat`"):
        reader_for(path, registry, named="chats", mapping={})


def test_shows_the_columns_that_nobody_knows(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError) as error:
        reader_of(write(tmp_path, {"question": "1+1?", "answer": "2"}), registry)
    message = str(error.value)
    assert "its first row has the columns `question`, `answer`" in message
    assert "--map prompt=COLUMN" in message
    assert "`chat`: " in message


def test_tells_how_to_cut_an_array_into_rows(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError, match=r"one JSON array.*jq -c '\.\[\]'"):
        reader_of(write(tmp_path, json.dumps([CHAT], indent=1).encode()), registry)


def test_tells_how_to_put_objects_on_one_line_each(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError, match=r"jq -c \. "):
        reader_of(write(tmp_path, json.dumps(CHAT, indent=1).encode()), registry)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_refuses_an_empty_file(content: bytes, tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError, match="is empty"):
        reader_of(write(tmp_path, content), registry)


def test_refuses_a_file_without_one_good_row(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError, match="no row that can be read: the row is no JSON"):
        reader_of(write(tmp_path, b"once upon a time\n" * 500), registry)


class Lines(Reader):
    def rows(self, path: Path) -> Iterator[RawRow]:
        yield RawRow(1, path.read_bytes())

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        return RECORD


def card(name: str, magic: bytes = b"", rank: int = 0, suffix: str = "") -> ReaderCard:
    suffixes = (suffix,) if suffix else ()
    return ReaderCard(
        name=name,
        reader=Lines,
        recognises=lambda head: head.startswith(magic),
        rank=rank,
        suffixes=suffixes,
    )


def test_another_readers_bytes_come_first(tmp_path: Path) -> None:
    path = write(tmp_path, b"PAR1 but ours")
    assert reader_of(path, registry_of(card("ours", b"PAR1"))) == "ours"


def test_the_highest_rank_wins(tmp_path: Path) -> None:
    path = write(tmp_path, CHAT)
    assert reader_of(path, registry_of(card("loud", rank=1))) == "loud"
    assert reader_of(path, registry_of(card("shy", rank=-1))) == "chat"


def test_a_tie_goes_to_the_ending_of_the_name(tmp_path: Path) -> None:
    plugin = registry_of(card("log", suffix=".log"))
    assert reader_of(write(tmp_path, CHAT, name="a.log"), plugin) == "log"
    with pytest.raises(UsageError, match="`--reader chat` or `--reader log`"):
        reader_of(write(tmp_path, CHAT, name="a.txt"), plugin)


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("r.jsonl", "jsonl"),
        ("r.v1.jsonl.gz", "jsonl-gzip"),
        ("r.jsonl.zst", "jsonl-zstd"),
        ("r.parquet", "parquet"),
    ],
)
def test_a_writer_is_chosen_by_the_ending(name: str, writer: str, registry: Registry) -> None:
    assert writer_for(Path(name), registry).card.name == writer


def test_lists_the_endings_that_can_be_written(registry: Registry) -> None:
    with pytest.raises(UsageError, match=r"`r\.csv`.*\.jsonl, .*\.parquet"):
        writer_for(Path("r.csv"), registry)
