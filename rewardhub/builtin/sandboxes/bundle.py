"""The inside as one text, for an interpreter that has nothing of rewardhub."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = "rewardhub.builtin.sandboxes.inside"
_ORDER = (
    *("frames", "wishes", "payload", "linux", "calls", "landlock"),
    *("tree", "cgroup", "container", "collect", "sweep"),
    *("walls", "program", "job", "zygote", "run", "warden"),
)
"""Each module after those that it imports."""

_LOAD = """\
import sys, types
def _load():
    package = {package!r}
    parts = package.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    for name, text in {texts!r}.items():
        module = types.ModuleType(f"{{package}}.{{name}}")
        sys.modules[module.__name__] = module
        setattr(sys.modules[package], name, module)
        exec(compile(text, f"<{{module.__name__}}>", "exec"), vars(module))
    return sys.modules[f"{{package}}.warden"]
import os
_warden = _load()
_incoming, _outgoing = (os.dup(0), os.dup(1))
_null = os.open(os.devnull, os.O_RDWR)
os.dup2(_null, 0)
os.dup2(_null, 1)
_warden.main(_incoming, _outgoing)
"""

BOOT = (
    "import os\n"
    "def take(size):\n"
    "    data = b''\n"
    "    while len(data) < size:\n"
    "        more = os.read(0, size - len(data))\n"
    "        if not more: os._exit(1)\n"
    "        data += more\n"
    "    return data\n"
    "exec(compile(take(int.from_bytes(take(4), 'little')), '<warden>', 'exec'))\n"
)
"""What an interpreter is started with (``-c``): it reads the rest from its stdin."""

OPTIONS = ("-s", "-S", "-P", "-B")
"""How it is started: without site, user and current folder, and without writing bytecode."""


@cache
def bundle() -> bytes:
    """Return the text of the inside after its length, as `BOOT` reads it."""
    texts = {name: (_INSIDE / f"{name}.py").read_text(encoding="utf-8") for name in _ORDER}
    text = _LOAD.format(package=_PACKAGE, texts=texts).encode()
    return len(text).to_bytes(4, "little") + text


def command(python: str) -> list[str]:
    """Return the command that starts a warden, which speaks on stdin and stdout."""
    return [python, *OPTIONS, "-c", BOOT]


def environment(*, hash_seed: str = "0") -> dict[str, str]:
    """Return all the variables that a warden is started with."""
    return {
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": hash_seed,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
