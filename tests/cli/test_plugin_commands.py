"""Commands of packs are listed without importing packs that were listed before."""

import importlib
import os
import sys

import pytest

from rewardhub.cli.plugin_commands import Command, listed_commands
from rewardhub.cli.session import Session

PACK = """
from rewardhub import CommandCard, hookimpl


@hookimpl
def rewardhub_commands():
    yield CommandCard(name="{name}", target="somewhere:app", help="Do it.")
"""
METADATA = "Metadata-Version: 2.1\nName: rewardhub-trip\nVersion: {version}\n"


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """Install a pack, again and again; each time as if in a new process."""
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REWARDHUB_PLUGINS", raising=False)
    monkeypatch.delenv("REWARDHUB_BLOCK", raising=False)
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    (site / "rewardhub_trip").mkdir(parents=True)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def install(name, version="1"):
        package = site / "rewardhub_trip" / "__init__.py"
        package.write_text(PACK.format(name=name))
        os.utime(package, (len(name), len(name)))
        info = site / "rewardhub_trip-1.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(METADATA.format(version=version))
        (info / "entry_points.txt").write_text("[rewardhub]\ntrip = rewardhub_trip\n")
        importlib.invalidate_caches()
        sys.modules.pop("rewardhub_trip", None)

    yield install
    sys.modules.pop("rewardhub_trip", None)


def listed(**session):
    return [each for each in listed_commands(Session(quiet=True, **session), {"score"})
            if each.target == "somewhere:app"]  # fmt: skip


def test_lists_the_commands_of_a_pack_and_then_from_memory(pack):
    pack("travel")
    assert listed() == [Command("travel", "somewhere:app", "Do it.")]
    sys.modules.pop("rewardhub_trip")
    assert listed() == [Command("travel", "somewhere:app", "Do it.")]
    assert "rewardhub_trip" not in sys.modules


def test_looks_again_when_a_file_of_the_pack_changed(pack):
    pack("travel")
    listed()
    pack("journey-on")
    assert [each.name for each in listed()] == ["journey-on"]


def test_looks_again_when_the_version_changed(pack):
    pack("travel")
    listed()
    pack("wander", version="2")  # as many letters: the file looks the same
    assert [each.name for each in listed()] == ["wander"]


def test_remembers_what_is_blocked_apart(pack):
    pack("travel")
    listed()
    assert listed(block=("trip",)) == []
    assert [each.name for each in listed()] == ["travel"]


def test_a_damaged_memory_is_no_error(pack, tmp_path):
    pack("travel")
    listed()
    (tmp_path / "cache" / "commands.json").write_text("{")
    assert [each.name for each in listed()] == ["travel"]


def test_a_pack_cannot_take_a_name_of_ours(pack, capsys):
    pack("score")
    assert listed() == []
    assert "The command `score` is claimed by `builtin` and by `trip`." in capsys.readouterr().err
