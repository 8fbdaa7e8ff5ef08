"""The generic preset: token classification at a separator, as its folder describes it.

`rewardhub prm train` saves such folders; TRL's PRM trainer makes models of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.encoding import Encoded, Given, Own, TextEncoder, joined
from rewardhub_prm.network import Network, token_classes
from rewardhub_prm.presets.base import Aggregation, Preset

FILE = "rewardhub_prm.json"


class GenericForm(BaseModel):
    """What ``rewardhub_prm.json`` says: how a solution is written, and what is read in it.

    ``opening`` problem ``after_problem``, then for each step: step ``separator``, then ``closing``.
    Each of these pieces is tokenised by itself. A value is read at the last token of a separator.

    Attributes:
        separator: after each step; special tokens in it are tokens.
        opening: before the problem, as ``[CLS]``.
        after_problem: between the problem and the first step.
        closing: after the last separator.
        positive: the class that says that a step is good; with one class its sigmoid counts.
        aggregate: what makes one value of the steps' values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    separator: str = Field(min_length=1)
    opening: str = ""
    after_problem: str = "\n"
    closing: str = ""
    positive: int = Field(1, ge=0)
    aggregate: Aggregation = "min"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file in a model's folder.

        Raises:
            UsageError: if it is missing, or wrong.
        """
        path = folder / FILE
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise UsageError(
                f"The folder {folder} has no {FILE}, which says how the preset `generic` asks its "
                "model. Train one with `rewardhub prm train`, write the file, or name the preset "
                "that the model is for."
            ) from None
        except (OSError, ValidationError) as error:
            raise UsageError(f"{path} cannot be used: {error}") from None

    def save(self, folder: Path) -> None:
        """Write the file into a model's folder."""
        text = self.model_dump_json(indent=2)
        (folder / FILE).write_text(f"{text}\n", encoding="utf-8")


class Generic(Preset):
    """A head on tokens: what it is read at stands in the model's folder."""

    name = "generic"

    def __init__(self, form: GenericForm, columns: int = 2) -> None:
        self.form = form
        self.aggregate = form.aggregate
        self.separators = (form.separator,)
        self.columns = columns
        self.positive = form.positive if columns > 1 else 0

    @classmethod
    def of(cls, files: ModelFiles) -> Self:
        """Return the preset of a folder.

        Raises:
            UsageError: if the folder does not say it, or its model has no such class.
        """
        form = GenericForm.read(files.path)
        labels = files.config.get("id2label") or {"0": "", "1": ""}
        if len(labels) > 1 and form.positive >= len(labels):
            raise UsageError(
                f"{files.path / FILE} says that class {form.positive} is the good one, and the "
                f"model has {len(labels)} classes, counted from 0."
            )
        return cls(form, len(labels))

    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return the pieces in order, with one position at the end of each separator."""
        form = self.form
        separator = text.encode([Own(form.separator, read=True)])
        pieces = [
            text.encode([Own(form.opening)]),
            text.encode([Given(problem)]),
            text.encode([Own(form.after_problem)]),
        ]
        for step in steps:
            pieces += [text.encode([Given(step)]), separator]
        return joined([*pieces, text.encode([Own(form.closing)])])

    def step_token(self, text: TextEncoder) -> int:
        """Return the last token of the separator."""
        separator = text.encode([Own(self.form.separator)])
        if not len(separator):
            raise UsageError(
                f"The tokenizer makes no token of the separator {self.form.separator!r} that "
                f"{FILE} names. Is it the tokenizer that the head was trained with?"
            )
        return separator.ids[-1]

    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the model with its head."""
        del text
        return token_classes(files, device, dtype)
