"""What runs inside sandboxes: files of ``inside/``, as the Preloads and the Jobs that use them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rewardhub import Preload

_INSIDE = Path(__file__).parent / "inside"
_MODULE = "rewardhub_code.inside"
_SOURCE = '''"""Modules of rewardhub_code, made known without its being installed."""
import sys
import types

for name in ("rewardhub_code", "rewardhub_code.inside"):
    sys.modules.setdefault(name, types.ModuleType(name)).__path__ = []
for name, text in {texts!r}.items():
    module = types.ModuleType(name)
    module.__file__ = name
    sys.modules[name] = module
    exec(compile(text, name, "exec"), vars(module))
'''

HASH_SEED = "PYTHONHASHSEED"
"""In the environment of a job it chooses the seed of Python's hashes; 0 if it is not there."""


@cache
def preload(*modules: str, requires: tuple[str, ...] = ()) -> Preload:
    """Return a Preload of ``modules`` of ``inside/``, the last of which has a ``main``."""
    texts = {
        f"{_MODULE}.{name}": (_INSIDE / f"{name}.py").read_text(encoding="utf-8")
        for name in modules
    }
    return Preload(
        name=f"rewardhub_code_{modules[-1]}",
        source=_SOURCE.format(texts=texts),
        requires=requires,
    )


def starter(ready: Preload) -> str:
    """Return the source of a job that runs the ``main`` of its Preload."""
    name = ready.name.removeprefix("rewardhub_code_")
    return f"import {ready.name}\nfrom {_MODULE} import {name}\n{name}.main()\n"
