"""One model per process, shared by all that use it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

M = TypeVar("M")


class _Held:
    """A model that is held, and by how many."""

    def __init__(self) -> None:
        self.model: Any = None
        self.made = False
        self.holders = 0
        self.making = threading.Lock()


_lock = threading.Lock()
_held: dict[Hashable, _Held] = {}


class Lease(Generic[M]):
    """The right to use a shared model until it is released."""

    def __init__(self, key: Hashable, model: M) -> None:
        self.model = model
        self._key = key
        self._released = False

    def release(self) -> None:
        """Give it back. The last holder's release closes the model and forgets it."""
        with _lock:
            if self._released:
                return
            self._released = True
        _let_go(self._key)

    def __enter__(self) -> M:
        return self.model

    def __exit__(self, *_: object) -> None:
        self.release()


def lease_model(key: Hashable, make: Callable[[], M]) -> Lease[M]:
    """Return a lease of the model that is held under ``key``; the first holder makes it.

    Other threads that ask for the same one wait until it is made; models of other keys do not. A
    model that has a method ``close`` is closed after the last release.

    Args:
        key: all that tells the model from others: the digest of its files, what kind of model is
            made of them, the device and the dtype.
        make: loads the model; what it raises passes through, and the next holder tries again.
    """
    with _lock:
        held = _held.setdefault(key, _Held())
        held.holders += 1
    try:
        with held.making:
            if not held.made:
                held.model = make()
                held.made = True
    except BaseException:
        _let_go(key)
        raise
    return Lease(key, held.model)


def _let_go(key: Hashable) -> None:
    with _lock:
        held = _held[key]
        held.holders -= 1
        last = held.holders == 0
        if last:
            del _held[key]
    close = getattr(held.model, "close", None)
    if last and callable(close):
        close()
