"""The chat formats that are shipped: the markup of open families, with words of our own.

They are for tests and for models that are trained from a base model. A model that was trained on
chats is used with its own template, by `ChatFormat.from_tokenizer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_CHATML = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_LLAMA = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
)
_MISTRAL = (
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
)
_BAR, _SPACE = "\uff5c", "\u2581"
_DEEPSEEK = tuple(
    f"<{_BAR}{name.replace(' ', _SPACE)}{_BAR}>"
    for name in (
        "begin of sentence",
        "end of sentence",
        "User",
        "Assistant",
        "tool output begin",
        "tool output end",
    )
)

FORMATS: Mapping[str, Mapping[str, Any]] = {
    "chatml": {"calls": "none", "special_tokens": _CHATML, "end_tokens": ("<|im_end|>",)},
    "hermes": {"calls": "hermes", "special_tokens": _CHATML, "end_tokens": ("<|im_end|>",)},
    "react": {"calls": "react", "special_tokens": _CHATML, "end_tokens": ("<|im_end|>",)},
    "qwen3-coder": {
        "calls": "qwen3-coder",
        "special_tokens": _CHATML,
        "end_tokens": ("<|im_end|>",),
    },
    "llama3": {
        "calls": "llama3",
        "bos_token": "<|begin_of_text|>",
        "special_tokens": _LLAMA,
        "end_tokens": ("<|eot_id|>", "<|eom_id|>"),
    },
    "mistral": {
        "calls": "mistral",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "special_tokens": _MISTRAL,
        "end_tokens": ("</s>",),
    },
    "deepseek": {
        "calls": "deepseek",
        "bos_token": _DEEPSEEK[0],
        "eos_token": _DEEPSEEK[1],
        "special_tokens": _DEEPSEEK,
        "end_tokens": _DEEPSEEK[1:2],
    },
}
"""Name -> the fields of its `ChatFormat`, without the template."""


@cache
def template_named(name: str) -> str:
    """Return the template of a shipped format; ``react`` is ``chatml`` and words for the tools."""
    file = {"react": "chatml"}.get(name, name)
    folder = files("rewardhub_policies") / "chat_formats"
    return (folder / f"{file}.jinja").read_text(encoding="utf-8").removesuffix("\n")
