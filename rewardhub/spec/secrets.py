"""Secrets stay in the environment: a reward file names the variable, ``{env: NAME}``."""

from __future__ import annotations

import contextvars
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from rewardhub.spec.marks import Mistakes, Node

_SECRET = re.compile(
    r"(.*_)?(api_?key|access_key|private_key|secret|secret_key|password|passwd|passphrase)"
    r"|authorization"
    r"|((api|access|auth|bearer|hf|id|refresh|session)_)?token"
)


_SPARED: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar("spared")


@contextmanager
def secrets_spared(*kinds: str) -> Generator[None]:
    """Let resources of these kinds do without their secrets in specs that are loaded inside.

    For whoever never opens them: a worker process, a run by kept verdicts alone.
    """
    token = _SPARED.set(frozenset(kinds))
    try:
        yield
    finally:
        _SPARED.reset(token)


def is_spared(kind: str) -> bool:
    """Return whether resources of this kind do without their secrets here."""
    return kind in _SPARED.get(frozenset())


def is_secret(name: str) -> bool:
    """Return whether what stands under this key must not be in a file."""
    return _SECRET.fullmatch(name.replace("-", "_").lower()) is not None


def variable_of(node: Node) -> str | None:
    """Return NAME of ``{env: NAME}``, or None for any other value."""
    return node.text("env") or None if len(node.fields) == 1 else None


def holds_secret(node: Node) -> bool:
    """Return whether ``node`` is ``{env: NAME}``, or has one inside."""
    below = (*node.fields.values(), *node.items)
    return variable_of(node) is not None or any(holds_secret(child) for child in below)


def refuse_plain_secrets(
    node: Node, where: str, fix: Callable[[str], str], mistakes: Mistakes
) -> None:
    """Note every secret that stands in the file itself. The message never shows it."""
    for name, child in node.fields.items():
        if is_secret(name) and isinstance(child.value, str) and child.value:
            problem = f"{where}: `{name}` is a secret, which must not be written down. "
            mistakes.add(child.mark, problem + fix(name))
        refuse_plain_secrets(child, where, fix, mistakes)
    for item in node.items:
        refuse_plain_secrets(item, where, fix, mistakes)


def revealed(node: Node, where: str, mistakes: Mistakes) -> Any:
    """Return the plain value of ``node`` with each ``{env: NAME}`` replaced by its secret."""
    name = variable_of(node)
    if name is not None:
        secret = os.environ.get(name, "")
        if not secret:
            problem = f"{where}: the environment variable `{name}` is not set. "
            mistakes.add(node.mark, problem + f"Set it: `export {name}=...`.")
        return secret or "unset"
    if isinstance(node.value, dict):
        return {key: revealed(child, where, mistakes) for key, child in node.fields.items()}
    if isinstance(node.value, list):
        return [revealed(item, where, mistakes) for item in node.items]
    return node.value


def hide(text: str, node: Node) -> str:
    """Return ``text`` with every secret of ``node`` replaced by the variable that holds it."""
    name = variable_of(node)
    if name is not None and os.environ.get(name):
        return text.replace(os.environ[name], f"${name}")
    for child in (*node.fields.values(), *node.items):
        text = hide(text, child)
    return text
