"""The libraries of the pack's extras, asked for when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from rewardhub import UsageError

__all__ = ["needed"]


def needed(module: str, extra: str) -> Any:
    """Return a module, imported now.

    Args:
        module: its name.
        extra: of `rewardhub-judge`, which installs it.

    Raises:
        UsageError: if it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"This needs `{error.name}`, and it is missing: pip install 'rewardhub-judge[{extra}]'."
        ) from None
