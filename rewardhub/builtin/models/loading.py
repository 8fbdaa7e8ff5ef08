"""Models and tokenizers of transformers, loaded from files that are here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rewardhub.builtin.models.devices import library
from rewardhub.builtin.models.files import ModelFiles
from rewardhub.errors import UsageError

if TYPE_CHECKING:
    import torch


def load_tokenizer(files: ModelFiles) -> Any:
    """Return the tokenizer of a model.

    Raises:
        UsageError: if there is none in its folder, or it cannot be read.
    """
    transformers = library("transformers")
    with _named(files, "a tokenizer"):
        return transformers.AutoTokenizer.from_pretrained(files.path, **_where(files))


def load_model(
    auto: str,
    files: ModelFiles,
    *,
    device: str,
    dtype: torch.dtype,
    kinds: Collection[str] = (),
    **parameters: Any,
) -> Any:
    """Return a model in evaluation mode, on its device.

    Args:
        auto: the class that loads it: ``AutoModelForCausalLM`` and the like.
        files: where it lies.
        device: see `device_of`.
        dtype: see `dtype_of`.
        kinds: architectures beside those of transformers that ``auto`` can load all the same.
        parameters: more of ``from_pretrained``.

    Raises:
        UsageError: for files of another architecture, or that lack weights: transformers would
            fill the gap with random ones.
    """
    loader = getattr(library("transformers"), auto)
    _check_architecture(loader, auto, files, kinds)
    with _named(files, "a model"):
        model, report = loader.from_pretrained(
            files.path, dtype=dtype, output_loading_info=True, **_where(files), **parameters
        )
    gaps = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if gaps:
        raise UsageError(
            f"The model `{files.name}` lacks the weights {', '.join(gaps[:4])}"
            f"{f' and {len(gaps) - 4} more' if len(gaps) > 4 else ''}, so it is no "
            f"{auto.removeprefix('AutoModelFor')} model. Name a model that was trained as one."
        )
    return model.to(device).eval()


def _where(files: ModelFiles) -> dict[str, Any]:
    gguf = {"gguf_file": files.gguf_file} if files.gguf_file else {}
    return {"local_files_only": True, **gguf}


def _check_architecture(loader: Any, auto: str, files: ModelFiles, kinds: Collection[str]) -> None:
    """Refuse what was saved as another kind of model than ``loader`` makes."""
    fit = set(kinds)
    for kind in loader._model_mapping._model_mapping.values():  # names: no model is imported
        fit.update(kind if isinstance(kind, tuple | list) else (kind,))
    saved = files.config.get("architectures") or ()
    if saved and not fit.intersection(saved):
        raise UsageError(
            f"The model `{files.name}` is a {', '.join(saved)}, and `{auto}` was to load it. "
            f"Name a model of the kind that is needed here."
        )


@contextmanager
def _named(files: ModelFiles, what: str) -> Generator[None]:
    """Say which files were at fault."""
    with quiet():
        try:
            yield
        # A damaged file raises what it happens to hit, each library's own errors among them.
        except Exception as error:
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UsageError(
                f"The files of `{files.name}` ({files.path}) cannot be loaded as {what}: {first}"
            ) from error


@contextmanager
def quiet() -> Generator[None]:
    """Keep the progress bars of transformers off the terminal."""
    logs = library("transformers").utils.logging
    shown: bool = logs.is_progress_bar_enabled()
    restore: Callable[[], None] = logs.enable_progress_bar if shown else logs.disable_progress_bar
    logs.disable_progress_bar()
    try:
        yield
    finally:
        restore()
