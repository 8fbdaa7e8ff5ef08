"""Math-Shepherd: a language model that says ``+`` or ``-`` at a tag after each step.

Source: the model card of peiyi9979/math-shepherd-mistral-7b-prm, and Wang et al. 2024,
"Math-Shepherd: Verify and Reinforce LLMs Step-by-step without Human Annotations".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.encoding import Encoded, Given, Own, Part, TextEncoder, joined
from rewardhub_prm.network import Network, token_choice
from rewardhub_prm.presets.base import Preset

TAG = "ки"


class MathShepherd(Preset):
    """Each step ends with the tag; ``+`` against ``-`` there counts. Labels: rollouts."""

    name = "math-shepherd"
    aggregate = "last"

    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return problem and tagged steps as one text, between the tokenizer's own ends."""
        parts: list[Part] = [Given(problem), Own(" ")]
        for index, step in enumerate(steps):
            parts += [*([Own("\n")] if index else []), Given(step), Own(f" {TAG}", read=True)]
        before, after = text.around
        return joined([before, text.encode(parts), after])

    def step_token(self, text: TextEncoder) -> int:
        """Return the id of the tag."""
        return text.ids(TAG)[-1]

    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the language model; only two rows of its output layer are used."""
        choices = text.ids("+ -")
        if len(choices) != 2:
            raise UsageError(
                f"The tokenizer of `{files.name}` makes {len(choices)} tokens of `+ -`, and the "
                "preset `math-shepherd` reads two. Is this the model that the preset is for?"
            )
        return token_choice(files, choices, device, dtype)
