"""From what a spec says to an open carrier; every mistake comes up here, before the first row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rewardhub import (
    ModelFiles,
    TextGenerator,
    UsageError,
    device_of,
    dtype_of,
    lease_model,
    load_tokenizer,
)
from rewardhub_prm.carriers import Carrier, LocalSource, TokenCarrier
from rewardhub_prm.encoding import TextEncoder
from rewardhub_prm.network import TokenModel
from rewardhub_prm.presets import Preset, PresetName, name_of, preset_of
from rewardhub_prm.server import Server, ServerSource
from rewardhub_prm.thinkprm import Thinking, ThinkPrm

TooLongRule = Literal["window", "zero"]

_LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len")
_NO_LIMIT = 1 << 24
"""A tokenizer without a limit says a number far beyond this."""


def open_local(
    files: ModelFiles,
    name: PresetName,
    *,
    device: str = "auto",
    dtype: str = "auto",
    max_tokens: int | None = None,
    too_long: TooLongRule = "window",
    batch_tokens: int | None = None,
    thinking: Thinking | None = None,
) -> Carrier:
    """Load a process reward model, or join those in this process that use it.

    Args:
        files: where it lies.
        name: its preset.
        device: see `rewardhub.device_of`.
        dtype: see `rewardhub.dtype_of`.
        max_tokens: how many tokens it is given at most; None: what it was made for.
        too_long: what becomes of longer solutions.
        batch_tokens: how many tokens a batch holds, padding included; None: as suits the device.
        thinking: for generative models.

    Raises:
        UsageError: for files, tokenizers and devices that do not fit.
    """
    if name == "thinkprm":
        lease = TextGenerator.lease(files, device=device, dtype=dtype)
        try:
            return ThinkPrm(lease, thinking or Thinking(), max_tokens)
        except UsageError:
            lease.release()
            raise
    place = device_of(device)
    numbers = dtype_of(dtype, place)
    preset = preset_of(name, files)
    tokenizer = load_tokenizer(files)
    text = _checked(preset, tokenizer)
    limit = limit_of(files.config, tokenizer, max_tokens)

    def make() -> TokenModel:
        network = preset.network(files, text, place, numbers)
        if network.columns != preset.columns:
            raise UsageError(
                f"The head of `{files.name}` gives {network.columns} numbers at a token, and the "
                f"preset `{name}` reads {preset.columns}. Name the preset that the model is for."
            )
        return TokenModel(network, place)

    source = LocalSource(
        lease_model((files.digest, f"prm/{name}", place, str(numbers)), make),
        preset.positive,
        batch_tokens,
    )
    return TokenCarrier(preset, text, source, limit=limit, cut=too_long == "window")


def open_server(
    server: Server,
    files: ModelFiles,
    name: PresetName,
    *,
    max_tokens: int | None = None,
    too_long: TooLongRule = "window",
    batch_tokens: int | None = None,
) -> Carrier:
    """Ask a server for the values; only tokenizer and configuration are read here.

    Raises:
        UsageError: for a tokenizer that does not fit, and for `thinkprm`, which writes text.
    """
    if name == "thinkprm":
        raise UsageError(
            "The preset `thinkprm` writes text, which a pooling endpoint cannot. Leave out "
            "`server`, or take a preset with values at tokens."
        )
    preset = preset_of(name, files)
    tokenizer = load_tokenizer(files)
    text = _checked(preset, tokenizer)
    return TokenCarrier(
        preset,
        text,
        ServerSource(server, preset, preset.step_token(text), batch_tokens),
        limit=limit_of(files.config, tokenizer, max_tokens),
        cut=too_long == "window",
    )


def files_of(model: str, *, revision: str | None, weights: bool) -> ModelFiles:
    """Return a model's files; without ``weights``, of a folder that need not hold any.

    Raises:
        UsageError: if they are not there.
    """
    folder = Path(model).expanduser()
    if weights or not folder.is_dir():
        return ModelFiles.find(model, revision=revision)
    return ModelFiles(path=folder, name=model)


def preset_name(preset: PresetName | Literal["auto"], files: ModelFiles) -> PresetName:
    """Return the preset that is meant: the one that is named, or the one the model is for."""
    return name_of(files) if preset == "auto" else preset


def limit_of(config: Mapping[str, Any], tokenizer: Any, max_tokens: int | None) -> int:
    """Return how many tokens a model reads: what it was made for, or fewer if so asked.

    Raises:
        UsageError: if nothing says it, or more is asked for than it was made for.
    """
    text = config.get("text_config") or config
    made = [int(text[name]) for name in _LENGTHS if isinstance(text.get(name), int)]
    if tokenizer.model_max_length < _NO_LIMIT:
        made.append(int(tokenizer.model_max_length))
    if not made and max_tokens is None:
        raise UsageError("The model does not say how many tokens it reads: say `max_tokens`.")
    longest = min(made, default=max_tokens or 0)
    if max_tokens is not None and max_tokens > longest:
        raise UsageError(f"`max_tokens` is {max_tokens}, and the model reads {longest} at most.")
    return max_tokens or longest


def _checked(preset: Preset, tokenizer: Any) -> TextEncoder:
    text = TextEncoder(tokenizer, preset.separators)
    preset.check(text)
    return text
