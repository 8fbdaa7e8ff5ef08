"""Where a model runs, and in which numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rewardhub.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import torch

INSTALL = "pip install 'rewardhub-core[transformers]'"
DTYPES = ("bfloat16", "float16", "float32")


def library(name: str) -> Any:
    """Return a module of the extra `transformers`, imported now.

    Raises:
        UsageError: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise UsageError(
            f"Local models need `{error.name}`, and it is missing: {INSTALL}."
        ) from None


def device_of(option: str) -> str:
    """Return the device that an option names: ``cpu``, ``cuda`` or ``cuda:1``.

    ``auto`` is the GPU where there is one.

    Raises:
        UsageError: for another name, or for a GPU that is not there.
    """
    cuda = library("torch").cuda
    if option == "auto":
        return "cuda" if cuda.is_available() else "cpu"
    kind, _, number = option.partition(":")
    if option == "cpu":
        return option
    if kind != "cuda" or (number and not number.isdecimal()) or option.endswith(":"):
        hint = did_you_mean(option, ("auto", "cpu", "cuda"))
        raise UsageError(f"`{option}` is no device: say auto, cpu, cuda or cuda:NUMBER.{hint}")
    if not cuda.is_available():
        raise UsageError(
            f"The device `{option}` was asked for, and torch sees no GPU here. Say `device: cpu` "
            "or `auto`, or install a torch that is built for this GPU's driver."
        )
    if int(number or 0) >= cuda.device_count():
        raise UsageError(
            f"The device `{option}` was asked for, and the last GPU here is "
            f"`cuda:{cuda.device_count() - 1}`."
        )
    return option


def dtype_of(option: str, device: str) -> torch.dtype:
    """Return the numbers that a model is held in.

    ``auto`` is bfloat16 on a GPU and float32 on a CPU, where narrower numbers are slower and moved
    more by the batch.

    Raises:
        UsageError: for a name that is none of auto, bfloat16, float16 and float32.
    """
    if option == "auto":
        option = "float32" if device == "cpu" else "bfloat16"
    if option not in DTYPES:
        hint = did_you_mean(option, DTYPES)
        raise UsageError(f"`{option}` is no dtype: say auto, {', '.join(DTYPES)}.{hint}")
    dtype: torch.dtype = getattr(library("torch"), option)
    return dtype
