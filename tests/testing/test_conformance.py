"""The conformance kits, held to readers and writers that keep or break their promises."""

import json
import uuid

import pytest

from rewardhub.builtin.formats import reader_cards, writer_cards
from rewardhub.contracts import RawRow, Reader, Writer
from rewardhub.errors import RecordError, RowError, UsageError
from rewardhub.host import ReaderCard, WriterCard
from rewardhub.records import read_trajectory
from rewardhub.testing import ReaderContract, WriterContract, make_trajectory

SAMPLE = b"\n".join(
    make_trajectory(text, prompt="Q", id=f"t{number}").to_json()
    for number, text in enumerate(("a", "b"))
)


class LinesReader(Reader):
    def rows(self, path):
        if not path.exists():
            raise UsageError(f"`{path}` is missing.")
        lines = path.read_bytes().split(b"\n")
        return iter([RawRow(number, line) for number, line in enumerate(lines, 1) if line])

    def parse(self, row, options):
        if row.error:
            raise RowError(row.error)
        try:
            return read_trajectory(row.data)
        except RecordError as error:
            raise RowError(str(error)) from None


class LinesWriter(Writer):
    def write(self, rows, stream):
        for row in rows:
            stream.write(json.dumps([row["id"], row["reward"]["value"]]).encode() + b"\n")


def is_lines(head):
    return head.startswith(b'{"schema_version"')


class TestLinesReader(ReaderContract):
    card = ReaderCard(name="lines", reader=LinesReader, recognises=is_lines, suffixes=(".jsonl",))
    sample = SAMPLE
    broken_rows = (b"{", b"[]")


class TestLinesWriter(WriterContract):
    card = WriterCard(name="lines", writer=LinesWriter, suffixes=(".jsonl",))

    def read_back(self, data):
        return [json.loads(line) for line in data.splitlines()]

    def kept(self, row):
        return [row["id"], row["reward"]["value"]]


class TestNativeReader(ReaderContract):
    card = next(card for card in reader_cards() if card.name == "native")
    sample = SAMPLE
    broken_rows = (b"{", b"[]", b'{"steps": []}')


class TestJsonLinesWriter(WriterContract):
    card = next(card for card in writer_cards() if ".jsonl" in card.suffixes)

    def read_back(self, data):
        return [json.loads(line) for line in data.splitlines()]

    def kept(self, row):
        return row


def contract_of(reader, recognises=is_lines, **attributes):
    card = ReaderCard(name="wrong", reader=reader, recognises=recognises)
    given = {"card": card, "sample": SAMPLE, "broken_rows": (b"{",), **attributes}
    return type("WrongReader", (ReaderContract,), given)()


class RandomIds(LinesReader):
    def parse(self, row, options):
        return super().parse(row, options).replace(id=uuid.uuid4().hex)


class OneId(LinesReader):
    def parse(self, row, options):
        return super().parse(row, options).replace(id="same")


class Raises(LinesReader):
    def parse(self, row, options):
        return read_trajectory(row.data).replace(id=str(row.number))


class Remembers(LinesReader):
    def __init__(self):
        self.last = ""

    def parse(self, row, options):
        found = super().parse(row, options)
        self.last, before = found.final_text, self.last
        return found.replace(reason=before)


class RowsFromZero(LinesReader):
    def rows(self, path):
        return (row._replace(number=row.number - 1) for row in super().rows(path))


class Forgiving(LinesReader):
    def parse(self, row, options):
        try:
            return super().parse(row, options)
        except RowError:
            return make_trajectory("", id="empty")


class Careless(LinesReader):
    def rows(self, path):
        return iter([RawRow(1, path.read_bytes())])


@pytest.mark.parametrize(
    ("reader", "test", "error"),
    [
        (RandomIds, "test_reads_equal_trajectories_twice", AssertionError),
        (OneId, "test_gives_each_trajectory_its_own_id", AssertionError),
        (Raises, "test_survives_damaged_rows", RecordError),
        (Raises, "test_calls_a_row_that_was_not_cut_a_row_error", RecordError),
        (Remembers, "test_keeps_no_state_between_rows", AssertionError),
        (RowsFromZero, "test_numbers_rows_upwards_from_one", AssertionError),
        (Careless, "test_says_that_a_file_is_missing", FileNotFoundError),
    ],
)
def test_catches_a_reader_that_breaks_its_promise(tmp_path, reader, test, error):
    contract = contract_of(reader)
    arguments = [] if "not_cut" in test else [tmp_path]
    with pytest.raises(error):
        getattr(contract, test)(*arguments)


def test_catches_a_reader_that_takes_broken_rows():
    with pytest.raises(AssertionError, match="was read as a trajectory"):
        contract_of(Forgiving).test_calls_a_broken_row_a_row_error()


def test_catches_a_reader_that_recognises_anything():
    contract = contract_of(LinesReader, recognises=lambda head: True)
    with pytest.raises(AssertionError):
        contract.test_recognises_neither_nothing_nor_noise()


def test_catches_a_reader_that_does_not_know_its_own_format():
    with pytest.raises(AssertionError):
        contract_of(LinesReader, recognises=lambda head: False).test_recognises_its_sample()


def test_catches_a_sample_that_proves_nothing(tmp_path):
    contract = contract_of(LinesReader, sample=SAMPLE.splitlines()[0])
    with pytest.raises(AssertionError, match="give it two at least"):
        contract.test_numbers_rows_upwards_from_one(tmp_path)


def writer_contract_of(write):
    made = type("Odd", (Writer,), {"write": lambda self, rows, stream: write(rows, stream)})
    attributes = {"card": WriterCard(name="wrong", writer=made)}
    return type("WrongWriter", (TestLinesWriter,), attributes)()


def line(row):
    return json.dumps([row["id"], row["reward"]["value"]]).encode() + b"\n"


def test_catches_a_writer_that_loses_rows():
    contract = writer_contract_of(lambda rows, stream: stream.write(line(next(rows))))
    with pytest.raises(AssertionError):
        contract.test_loses_nothing_that_it_keeps()


def test_catches_a_writer_that_closes_the_stream():
    with pytest.raises(AssertionError, match="leave it open"):
        writer_contract_of(lambda rows, stream: stream.close()).test_writes_a_file_without_rows()


def test_catches_a_writer_with_a_clock():
    contract = writer_contract_of(lambda rows, stream: stream.write(uuid.uuid4().bytes))
    with pytest.raises(AssertionError):
        contract.test_writes_the_same_bytes_twice()


def test_catches_a_writer_that_changes_its_rows():
    contract = writer_contract_of(lambda rows, stream: [row.pop("id") for row in rows])
    contract.rows = [{"id": "a", "reward": {"value": 1.0}}]
    with pytest.raises(AssertionError):
        contract.test_changes_no_row()
