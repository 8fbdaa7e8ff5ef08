"""Conformance kits: what every reader and every writer promises, as tests to inherit."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RowError, UsageError
from rewardhub.host import ReaderCard, WriterCard
from rewardhub.records import (
    Part,
    Reward,
    Score,
    SpecInfo,
    StepValue,
    Trajectory,
    read_trajectory,
)
from rewardhub.testing.make import make_trajectory


class ReaderContract:
    """What every reader promises. Subclass it in a test file and say what is read::

        class TestMyReader(ReaderContract):
            card = MY_CARD
            sample = b"..."
            broken_rows = (b"...",)

    Attributes:
        card: the reader's card.
        sample: a small file of the format with at least two rows, all of them good.
        broken_rows: what a row of the format may hold that is no trajectory.
        options: how rows become trajectories.
    """

    card: ReaderCard
    sample: bytes
    broken_rows: Sequence[bytes]
    options: ReadOptions = ReadOptions(source="sample")

    def make_reader(self) -> Reader:
        """Return a fresh reader."""
        return self.card.reader()

    def write_sample(self, folder: Path) -> Path:
        """Return the path of the sample, written into ``folder``."""
        path = folder / f"sample{next(iter(self.card.suffixes), '')}"
        path.write_bytes(self.sample)
        return path

    def rows_of_sample(self, folder: Path) -> list[RawRow]:
        """Return the rows of the sample; there are at least two."""
        rows = list(self.make_reader().rows(self.write_sample(folder)))
        assert len(rows) >= 2, f"the sample has {len(rows)} rows: give it two at least"
        return rows

    def read_sample(self, folder: Path) -> list[Trajectory]:
        """Return the trajectories of the sample."""
        read = list(self.make_reader().read(self.write_sample(folder), self.options))
        errors = [str(each) for each in read if isinstance(each, RowError)]
        assert not errors, f"the sample has broken rows: {errors}"
        return [each for each in read if isinstance(each, Trajectory)]

    def test_recognises_its_sample(self) -> None:
        """The first bytes of a file of the format are recognised."""
        assert self.card.recognises(self.sample[:65536])

    def test_recognises_neither_nothing_nor_noise(self) -> None:
        """An empty file and random bytes are not taken for the format."""
        assert not self.card.recognises(b"")
        assert not self.card.recognises(bytes(range(255, 127, -1)) * 8)

    def test_numbers_rows_upwards_from_one(self, tmp_path: Path) -> None:
        """Rows come in order; numbers may leave gaps (blank lines), and never repeat."""
        numbers = [row.number for row in self.rows_of_sample(tmp_path)]
        assert numbers[0] >= 1
        assert numbers == sorted(set(numbers)), numbers

    def test_reads_equal_trajectories_twice(self, tmp_path: Path) -> None:
        """Ids come from the file, or from source and row: never from chance."""
        assert self.read_sample(tmp_path) == self.read_sample(tmp_path)

    def test_gives_each_trajectory_its_own_id(self, tmp_path: Path) -> None:
        """No two trajectories of the sample share an id."""
        ids = [trajectory.id for trajectory in self.read_sample(tmp_path)]
        assert len(set(ids)) == len(ids), ids

    def test_keeps_no_state_between_rows(self, tmp_path: Path) -> None:
        """Rows are parsed in any order, by any reader, with the same result."""
        rows = self.rows_of_sample(tmp_path)
        in_order = [self.make_reader().parse(row, self.options) for row in rows]
        one_reader = self.make_reader()
        reversed_order = [one_reader.parse(row, self.options) for row in reversed(rows)]
        assert reversed_order[::-1] == in_order

    def test_loses_nothing_as_json(self, tmp_path: Path) -> None:
        """A trajectory that was read survives being written and read as a record."""
        for trajectory in self.read_sample(tmp_path):
            assert read_trajectory(trajectory.to_json()) == trajectory

    def test_calls_a_broken_row_a_row_error(self) -> None:
        """What is no trajectory raises RowError with a reason, and nothing else."""
        assert self.broken_rows, "say what a broken row looks like"
        for data in self.broken_rows:
            error = self.error_of(data)
            assert isinstance(error, RowError), f"{data!r} was read as a trajectory"
            assert str(error), f"{data!r} is refused without a reason"

    def test_calls_a_row_that_was_not_cut_a_row_error(self) -> None:
        """The error of a row that could not be cut out of the file is its RowError."""
        import pytest

        row = RawRow(1, b"", "the row is over the limit of 16 MB")
        with pytest.raises(RowError, match="over the limit"):
            self.make_reader().parse(row, self.options)

    def test_survives_damaged_rows(self, tmp_path: Path) -> None:
        """Damaged rows give a trajectory or a RowError: no other exception stops a run."""
        for row in self.rows_of_sample(tmp_path):
            for data in _damaged(row.data):
                self.error_of(data)

    def test_says_that_a_file_is_missing(self, tmp_path: Path) -> None:
        """A missing file is the user's mistake, said in a sentence."""
        import pytest

        with pytest.raises(UsageError, match="missing"):
            list(self.make_reader().rows(tmp_path / "missing"))

    def error_of(self, data: bytes) -> RowError | None:
        """Return the RowError of a row with these bytes, or None if it is a trajectory."""
        try:
            self.make_reader().parse(RawRow(1, data), self.options)
        except RowError as error:
            return error
        return None


def _damaged(data: bytes) -> Iterator[bytes]:
    """Yield rows as broken disks, editors and scripts leave them."""
    for part in range(8):
        yield data[: len(data) * part // 8]
    middle = len(data) // 2
    yield data[:middle] + b"\xff\xfe" + data[middle:]
    yield data[:middle] + b"\x00" + data[middle:]
    yield data + data
    yield from (b"null", b"[]", b"{}", b"0", b'""', b"NaN", b'"\\ud800"', b"[" * 5000)


class WriterContract:
    """What every writer promises. Subclass it in a test file::

        class TestMyWriter(WriterContract):
            card = MY_CARD

            def read_back(self, data): ...
            def kept(self, row): ...

    Attributes:
        card: the writer's card.
        rows: ledger rows to write; by default one of each kind.
    """

    card: WriterCard
    rows: Sequence[Mapping[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give the class the default rows where it has none of its own."""
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "rows"):
            cls.rows = ledger_rows()

    def read_back(self, data: bytes) -> Sequence[Any]:
        """Return what stands in a written file: one value for each row."""
        raise NotImplementedError(f"{type(self).__name__} must define `read_back`")

    def kept(self, row: Mapping[str, Any]) -> Any:
        """Return what the format keeps of a ledger row: what `read_back` gives for it."""
        raise NotImplementedError(f"{type(self).__name__} must define `kept`")

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Return ``rows`` as a file of the format; they are handed over one by one, once."""
        stream = io.BytesIO()
        self.card.writer().write(iter(rows), cast("BinaryIO", stream))
        assert not stream.closed, "the stream belongs to the caller: leave it open"
        return stream.getvalue()

    def test_loses_nothing_that_it_keeps(self) -> None:
        """What is read back is what was written, in order."""
        assert list(self.read_back(self.written(self.rows))) == [
            self.kept(row) for row in self.rows
        ]

    def test_writes_a_file_without_rows(self) -> None:
        """No rows make a file that reads back as no rows."""
        assert list(self.read_back(self.written(()))) == []

    def test_writes_the_same_bytes_twice(self) -> None:
        """Equal rows make equal files: no clock, no chance."""
        assert self.written(self.rows) == self.written(self.rows)

    def test_changes_no_row(self) -> None:
        """The rows are the caller's."""
        before = json.dumps(self.rows)
        self.written(self.rows)
        assert json.dumps(self.rows) == before


def ledger_rows() -> list[dict[str, Any]]:
    """Return ledger rows as JSON values: a scored one, a gated one, an unscored one."""
    from rewardhub.engine.rows import ledger_line

    spec = SpecInfo("sample", "1", "0" * 32)
    given = Score.of(
        0.5,
        'half, "quoted", \u00e9\u4e2d\U0001f600\n',
        step_values=[StepValue(0, 1.0), StepValue(1, 0.0, 0, 2)],
        metrics={"words": 3.0},
        evidence={"seen": [None, {"deep": True}]},
    ).signed("sample/half", 0.25)
    rewards = [
        Reward(
            0.5,
            True,
            step_rewards=(0.5, 0.0),
            parts=(Part("half", "outcome", 1.0, given, 0.5),),
            spec=spec,
        ),
        Reward(
            -1.0,
            False,
            reason="the gate `format` closed",
            step_rewards=(0.0, -1.0),
            unplaced=-1.0,
            parts=(Part("half", "outcome", 1.0, None, 0.0, "behind the gate"),),
            decided_by="format",
            spec=spec,
        ),
        Reward.unscored("infrastructure", "the sandbox is gone", spec=spec),
    ]
    attempts = [
        make_trajectory(["first", "last"], prompt="Question?", id=f"sample:{number}")
        for number in range(1, len(rewards) + 1)
    ]
    return [
        json.loads(ledger_line(attempt, reward, 0, number, "0" * 32))
        for number, (attempt, reward) in enumerate(zip(attempts, rewards, strict=True), 1)
    ]
