from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardhub import Model, ModelCard, Options, hookimpl


class LengthModel(Options, Model):
    """Stands for a real model: says how long each text is. Load weights in ``open``."""

    scale: float = 1.0
    """What a length is multiplied by."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": "length", "scale": self.scale}

    def forward(self, inputs: Sequence[str], **parameters: Any) -> Sequence[float]:
        return [self.scale * len(text) for text in inputs]


@hookimpl
def rewardhub_models() -> Iterator[ModelCard]:
    yield ModelCard(name="example-length", model=LengthModel)
