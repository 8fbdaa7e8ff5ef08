"""RLHFlow's Llama 3.1 PRMs: a chat in which the assistant answers ``+`` or ``-`` to each step.

Source: RLHFlow/RLHF-Reward-Modeling, math-rm/prm_evaluate.py; the models trained on Mistral's and
on Deepseek's solutions differ in how their steps look, not in how they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.encoding import Encoded, Given, Own, Part, TextEncoder
from rewardhub_prm.network import Network, token_choice
from rewardhub_prm.presets.base import Preset

GOOD, BAD = "+", "-"


class RlhFlow(Preset):
    """A step is a user turn; ``+`` against ``-`` is read where the answer begins. Labels: rollouts.

    The reference asks once per step with a chat that grows, and puts ``+`` in for the steps before.
    A causal model sees the same in one pass over the whole chat.
    """

    name = "rlhflow"
    aggregate = "last"

    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return the chat: the problem stands before the first step."""
        chat: list[tuple[str, Sequence[Part]]] = []
        for index, step in enumerate(steps):
            before: list[Part] = [] if index else [Given(problem), Own(" ")]
            chat.append(("user", [*before, Given(step)]))
            chat.append(("assistant", [Own(GOOD, read=True)]))
        whole = text.encode(text.chat(chat))
        # A token is predicted at the one before it.
        return Encoded(whole.ids, tuple(position - 1 for position in whole.positions))

    def step_token(self, text: TextEncoder) -> None:
        """Return None: what stands before the answer is the template's."""
        del text

    def check(self, text: TextEncoder) -> None:
        """Try whether the answer is a token of its own in the template."""
        encoded = self.encode(text, "1 + 1 = ?", ("2",))
        if [encoded.ids[position + 1] for position in encoded.positions] != [text.ids(GOOD)[-1]]:
            raise UsageError(
                "The tokenizer does not keep the answer `+` apart from its chat template. Is this "
                "the model that the preset `rlhflow` is for?"
            )

    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the language model; only two rows of its output layer are used."""
        return token_choice(files, [text.ids(GOOD)[-1], text.ids(BAD)[-1]], device, dtype)
