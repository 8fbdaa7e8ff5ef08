"""The tests' side: runs files by pytest, ready before the job starts. Standard library + pytest.

The first message is as in `scripts`, with ``"files"`` instead of ``"tests"``; they lie in the
working folder. Results are named by path and test, as ``test_add.py::test_zero[1-2]``. With
``"collect": true`` the tests are only named, each as a result that has not passed.
"""

from __future__ import annotations

# pytest has no public door for what is done before the fork.
# pyright: reportPrivateUsage=false
import contextlib
import gc
import io
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from _pytest.config import Config, _prepareconfig
from _pytest.main import Session

from rewardhub_code.inside import clock, plain, scripts, serve
from rewardhub_code.inside.channel import Channel

_UNNEEDED = (
    *("terminal", "cacheprovider", "doctest", "junitxml", "pastebin", "setuponly", "setupplan"),
    *("stepwise", "faulthandler", "unraisableexception", "threadexception"),
)
_WARM = """
import pytest
import unittest

def test_plain(tmp_path, capsys, monkeypatch):
    assert [1, 2] == [1, 2]

@pytest.mark.parametrize("number", [1, 2])
def test_parametrised(number):
    assert number in (1, 2)

class TestCase(unittest.TestCase):
    def test_method(self):
        self.assertEqual(1, 1)
"""


def configure(folder: str) -> Config:
    """Return pytest's configuration for the tests in ``folder``: nothing of its own counts."""
    without = [part for name in _UNNEEDED for part in ("-p", f"no:{name}")]
    kept = ["-s", f"--rootdir={folder}", f"--confcutdir={folder}", "--noconftest"]
    config = _prepareconfig([*without, *kept, "-c", "/dev/null", folder])
    config.option.tbstyle = "native"  # nobody reads the sources that other styles look up
    config._do_configure()
    return config


def run(config: Config, paths: list[str], *plugins: object, collect: bool = False) -> None:
    """Collect the tests in ``paths`` and run them."""
    config.args = paths
    config.option.collectonly = collect
    for plugin in plugins:
        config.pluginmanager.register(plugin)
    session = Session.from_config(config)
    session.exitstatus = pytest.ExitCode.OK
    config.hook.pytest_sessionstart(session=session)
    config.hook.pytest_collection(session=session)
    config.hook.pytest_runtestloop(session=session)


class Reporter:
    """Reports each test, once it is known how it ended."""

    def __init__(self, channel: Channel, *, collect: bool, order: int) -> None:
        self._channel = channel
        self._collect = collect
        self._order = order
        self._reasons: dict[str, str | None] = {}
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the tests into another order, where that is asked."""
        if self._order:
            random.Random(self._order).shuffle(items)  # noqa: S311  # no secret

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Session) -> None:
        """Name the tests, where only that is asked."""
        if self._collect:
            for item in session.items:
                scripts.report(self._channel, _name(item.nodeid), "only collected", 0.0)

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be read is a test that failed."""
        if report.failed:
            scripts.report(self._channel, _name(report.nodeid), _last_line(report), 0.0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Let each test see the same random numbers."""
        del item
        random.seed(serve.SEED)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set up, call and tear down are one test; skipped or expected to fail is not passed."""
        name = _name(report.nodeid)
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self._reasons.setdefault(name, _last_line(report))
        if report.when == "teardown":
            reason = self._reasons.get(name)
            scripts.report(self._channel, name, reason, self._seconds[name])


def _name(nodeid: str) -> str:
    path, separator, rest = nodeid.partition("::")
    return path.removeprefix("work/") + separator + rest


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return "expected to fail, which is not passed"
    if report.skipped:
        return "skipped, which is not passed"
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message).split("\n", 1)[0]
    lines = str(report.longrepr).strip().splitlines()
    return lines[-1] if lines else "it failed"


def main() -> None:
    """Run the files of the first message."""
    channel = Channel.open()
    clock.shift()
    request = plain.loads(channel.receive())
    folder = Path.cwd()
    config = CONFIG if folder == Path(FOLDER) else configure(str(folder))
    paths = [folder / path for path in request["files"]]
    _read_now(config, paths)
    module = scripts.solution_module(channel, request)
    namespace: dict[str, Any] = {"__name__": "setup"}
    scripts.run_source(request["setup"], namespace, module, "setup")
    sys.path.insert(0, str(folder))
    collect = request["collect"]
    reporter = Reporter(channel, collect=collect, order=request["order"])
    run(config, [str(path) for path in paths], reporter, collect=collect)
    scripts.finish(channel)


def _read_now(config: Config, paths: list[Path]) -> None:
    """Compile the test files and empty them, before a solution can read or write them."""
    read: dict[Path, Any] = {}
    for path in paths:
        try:
            read[path] = rewrite._rewrite_test(path, config)
        except SyntaxError:  # pytest reads it again, and says so
            continue
        path.write_bytes(b"")
    real = rewrite._rewrite_test

    def read_before(path: Path, config: Config) -> Any:
        return read[path] if path in read else real(path, config)

    setattr(rewrite, "_rewrite_test", read_before)  # noqa: B010  # it has another type


def _warm() -> None:
    """Run tests of every kind once: what pytest imports late is then there before the fork."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "test_warm.py"
        path.write_text(_WARM, encoding="utf-8")
        run(configure(folder), [str(path)])
    sys.modules.pop("test_warm", None)
    sys.path[:] = [entry for entry in sys.path if entry != folder]


sys.dont_write_bytecode = True
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
with contextlib.suppress(OSError):  # where nothing can be written before a job has its folders
    _warm()
FOLDER = "/work" if Path("/work").is_dir() else tempfile.gettempdir()
CONFIG = configure(FOLDER)
gc.collect()
