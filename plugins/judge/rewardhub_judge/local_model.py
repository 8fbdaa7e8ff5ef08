"""The judge `transformers`: a language model on this machine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from rewardhub import (
    Generated,
    Judge,
    JudgeReply,
    Lease,
    ModelFiles,
    Options,
    TextGenerator,
    Usage,
    UsageError,
)
from rewardhub_judge.replay import digest_of
from rewardhub_judge.replies import json_in

__all__ = ["TransformersJudge"]

_CONTEXT = 4
"""Tokens before one that decide how it is written: whether a space goes in front, say."""

_TEMPLATE_TOKENS = 4096
"""What a chat template and the words about the schema may add to a question."""


class TransformersJudge(Options, Judge):
    """A causal language model with a chat template, loaded by transformers.

    Questions that come together are answered in one batch, and all judges and policies of this
    process that name the same model share it.
    """

    model: str
    """Path of the model's folder, or its name on the Hugging Face hub: `owner/name`. It is
    downloaded only if it is not in the hub's cache on this machine."""

    gguf_file: str | None = None
    """A GGUF file in that folder."""

    revision: str | None = None
    """Branch, tag or commit on the hub."""

    device: str = "auto"
    """`cpu`, `cuda`, `cuda:1`, or `auto`: the GPU where there is one."""

    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """The numbers that weights are held in. `auto` is bfloat16 on a GPU and float32 on a CPU."""

    max_new_tokens: int = Field(default=1024, ge=1)
    """How many tokens the judge may write. A verdict that is cut off is no verdict."""

    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """How freely tokens are drawn; 0 takes the likeliest. What is drawn hangs on the question and
    the seed alone."""

    top_p: float = Field(default=1.0, gt=0, le=1)
    """The share of the likeliest tokens that are drawn from."""

    _files: ModelFiles | None = PrivateAttr(default=None)
    _lease: Lease[TextGenerator] | None = PrivateAttr(default=None)
    _has_system: bool = PrivateAttr(default=True)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's digest and all that a reply depends on besides."""
        return {
            "judge": "transformers",
            "model": self._found().digest,
            "device": self.device,
            "dtype": self.dtype,
            "max_new_tokens": self.max_new_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
        }

    def open(self) -> None:
        """Load the model.

        Raises:
            UsageError: if torch or transformers are missing, if the model cannot be had, is of
                another architecture, or has no chat template.
        """
        if self._lease is not None:
            return
        lease = TextGenerator.lease(self._found(), device=self.device, dtype=self.dtype)
        try:
            self._has_system = _takes_system(lease.model.tokenizer, self.model)
        except UsageError:
            lease.release()
            raise
        self._lease = lease

    def close(self) -> None:
        """Let go of the model."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the model's reply to a chat. The schema is asked for in words.

        Raises:
            InfrastructureError: if the device broke or has too little memory.
        """
        self.open()
        assert self._lease is not None
        generator = self._lease.model
        prompt = self._prompt(generator.tokenizer, messages, schema)
        if len(prompt) >= generator.context_length:
            usage = Usage(prompt_tokens=len(prompt))
            return JudgeReply(text="", usage=usage, finish_reason="context_length")
        written = await generator.generate(
            prompt,
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=_seed(messages) if seed is None else seed,
            logprobs=logprobs,
        )
        return JudgeReply(
            text=written.text,
            data=None if schema is None else json_in(written.text),
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(written.token_ids)),
            finish_reason=written.finish_reason,
            logprobs=_told(written, generator.tokenizer),
        )

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage:
        """Return an upper bound on what a reply uses: exact for the prompt once it is open."""
        if self._lease is None:
            text = json.dumps([list(messages), schema], ensure_ascii=False)
            prompt_tokens = len(text.encode()) + _TEMPLATE_TOKENS  # a token has a byte at least
        else:
            prompt_tokens = len(self._prompt(self._lease.model.tokenizer, messages, schema))
        return Usage(prompt_tokens=prompt_tokens, completion_tokens=self.max_new_tokens)

    def _found(self) -> ModelFiles:
        if self._files is None:
            self._files = ModelFiles.find(
                self.model, gguf_file=self.gguf_file, revision=self.revision
            )
        return self._files

    def _prompt(
        self,
        tokenizer: Any,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
    ) -> list[int]:
        chat = [dict(message) for message in messages]
        if schema is not None:
            chat[-1]["content"] += (
                "\n\nAnswer with one JSON object and nothing else. It fits this JSON Schema:\n"
                + json.dumps(schema, ensure_ascii=False)
            )
        if not self._has_system and chat[0]["role"] == "system" and len(chat) > 1:
            system = chat.pop(0)
            chat[0]["content"] = f"{system['content']}\n\n{chat[0]['content']}"
        prompt: list[int] = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_dict=False
        )
        return prompt


def _takes_system(tokenizer: Any, name: str) -> bool:
    """Return whether a chat template takes a system message; some refuse it.

    Raises:
        UsageError: if there is no chat template, or it cannot render a chat.
    """
    if not tokenizer.chat_template:
        raise UsageError(
            f"The model `{name}` has no chat template, so it cannot be asked as a judge. Name one "
            "that was tuned to follow instructions."
        )
    user = {"role": "user", "content": "?"}
    refusal: Exception | None = None
    for chat in ([{"role": "system", "content": "!"}, user], [user]):
        try:
            tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # noqa: BLE001  # a template raises whatever it likes
            refusal = error
        else:
            return len(chat) == 2
    raise UsageError(f"The chat template of `{name}` cannot be rendered: {refusal}")


def _seed(messages: Sequence[Mapping[str, Any]]) -> int:
    return int(digest_of(messages)[:15], 16)


def _told(written: Generated, tokenizer: Any) -> tuple[Mapping[str, float], ...]:
    """Return the log probabilities by the texts of the tokens, those of the text alone."""
    special = set(tokenizer.all_special_ids)
    told: list[Mapping[str, float]] = []
    for place, noted in enumerate(written.logprobs):
        if written.token_ids[place] in special:
            continue
        before = written.token_ids[max(0, place - _CONTEXT) : place]
        texts: dict[str, float] = {}
        for token, value in noted.items():
            text = _piece(tokenizer, before, token)
            # Two tokens may be written alike: then it is their probabilities that add up.
            texts[text] = _log_sum(texts[text], value) if text in texts else value
        told.append(texts)
    return tuple(told)


def _piece(tokenizer: Any, before: Sequence[int], token: int) -> str:
    """Return what a token adds to the text behind those before it."""
    start = tokenizer.decode(list(before), clean_up_tokenization_spaces=False)
    whole = tokenizer.decode([*before, token], clean_up_tokenization_spaces=False)
    own: str = tokenizer.decode([token], clean_up_tokenization_spaces=False)
    return str(whole[len(start) :]) if start and whole.startswith(start) else own


def _log_sum(one: float, other: float) -> float:
    most = max(one, other)
    return most + math.log(math.exp(one - most) + math.exp(other - most))
