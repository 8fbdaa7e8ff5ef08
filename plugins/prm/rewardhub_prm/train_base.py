"""The model that a head is trained on: loaded with a new head, and how a solution is written."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rewardhub import ModelFiles, UsageError, load_tokenizer
from rewardhub_prm.encoding import TextEncoder
from rewardhub_prm.opening import limit_of
from rewardhub_prm.presets import Aggregation, Generic, GenericForm

__all__ = ["Base", "load_base", "quiet"]


@dataclass(frozen=True, slots=True)
class Base:
    """A token classifier with two classes (0 wrong, 1 right), and the preset that asks it.

    Attributes:
        files: of the model that it was made from.
        model: on its device, in float32.
        head: the linear layer that gives the classes.
        tokenizer: the model's.
        text: encodes for ``preset``.
        preset: how a solution is written.
        limit: how many tokens the model reads.
        device: where it is.
    """

    files: ModelFiles
    model: Any
    head: Any
    tokenizer: Any
    text: TextEncoder
    preset: Generic
    limit: int
    device: str


def load_base(
    files: ModelFiles,
    *,
    device: str,
    separator: str | None = None,
    layers: int | None = None,
    max_tokens: int | None = None,
    aggregate: Aggregation = "min",
) -> Base:
    """Load a model with a head of two classes; the head is new unless the model has one.

    Args:
        files: of any model that transformers can make a token classifier of.
        device: as `device_of` returns it.
        separator: written after each step, where its value is read; None: the tokenizer's
            separator token.
        layers: keep only so many of the model's layers, from the first on.
        max_tokens: read at most so many tokens at once; None: what the model was made for.
        aggregate: what makes one value of the steps' values, for who scores with the model.

    Raises:
        UsageError: for a model of another kind or without weights, or a tokenizer without a
            separator token.
    """
    tokenizer = load_tokenizer(files)
    form = _form(files, tokenizer, separator, aggregate)
    preset = Generic(form, 2)
    text = TextEncoder(tokenizer, preset.separators)
    preset.check(text)
    model = _classifier(files, layers).to(device)
    limit = limit_of(files.config, tokenizer, max_tokens)
    return Base(files, model, _head_of(model, files), tokenizer, text, preset, limit, device)


def _form(
    files: ModelFiles, tokenizer: Any, separator: str | None, aggregate: Aggregation
) -> GenericForm:
    """Return how a solution is written: as the tokenizer puts texts together where it has tokens
    for that."""
    mark = separator or tokenizer.sep_token
    if not mark:
        raise UsageError(
            f"The tokenizer of `{files.name}` has no separator token to read a step's value at. "
            "Name one it knows, or a text such as a line break: `--separator TEXT`."
        )
    return GenericForm(
        separator=mark,
        positive=1,
        opening=tokenizer.cls_token or tokenizer.bos_token or "",
        after_problem=tokenizer.sep_token or "\n",
        aggregate=aggregate,
    )


def _classifier(files: ModelFiles, layers: int | None) -> Any:
    """Return the model with a head of two classes.

    Raises:
        UsageError: if transformers makes no token classifier of it, or weights of its body lack.
    """
    from transformers import AutoModelForTokenClassification

    deepest = files.config.get("num_hidden_layers")
    if layers is not None and (deepest is None or not 1 <= layers <= deepest):
        raise UsageError(f"`{files.name}` has {deepest} layers: `--layers {layers}` is impossible.")
    cut = {} if layers is None else {"num_hidden_layers": layers}
    try:
        with quiet():
            model, report = AutoModelForTokenClassification.from_pretrained(
                files.path,
                num_labels=2,
                id2label={0: "wrong", 1: "right"},
                label2id={"wrong": 0, "right": 1},
                dtype="float32",
                local_files_only=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **cut,
            )
    # Whatever a damaged file or a foreign architecture makes transformers raise.
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UsageError(
            f"No token classifier can be made of `{files.name}`: {first} Name an encoder or a "
            "language model whose architecture transformers has a token classifier for."
        ) from error
    body = f"{model.base_model_prefix}."
    gaps = sorted(key for key in report["missing_keys"] if key.startswith(body))
    if gaps:
        raise UsageError(
            f"The files of `{files.name}` lack weights of its body: {', '.join(gaps[:4])}. Were "
            "they copied or downloaded whole?"
        )
    return model


@contextmanager
def quiet() -> Generator[None]:
    """Keep transformers off the terminal: a head that is new is no news here."""
    logging: Any = import_module("transformers.utils.logging")
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _head_of(model: Any, files: ModelFiles) -> Any:
    """Return the last linear layer outside of the body."""
    from torch.nn import Linear

    heads = [
        layer
        for name, part in model.named_children()
        if name != model.base_model_prefix
        for layer in part.modules()
        if isinstance(layer, Linear) and layer.out_features == 2
    ]
    if not heads:
        raise UsageError(f"`{files.name}` has no linear head: choose another base.")
    return heads[-1]
