"""All promises again, as a user without any rights, and at the level `basic`.

The tests themselves run as that user, on an interpreter that the user can reach.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NOBODY = 0x6FFF0001
"""A user that nobody is."""

BASIC = """
import pytest
from rewardhub.builtin.sandboxes import local
from rewardhub.builtin.sandboxes.probe import Probe

found = Probe(level="basic", mode="landlock")


@pytest.fixture(scope="module")
def sandbox():
    local.local_probe = lambda: found
    sandbox = local.LocalSandbox(slots=1, minimum="basic")
    sandbox.open()
    yield sandbox
    sandbox.close()


from rewardhub.testing import SandboxContract


class TestBasic(SandboxContract):
    # What this level does not promise, or what its tests look for in /proc, which it does not show.
    test_the_disk_is_bounded = None
    test_jobs_side_by_side_do_not_meet = None
    test_nothing_of_one_run_is_seen_by_the_next = None
    test_no_memory_of_one_run_is_inherited_by_the_next = None
"""


def environment() -> dict[str, str]:
    site = sysconfig.get_paths()["purelib"]
    paths = os.pathsep.join((str(ROOT), site))
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}


def interpreter() -> str:
    """Return a Python of this version that a user without rights can run, with our packages."""
    if os.geteuid() != 0:
        pytest.skip("these tests become another user: they need root")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
        try:
            tried = subprocess.run(
                [candidate, "-c", "import pydantic, pytest, rewardhub"],
                user=NOBODY,
                group=NOBODY,
                extra_groups=(),
                cwd="/",
                env=environment(),
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return candidate
    pytest.skip(f"no {version} here that a user without rights can run with these packages")


def run_as_nobody(*arguments: str) -> str:
    ran = subprocess.run(
        [interpreter(), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        user=NOBODY,
        group=NOBODY,
        extra_groups=(),
        cwd="/",
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.mark.timeout(900)
def test_a_user_without_rights_has_every_promise() -> None:
    said = run_as_nobody(
        *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)),
        *(str(HERE / "test_local.py"), str(HERE / "test_local_attacks.py")),
    )
    assert "failed" not in said
    assert "skipped" not in said


@pytest.mark.timeout(900)
def test_the_level_basic_keeps_what_it_says(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    (tmp_path / "test_basic.py").write_text(BASIC, encoding="utf-8")
    said = run_as_nobody(
        *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)),
        str(tmp_path / "test_basic.py"),
    )
    assert "failed" not in said
