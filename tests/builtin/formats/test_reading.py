from pathlib import Path

import pytest

from rewardhub import RowError, UsageError, read_trajectories, registry_of

ROWS = """\
{"prompt": "1 + 1?", "completion": "2"}
nonsense
{"prompt": "2 + 2?", "completion": "4"}
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(ROWS)
    return path


def test_a_bad_row_ends_the_reading_and_says_where_it_is(rows: Path) -> None:
    found = read_trajectories(rows, registry=registry_of())
    assert next(found).final_text == "2"
    with pytest.raises(RowError, match=r"rows\.jsonl, row 2: the row is no JSON"):
        next(found)


def test_bad_rows_are_left_out_where_that_is_asked(rows: Path) -> None:
    found = read_trajectories(rows, registry=registry_of(), strict=False)
    assert [(each.id, each.final_text) for each in found] == [
        ("rows.jsonl:1", "2"),
        ("rows.jsonl:3", "4"),
    ]


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "1 + 1?", "completion": "2", "gold": "2"}\n')
    (found,) = read_trajectories(path, registry=registry_of(), mapping={"reference": "gold"})
    assert found.task.reference == "2"


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        next(read_trajectories(tmp_path / "none.jsonl", registry=registry_of()))
