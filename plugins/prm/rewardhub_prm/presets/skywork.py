"""Skywork-o1-Open-PRM: a value head, read at the line break after each step.

Source: SkyworkAI/skywork-o1-prm-inference (``prepare_input``, ``PRM_MODEL``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardhub import ModelFiles, UsageError
from rewardhub_prm.encoding import Encoded, Given, Own, TextEncoder, joined
from rewardhub_prm.network import Network, class_head, with_head
from rewardhub_prm.presets.base import Preset

LINE_BREAK = "\n"


class Skywork(Preset):
    """Each line is a step, tokenised by itself; the sigmoid of the value at its line break counts.

    What the model's labels are is not published. Its lowest step is the last one as often as with
    models that were labelled by rollouts (Zhang et al. 2025), so the last step counts: measure it.
    """

    name = "skywork"
    aggregate = "last"
    split = "lines"
    columns = 1

    def encode(self, text: TextEncoder, problem: str, steps: Sequence[str]) -> Encoded:
        """Return the begin token, the problem and a line break, then each step and its token."""
        begin = text.tokenizer.bos_token
        if not begin:
            raise UsageError(
                "The tokenizer has no begin token (bos_token), and the preset `skywork` puts one "
                "before the problem. Is this the model that the preset is for?"
            )
        end = Encoded((self.step_token(text),), (0,))
        pieces = [text.encode([Own(begin), Given(problem), Own("\n")])]
        for step in steps:
            pieces += [text.encode([Given(step)]), end]
        return joined(pieces)

    def step_token(self, text: TextEncoder) -> int:
        """Return the id of the line break."""
        return text.token(LINE_BREAK, "which the preset `skywork` puts after each step")

    def network(self, files: ModelFiles, text: TextEncoder, device: str, dtype: Any) -> Network:
        """Load the body, and the ``v_head`` that lies beside it in the checkpoint."""
        del text
        return with_head(files, class_head(files, "v_head.summary", device), device, dtype)
