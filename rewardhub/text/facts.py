"""What a chat template and a tokenizer add to the text of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DEFAULT_FACTS", "TemplateFacts"]

# Of the open families: Llama 2 and 3, Mistral, Qwen, Phi, Gemma, DeepSeek, Command, gpt-oss, T5.
_COMMON_TOKENS = (
    "<bos>",
    "<end_of_turn>",
    "<eos>",
    "<pad>",
    "<s>",
    "</s>",
    "<start_of_turn>",
    "<unk>",
    "<|END_OF_TURN_TOKEN|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|assistant|>",
    "<|begin_of_text|>",
    "<|end_header_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|finetune_right_pad_id|>",
    "<|im_end|>",
    "<|im_start|>",
    "<|return|>",
    "<|start_header_id|>",
    "<|system|>",
    "<|user|>",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<\uff5c\u2581pad\u2581\uff5c>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFacts:
    """What ``normalise`` has to know of the template that a text was made with.

    Attributes:
        special_tokens: taken off wherever they stand. A reasoning tag among them stays a tag.
        end_tokens: the first of them ends the response. When given, a response without one is
            truncated; without any, nothing can be said and only unclosed reasoning is truncated.
        reasoning_tags: what opens and what closes reasoning.
        opens_reasoning: the template itself wrote the opening tag, so the text starts inside.

    Raises:
        ValueError: for an empty marker or one with a newline, for equal reasoning tags, and for a
            reasoning tag that is an end token too.
    """

    special_tokens: tuple[str, ...] = _COMMON_TOKENS
    end_tokens: tuple[str, ...] = ()
    reasoning_tags: tuple[str, str] = ("<think>", "</think>")
    opens_reasoning: bool = False
    first_characters: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        markers = (*self.special_tokens, *self.end_tokens, *self.reasoning_tags)
        for marker in markers:
            if not marker or "\n" in marker:
                raise ValueError(f"{marker!r} cannot be a token or tag: give text on one line.")
        if self.reasoning_tags[0] == self.reasoning_tags[1]:
            raise ValueError(f"{self.reasoning_tags[0]!r} cannot both open and close reasoning.")
        if clash := set(self.end_tokens) & set(self.reasoning_tags):
            raise ValueError(f"{clash.pop()!r} cannot end both the reasoning and the response.")
        # Text without any of these characters holds no marker: most texts, and found at once.
        object.__setattr__(self, "first_characters", tuple({marker[0]: None for marker in markers}))


DEFAULT_FACTS = TemplateFacts()
"""What holds for text of unknown origin."""
