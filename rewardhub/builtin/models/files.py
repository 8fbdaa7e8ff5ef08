"""Where a model's files lie, and what tells two models apart."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rewardhub.builtin.models.devices import library
from rewardhub.errors import UsageError, did_you_mean
from rewardhub.records import EMPTY

_LOG = logging.getLogger("rewardhub.models")
_HUB_NAME = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")
_SMALL = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
"""Configuration, tokenizer and templates: what a verdict may hang on in every byte."""
_NO_WEIGHTS = {"training_args.bin", "optimizer.bin", "scheduler.bin"}
_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """The files of one model.

    Attributes:
        path: the folder.
        name: as the user wrote it; two names of equal files have one `digest`.
        gguf_file: which file of the folder holds weights and tokenizer, where it is a GGUF one.
    """

    path: Path
    name: str
    gguf_file: str | None = None

    @classmethod
    def find(
        cls, name: str | Path, *, gguf_file: str | None = None, revision: str | None = None
    ) -> ModelFiles:
        """Return the files of a folder, or of a model of the Hugging Face hub.

        A hub name is looked up in the hub's local cache first. It is downloaded only if it is not
        there, since the user named it, and the log says so.

        Args:
            name: path of a folder, or ``owner/name``.
            gguf_file: a GGUF file in it.
            revision: branch, tag or commit on the hub.

        Raises:
            UsageError: for a folder that is missing or holds no model, a configuration that cannot
                be read, and a hub model that can't be had.
        """
        folder = Path(name).expanduser()
        if not folder.exists() and isinstance(name, str) and _HUB_NAME.fullmatch(name):
            folder = _from_hub(name, gguf_file, revision)
        files = cls(path=folder, name=str(name), gguf_file=gguf_file)
        files._check()
        return files

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """``config.json``; empty for a GGUF file, which holds its own."""
        return _read_json(self.path / "config.json") if self.gguf_file is None else EMPTY

    @cached_property
    def digest(self) -> str:
        """SHA-256 that two models share only if they are the same.

        Configuration, tokenizer and template count whole; of weights the name, the size, and the
        first and last MiB, so that a model of any size takes a moment.
        """
        total = hashlib.sha256()
        weights = set(self.weights)
        small = {path for pattern in _SMALL for path in self.path.glob(pattern)} - weights
        for path in sorted(small | weights):
            size = path.stat().st_size
            total.update(f"{path.name}\0{size}\0".encode())
            total.update(b"".join(_ends(path, size) if path in weights else [path.read_bytes()]))
        return total.hexdigest()

    @cached_property
    def weights(self) -> tuple[Path, ...]:
        """The files that hold the weights; safetensors ones where there are both kinds."""
        if self.gguf_file is not None:
            return (self.path / self.gguf_file,)
        pickled = (path for path in self.path.glob("*.bin") if path.name not in _NO_WEIGHTS)
        return tuple(sorted(self.path.glob("*.safetensors")) or sorted(pickled))

    def _check(self) -> None:
        if not self.path.is_dir():
            raise UsageError(_no_folder(self.path, self.name))
        if self.gguf_file is not None:
            self._check_gguf(self.gguf_file)
            return
        if not (self.path / "config.json").is_file():
            raise UsageError(_no_config(self.path))
        if not self.weights:
            raise UsageError(
                f"The model folder {self.path} holds no weights (*.safetensors or *.bin). "
                "Was it copied or downloaded whole?"
            )
        _ = self.config

    def _check_gguf(self, file: str) -> None:
        if not (self.path / file).is_file():
            names = [path.name for path in self.path.glob("*.gguf")]
            hint = did_you_mean(file, names) or f" It holds: {', '.join(names) or 'no GGUF file'}."
            raise UsageError(f"The folder {self.path} holds no file `{file}`.{hint}")


def _no_folder(folder: Path, name: str) -> str:
    if folder.is_file():
        gguf = folder.suffix == ".gguf"
        more = f" Say `model: {folder.parent}` and `gguf_file: {folder.name}`." if gguf else ""
        return f"{folder} is a file; a model is named by its folder.{more}"
    beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
    hint = did_you_mean(folder.name, [path.name for path in beside if path.is_dir()])
    return (
        f"There is no model folder `{name}`.{hint} A model is named by the path of its folder, or "
        "as owner/name on the Hugging Face hub."
    )


def _no_config(folder: Path) -> str:
    ggufs = sorted(path.name for path in folder.glob("*.gguf"))
    if ggufs:
        return f"The folder {folder} holds GGUF files: say which, `gguf_file: {ggufs[0]}`."
    return (
        f"The folder {folder} holds no config.json, so it is no model of transformers. Name the "
        "folder that `save_pretrained` wrote."
    )


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Copy the model anew.") from None
    if not isinstance(read, dict):
        raise UsageError(f"{path} holds no JSON object. Copy the model anew.")
    return read


def _ends(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield file.read(_MIB)
        file.seek(max(0, size - _MIB))
        yield file.read(_MIB)


def _from_hub(name: str, gguf_file: str | None, revision: str | None) -> Path:
    hub = library("huggingface_hub")
    wanted = [*_SMALL, gguf_file] if gguf_file else [*_SMALL, "*.safetensors"]
    try:
        kept = _snapshot(hub, name, revision, wanted, here=True)
    except (OSError, ValueError):
        kept = None
    if kept is not None and _is_whole(kept, gguf_file):
        return kept
    _LOG.warning("%s is not in the local cache of the hub: downloading it", name)
    try:
        folder = _snapshot(hub, name, revision, wanted, here=False)
        if not _is_whole(folder, gguf_file) and gguf_file is None:
            folder = _snapshot(hub, name, revision, [*_SMALL, "*.bin"], here=False)
    except (OSError, ValueError, hub.errors.HfHubHTTPError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UsageError(
            f"The model `{name}` is neither a folder here nor in the hub's local cache, and could "
            f"not be downloaded: {first}"
        ) from None
    return folder


def _snapshot(
    hub: Any, name: str, revision: str | None, wanted: Iterable[str], *, here: bool
) -> Path:
    found = hub.snapshot_download(
        name, revision=revision, allow_patterns=list(wanted), local_files_only=here
    )
    return Path(found)


def _is_whole(folder: Path, gguf_file: str | None) -> bool:
    """Return whether a snapshot of the hub's cache holds all that a model needs."""
    files = ModelFiles(path=folder, name="", gguf_file=gguf_file)
    if gguf_file is not None:
        return files.weights[0].is_file()
    if not (folder / "config.json").is_file() or not files.weights:
        return False
    indexes = [_read_json(path) for path in folder.glob("*.index.json")]
    shards = {shard for index in indexes for shard in index.get("weight_map", {}).values()}
    return all((folder / shard).is_file() for shard in shards)
