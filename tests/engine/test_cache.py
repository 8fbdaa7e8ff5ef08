"""The cache of dear Scores: it may forget, but it never crashes and never gives a wrong Score."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Cache, Engine, store
from rewardhub.host import Registry
from rewardhub.records import Score, Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RESOURCES = {"sandbox": {"use": "echo"}, "judge": {"use": "oracle"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "scores.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[Cache]:
    made = Cache(path)
    yield made
    made.close()


def _calls(log: Path) -> int:
    return len(log.read_text().splitlines())


# --- by hand --------------------------------------------------------------------------------------


def test_gives_back_what_was_put(cache: Cache) -> None:
    score = Score.of(0.5, "half", metrics={"words": 2}, evidence={"a": [1, "x"]}, cost=0.25)
    cache.put("key", score)
    assert cache.get("key") == score
    assert cache.get("another") is None
    assert cache.hits == 1


def test_keeps_what_abstained_but_never_what_failed(cache: Cache) -> None:
    cache.put("abstained", Score.abstain("no reference"))
    cache.put("failed", Score.fail("down", fault="infrastructure"))
    assert cache.get("abstained") == Score.abstain("no reference")
    assert cache.get("failed") is None


def test_keeps_it_for_the_next_process(path: Path) -> None:
    for number in range(2):
        cache = Cache(path)
        assert (cache.get("key") is None) == (number == 0)
        cache.put("key", Score.of(1.0))
        cache.close()


def test_lies_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "here"))
    assert Cache().path == tmp_path / "here" / "scores.sqlite"


def test_lies_in_the_users_cache_folder_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REWARDHUB_CACHE", raising=False)
    assert "rewardhub" in str(Cache().path.parent)


# --- damage ---------------------------------------------------------------------------------------


def _fill(path: Path, rows: int = 200) -> None:
    cache = Cache(path)
    for number in range(rows):
        cache.put(f"key {number}", Score.of(1.0, "x" * 500))
    cache.close()


def _garbage(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"this is no database" * 1000)


def _truncated(path: Path) -> None:
    _fill(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])


def _overwritten(path: Path) -> None:
    _fill(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def _garbage_scores(path: Path) -> None:
    _fill(path)
    database = sqlite3.connect(path)
    database.execute("UPDATE scores SET score = ?", (b'{"status": "graded", "value": 7}',))
    database.commit()
    database.close()


DAMAGES = [_garbage, _truncated, _overwritten, _garbage_scores]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_set_aside_with_a_message(
    damage: Callable[[Path], None], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damage(path)
    cache = Cache(path)
    with caplog.at_level(logging.WARNING, "rewardhub"):
        found = [cache.get(f"key {number}") for number in range(200)]
    assert all(score is None or score.value == 1.0 for score in found)
    cache.put("key 0", Score.of(0.25))
    assert cache.get("key 0") == Score.of(0.25)
    cache.close()
    aside = [each for each in path.parent.iterdir() if "broken" in each.name]
    assert len(aside) == 1
    assert "set aside" in caplog.text
    assert aside[0].name in caplog.text


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_found_when_writing(damage: Callable[[Path], None], path: Path) -> None:
    damage(path)
    cache = Cache(path)
    for number in range(200):
        cache.put(f"new {number}", Score.of(0.5, "y" * 500))
    assert cache.get("new 199") in (None, Score.of(0.5, "y" * 500))
    cache.put("last", Score.of(1.0))
    assert cache.get("last") == Score.of(1.0)
    cache.close()


def test_a_database_of_another_kind_is_left_alone(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE scores (other TEXT)")
    database.commit()
    database.close()
    cache = Cache(path)
    cache.put("key", Score.of(1.0))
    assert cache.get("key") is None
    cache.close()
    assert "not usable" in caplog.text


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "scores.sqlite")
    cache.put("key", Score.of(1.0))
    assert cache.get("key") is None
    cache.close()
    assert "not usable" in caplog.text


WRITER = """
import sys
from pathlib import Path
from rewardhub.engine import Cache
from rewardhub.records import Score

cache = Cache(Path(sys.argv[1]))
for number in range(300):
    cache.put(f"{sys.argv[2]} {number}", Score.of(1.0, sys.argv[2]))
    cache.put(f"both {number}", Score.of(0.5, "shared"))
    assert cache.get(f"{sys.argv[2]} {number}") == Score.of(1.0, sys.argv[2])
cache.close()
"""


def test_two_processes_write_at_once(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=100)
        assert (writer.returncode, errors) == (0, b"")
    cache = Cache(path)
    for number in range(300):
        assert cache.get(f"one {number}") == Score.of(1.0, "one")
        assert cache.get(f"two {number}") == Score.of(1.0, "two")
        assert cache.get(f"both {number}") == Score.of(0.5, "shared")
    cache.close()
    assert not [each for each in path.parent.iterdir() if "broken" in each.name]


# --- through an engine ----------------------------------------------------------------------------


@pytest.fixture
def value_of(plain: Registry, path: Path, log: Path, spec_of: SpecOf) -> Callable[..., Any]:
    """Return a function: the value of an answer by a new engine with the same cache."""

    def value(
        use: str,
        trajectory: Trajectory | None = None,
        *,
        registry: Registry | None = None,
        options: dict[str, Any] | None = None,
        weight: float = 1.0,
        resources: dict[str, Any] | None = None,
        isolate: bool = False,
        **entry: Any,
    ) -> float | None:
        grader = {
            "use": use,
            "as": "part",
            "options": {"log": str(log), **(options or {})},
            **entry,
        }
        needs = {"plain/sandboxed": ["sandbox"], "plain/judged": ["judge"]}.get(use, [])
        found = {name: RESOURCES[name] for name in needs} | (resources or {})
        spec = spec_of(grader, weight=weight) | {"resources": found}
        with Engine(
            spec, registry=registry or plain, workers=1, cache=Cache(path), isolate=isolate
        ) as engine:
            return engine.score(trajectory or make_trajectory("xxxxx")).value

    return value


@pytest.mark.parametrize(
    "use", ["plain/contained", "plain/later", "plain/sandboxed", "plain/judged", "plain/batch"]
)
def test_what_is_dear_is_graded_once(use: str, value_of: Callable[..., Any], log: Path) -> None:
    assert [value_of(use), value_of(use)] == [0.5, 0.5]
    assert _calls(log) == 1


def test_what_is_cheap_is_graded_again(value_of: Callable[..., Any], log: Path) -> None:
    assert [value_of("plain/length"), value_of("plain/length")] == [0.5, 0.5]
    assert _calls(log) == 2


def test_what_is_not_deterministic_is_graded_again(value_of: Callable[..., Any], log: Path) -> None:
    assert [value_of("plain/unsteady"), value_of("plain/unsteady")] == [0.5, 0.5]
    assert _calls(log) == 2


def test_what_failed_is_graded_again(value_of: Callable[..., Any], log: Path) -> None:
    broken = make_trajectory("!")
    assert [value_of("plain/later", broken), value_of("plain/later", broken)] == [None, None]
    assert _calls(log) == 2


def test_the_verdict_on_a_limit_is_kept(value_of: Callable[..., Any], log: Path) -> None:
    endless = make_trajectory("hard and endless")
    assert value_of("plain/guarded", endless) == 0.0
    before = _calls(log)
    assert value_of("plain/guarded", endless) == 0.0
    assert _calls(log) == before + 1  # up to the call that only a worker may do


def test_a_weight_changes_nothing(value_of: Callable[..., Any], log: Path) -> None:
    assert value_of("plain/later", weight=1.0) == 0.5
    assert value_of("plain/later", weight=2.0) == 1.0
    assert _calls(log) == 1


def test_an_id_changes_nothing(value_of: Callable[..., Any], log: Path) -> None:
    first, second = (make_trajectory("xxxxx", prompt="why?", id=name) for name in ("one", "two"))
    assert [value_of("plain/later", first), value_of("plain/later", second)] == [0.5, 0.5]
    assert _calls(log) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"options": {"budget": 5}},
        {"limits": {"wall_seconds": 30}},
        {"trajectory": make_trajectory("xxxxxxxxxx")},
        {"trajectory": make_trajectory("xxxxx", prompt="another question")},
        {"trajectory": make_trajectory("xxxxx", reference="4")},
    ],
    ids=["options", "limits", "answer", "question", "reference"],
)
def test_whatever_a_score_depends_on_makes_another(
    changed: dict[str, Any], value_of: Callable[..., Any], log: Path
) -> None:
    value_of("plain/later")
    value_of("plain/later", **changed)
    assert _calls(log) == 2


@pytest.mark.parametrize(
    ("use", "resources"),
    [
        ("plain/sandboxed", {"sandbox": {"use": "echo", "level": 2}}),
        ("plain/judged", {"judge": {"use": "oracle", "model": "large"}}),
    ],
)
def test_another_resource_makes_another(
    use: str, resources: dict[str, Any], value_of: Callable[..., Any], log: Path
) -> None:
    value_of(use)
    value_of(use, resources=resources)
    assert _calls(log) == 2


def test_an_edit_of_a_plugin_file_makes_another(
    loose: Callable[..., Registry], value_of: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    original = Path(__file__).parent / "loose" / "plain.py"
    edited = tmp_path / "edited.py"
    shutil.copy(original, edited)
    assert value_of("plain/later", registry=loose(edited)) == 0.5
    edited.write_text(edited.read_text().replace("min(len(text), budget)", "budget"))
    assert value_of("plain/later", registry=loose(edited)) == 1.0
    assert _calls(log) == 2


@pytest.mark.parametrize("damage", [_garbage, _truncated])
def test_a_damaged_cache_does_not_stop_the_grading(
    damage: Callable[[Path], None], value_of: Callable[..., Any], path: Path, log: Path
) -> None:
    damage(path)
    assert [value_of("plain/contained"), value_of("plain/contained")] == [0.5, 0.5]
    assert _calls(log) == 1


def test_a_busy_cache_does_not_stop_the_grading(
    value_of: Callable[..., Any],
    path: Path,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _fill(path, rows=1)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.02)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert value_of("plain/batch", isolate=True) == 0.5
    other.execute("COMMIT")
    other.close()
    assert "locked" in caplog.text
