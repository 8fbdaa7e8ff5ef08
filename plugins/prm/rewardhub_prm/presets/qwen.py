"""Qwen2.5-Math-PRM: a two-class head, read at a separator token after each step.

Source: the model card of Qwen/Qwen2.5-Math-PRM-7B (also -72B and Qwen2.5-Math-7B-PRM800K), and
Zhang et al. 2025, "The Lessons of Developing Process Reward Models".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardhub import ModelFiles
from rewardhub_prm.encoding import Encoded, Given, Own, Part, TextEncoder
from rewardhub_prm.network import Network, class_head, with_head
from rewardhub_prm.presets.base import Preset

SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."
SEPARATOR = "<extra_0>"


class Qwen(Preset):
    """Each step is followed by ``<extra_0>``; class 1 there is good. Labels: people and judges."""

    name = "qwen"
    aggregate = "product"
    separators = (SEPARATOR,)
    positive = 1

    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return the chat of the model card: system, problem, steps each with its separator."""
        solution: list[Part] = []
        for step in steps:
            solution += [Given(step), Own(SEPARATOR, read=True)]
        chat: list[tuple[str, Sequence[Part]]] = [
            ("system", [Own(SYSTEM)]),
            ("user", [Given(problem)]),
            ("assistant", solution),
        ]
        return text.encode(text.chat(chat))

    def step_token(self, text: TextEncoder) -> int:
        """Return the id of ``<extra_0>``."""
        return text.token(SEPARATOR, "which the preset `qwen` puts after each step")

    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the body, and the two layers ``score`` that transformers does not know."""
        del text
        return with_head(files, class_head(files, "score", device), device, dtype)
