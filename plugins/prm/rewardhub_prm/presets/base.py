"""Preset: all that a family of process reward models does its own way, in one place."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.encoding import Encoded, TextEncoder

if TYPE_CHECKING:
    from rewardhub_prm.network import Network

Aggregation = Literal["last", "min", "product", "mean"]
Split = Literal["steps", "lines"]

_PROBE = ("What is 1 + 1?", ("One and one are two.", "The answer is 2."))


class Preset(ABC):
    """How a family of models is asked, and where its answer stands.

    Attributes:
        name: as a spec writes it.
        aggregate: what makes one value of the steps' values, unless a spec says otherwise. It
            follows from the labels that the family was trained on.
        split: what a step is: `rewardhub.split_steps`, or a line.
        separators: tokens that mark a step's end, which no text of others may spell.
        columns: how many numbers the model gives at a position: one logit, or one per class.
        positive: index of the class that says that a step is good.
    """

    name: ClassVar[str]
    aggregate: Aggregation
    split: Split = "steps"
    separators: tuple[str, ...] = ()
    columns: int = 2
    positive: int = 0

    @abstractmethod
    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return the tokens that the model reads, with one position for each step."""

    @abstractmethod
    def step_token(self, text: TextEncoder) -> int | None:
        """Return the token that stands at every position; None where it is none of its own.

        Raises:
            UsageError: if the tokenizer has no such token.
        """

    @abstractmethod
    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the model.

        Raises:
            UsageError: if the files hold a model of another kind.
        """

    def check(self, text: TextEncoder) -> None:
        """Try the tokenizer on a small solution.

        Raises:
            UsageError: if it is not the one of such a model.
        """
        wanted = self.step_token(text)
        encoded = self.encode(text, *_PROBE)
        found = [encoded.ids[position] for position in encoded.positions]
        if wanted is not None and found != [wanted] * len(_PROBE[1]):
            raise UsageError(
                f"The tokenizer does not keep the step token of preset `{self.name}` apart from "
                "the text around it. Is this the model that the preset is for?"
            )


def probability(logits: Sequence[float], positive: int) -> float:
    """Return the share of the positive class: softmax over classes, sigmoid of a single logit."""
    if not all(map(math.isfinite, logits)):
        return math.nan
    if len(logits) == 1:
        return 1.0 / (1.0 + math.exp(-logits[0])) if logits[0] > -700.0 else 0.0
    top = max(logits)
    shares = [math.exp(logit - top) for logit in logits]
    return shares[positive] / math.fsum(shares)
