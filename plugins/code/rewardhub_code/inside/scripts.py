"""The tests' side: runs tests that are plain Python, and reports on each. Standard library only.

The first message says what to run::

    {"tests": [[name, source], ...], "setup": source, "trusted": source, "imports": [source, ...],
     "names": [...], "order": 0, "module": "solution", "entry_point": "add" | null,
     "in_place": false, "solution": source | null}

A ``solution`` is loaded here, beside the tests; without one the other side is asked for it. What
follows is ``{"op": "result", "name": ..., "passed": ..., "reason": ..., "seconds": ...}`` for each
test, and ``{"op": "done"}``.
"""

from __future__ import annotations

import builtins
import random
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rewardhub_code.inside import clock, plain, serve
from rewardhub_code.inside.channel import Channel, leave
from rewardhub_code.inside.proxy import Link, SolutionModule

_REASON = 500


def main() -> None:
    """Run the tests of the first message."""
    channel = Channel.open()
    clock.shift()
    request = plain.loads(channel.receive())
    module = solution_module(channel, request)
    namespace = {**vars(module)["_trusted_names"], "__name__": "tests"}
    entry_point = request["entry_point"]
    if entry_point is not None and "." not in entry_point:
        _bind(namespace, module, [entry_point])
    run_source(request["setup"], namespace, module, "setup")
    for name, source in request["tests"]:
        report(channel, name, *_run(source, namespace, module, name))
    finish(channel)


def finish(channel: Channel) -> None:
    """Say that all is reported, and end the process."""
    channel.send(plain.dumps({"op": "done"}))
    leave()


def report(channel: Channel, name: str, reason: str | None, seconds: float) -> None:
    """Tell how a test ended: ``reason`` is None if it passed."""
    passed = reason is None
    text = (reason or "")[:_REASON].encode("utf-8", "replace").decode()
    result = {"op": "result", "name": name, "passed": passed, "reason": text, "seconds": seconds}
    channel.send(plain.dumps(result))


def solution_module(channel: Channel, request: dict[str, Any]) -> SolutionModule:
    """Return the module that tests import, and make it importable."""
    random.seed(serve.SEED)
    name = request["module"]
    if request["solution"] is None:
        link = Link(channel, in_place=request["in_place"])
        get: Callable[[str], Any] = lambda wanted: link.get(None, wanted)  # noqa: E731
    else:
        get = _getter(*serve.load(request["solution"], name))
    trusted, lacking = _trusted(request)
    module = SolutionModule(name, get, trusted=trusted, names=request["names"])
    _bind(trusted, module, lacking)
    *packages, _ = name.split(".")
    for depth in range(len(packages)):
        package = ".".join(packages[: depth + 1])
        sys.modules.setdefault(package, types.ModuleType(package)).__path__ = []
    sys.modules[name] = module
    return module


def _getter(module: types.ModuleType, error: BaseException | None) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if error is not None:
            told = f"the solution raised {type(error).__name__}: {error}"
            raise ImportError(told) from error
        return getattr(module, name)

    return get


def _trusted(request: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what the task itself defines, and what of it only the solution can make.

    Functions and values of the prompt, and imports, are the task's. Its classes are the
    solution's: tests make objects that the solution must take.
    """
    namespace: dict[str, Any] = {"__name__": "task"}
    for source in (*request["imports"], request["trusted"]):
        try:
            exec(source, namespace)  # noqa: S102
        except Exception:  # noqa: BLE001, S112  # then its names are the solution's
            continue
    own = (request["entry_point"] or "").partition(".")[0]
    lacking = [
        name
        for name, value in namespace.items()
        if name == own or (isinstance(value, type) and value.__module__ == "task")
    ]
    for name in lacking:
        del namespace[name]
    return namespace, lacking


def run_source(source: str, namespace: dict[str, Any], module: types.ModuleType, name: str) -> None:
    """Run ``source``; the names that it lacks are the solution's."""
    code = compile(source, name, "exec")
    _bind(namespace, module, _names(code))
    exec(code, namespace)  # noqa: S102


def _run(
    source: str, namespace: dict[str, Any], module: types.ModuleType, name: str
) -> tuple[str | None, float]:
    random.seed(serve.SEED)
    start = time.perf_counter()
    try:
        run_source(source, namespace, module, name)
        reason = None
    except BaseException as error:  # noqa: BLE001  # whatever a test raises, it has not passed
        reason = _told(error, name)
    return reason, time.perf_counter() - start


def _told(error: BaseException, name: str) -> str:
    told = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == name]
    return f"{told} (line {lines[-1]})" if lines else told


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _bind(namespace: dict[str, Any], module: types.ModuleType, names: Iterable[str]) -> None:
    for name in names:
        if name in namespace or hasattr(builtins, name):
            continue
        try:
            namespace[name] = getattr(module, name)
        except Exception:  # noqa: BLE001, S112  # a test that needs it will miss it
            continue
