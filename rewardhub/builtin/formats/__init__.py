"""The file formats that rewardhub ships: our rows, and other projects' rows; files out."""

from collections.abc import Iterator

from rewardhub.builtin.formats.analysis import PartsWriter, RewardJsonWriter
from rewardhub.builtin.formats.columns import read_mapping
from rewardhub.builtin.formats.cutting import MAX_ROW_BYTES
from rewardhub.builtin.formats.foreign import foreign_cards
from rewardhub.builtin.formats.readers import ChatReader, CompletionReader, NativeReader
from rewardhub.builtin.formats.recognise import (
    is_chat,
    is_completion,
    is_native,
    reader_for,
    writer_for,
)
from rewardhub.builtin.formats.writers import (
    GzipLinesWriter,
    JsonLinesWriter,
    ParquetWriter,
    ZstdLinesWriter,
)
from rewardhub.host.cards import ReaderCard, WriterCard

__all__ = [
    "MAX_ROW_BYTES",
    "read_mapping",
    "reader_cards",
    "reader_for",
    "writer_cards",
    "writer_for",
]


def reader_cards() -> Iterator[ReaderCard]:
    """Yield the cards of the built-in readers."""
    yield ReaderCard(
        name="native",
        reader=NativeReader,
        recognises=is_native,
        description="Trajectory records, one per row",
    )
    yield ReaderCard(
        name="chat",
        reader=ChatReader,
        recognises=is_chat,
        description="`messages` in the shape of the OpenAI chat API",
    )
    yield ReaderCard(
        name="completion",
        reader=CompletionReader,
        recognises=is_completion,
        description="`prompt` and `completion`: texts or messages",
    )
    yield from foreign_cards()


def writer_cards() -> Iterator[WriterCard]:
    """Yield the cards of the built-in writers."""
    yield WriterCard(
        name="jsonl",
        writer=JsonLinesWriter,
        suffixes=(".jsonl", ".ndjson"),
        description="JSON lines",
    )
    yield WriterCard(
        name="jsonl-gzip",
        writer=GzipLinesWriter,
        suffixes=(".jsonl.gz", ".ndjson.gz"),
        description="JSON lines, compressed with gzip",
    )
    yield WriterCard(
        name="jsonl-zstd",
        writer=ZstdLinesWriter,
        suffixes=(".jsonl.zst", ".ndjson.zst"),
        description="JSON lines, compressed with zstd",
    )
    yield WriterCard(
        name="parquet",
        writer=ParquetWriter,
        suffixes=(".parquet",),
        description="Parquet, with the same columns for every spec",
    )
    yield WriterCard(
        name="parquet-parts",
        writer=PartsWriter,
        suffixes=(".parts.parquet",),
        description="Parquet with one flat row per part, for analysis",
    )
    yield WriterCard(
        name="reward-json",
        writer=RewardJsonWriter,
        suffixes=("reward.json",),
        description="`reward.json`, as a verifier of Harbor writes it",
    )
