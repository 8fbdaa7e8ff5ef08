"""TextGenerator: a local language model that many may ask at once."""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from rewardhub.builtin.models.decoding import Decoder
from rewardhub.builtin.models.devices import device_of, dtype_of, library
from rewardhub.builtin.models.files import ModelFiles
from rewardhub.builtin.models.leases import Lease, lease_model
from rewardhub.builtin.models.loading import load_model, load_tokenizer
from rewardhub.builtin.models.requests import Generated, Request
from rewardhub.errors import InfrastructureError, UsageError

WINDOW = 0.01
"""Seconds for which a first request waits for others to share its batch."""
BATCH_TOKENS = {"cpu": 16_384, "cuda": 262_144}
"""Tokens, padding included, that a batch may come to hold; one too large all the same is halved."""


class TextGenerator:
    """A causal language model with its tokenizer, in one thread of its own.

    Requests that come together are written in one batch. Get one by `lease`, so that all that use
    the same model in this process share it.

    Attributes:
        tokenizer: of transformers, with the model's chat template.
        files: where the model lies; ``files.digest`` tells it from others.
        context_length: tokens that prompt and answer may have together.
        repeatable: whether the same prompt, parameters and seed give the same tokens. A row's draws
            hang on nothing of its neighbours, but the shape of its batch moves the last bits of its
            logits: about one millionth in float32, where a token changes only if two are that
            close; about one hundredth in bfloat16 and float16, which are not called repeatable.
    """

    def __init__(self, model: Any, tokenizer: Any, files: ModelFiles) -> None:
        self.tokenizer = tokenizer
        self.files = files
        self.context_length = _context_length(model, tokenizer)
        self.repeatable = str(model.dtype) == "torch.float32"
        self._decoder = Decoder.of(model, tokenizer)
        if "past_key_values" not in self._decoder.takes:
            raise UsageError(
                f"The model `{files.name}` is a {type(model).__name__}, which keeps no cache of "
                "keys and values. Name one of another architecture."
            )
        self._batch_tokens = BATCH_TOKENS[model.device.type]
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._serve, name=f"rewardhub-model-{files.name}", daemon=True
        )
        self._thread.start()

    @classmethod
    def lease(
        cls, files: ModelFiles, *, device: str = "auto", dtype: str = "auto"
    ) -> Lease[TextGenerator]:
        """Return a lease of the generator of these files; the first holder loads it.

        Raises:
            UsageError: for a device or dtype that is not there, and files that are no causal
                language model.
        """
        place = device_of(device)
        numbers = dtype_of(dtype, place)

        def make() -> TextGenerator:
            tokenizer = load_tokenizer(files)
            model = load_model("AutoModelForCausalLM", files, device=place, dtype=numbers)
            return cls(model, tokenizer, files)

        return lease_model((files.digest, "text", place, str(numbers)), make)

    async def generate(
        self,
        prompt_ids: Sequence[int],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        logprobs: int = 0,
        stop: Sequence[str] = (),
    ) -> Generated:
        """Write on from a prompt; see `submit`. A call that is cancelled gives up its row."""
        return await asyncio.wrap_future(
            self.submit(
                prompt_ids,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=top_p,
                seed=seed,
                logprobs=logprobs,
                stop=stop,
            )
        )

    def submit(
        self,
        prompt_ids: Sequence[int],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        logprobs: int = 0,
        stop: Sequence[str] = (),
    ) -> Future[Generated]:
        """Ask from any thread for what `generate` returns.

        Args:
            prompt_ids: at least one token, fewer than `context_length`.
            max_new_tokens: at most so many; fewer where the context ends before.
            temperature: 0 takes the likeliest token.
            top_p: draws among the fewest tokens that hold this share of the probability.
            seed: of the draws; None takes a fresh one.
            logprobs: how many of the likeliest tokens to tell for each token.
            stop: texts that end the answer; they are not in its text.

        Raises:
            ValueError: for a prompt that is empty or fills the context, or parameters that are out
                of range.
            InfrastructureError: from the future, if the device is lost or out of memory.
        """
        room = self.context_length - len(prompt_ids)
        if not prompt_ids or room < 1:
            raise ValueError(
                f"A prompt has at least one token and fewer than {self.context_length}, the "
                f"context of `{self.files.name}`; this one has {len(prompt_ids)}."
            )
        if max_new_tokens < 1 or not 0 <= temperature < float("inf") or not 0 < top_p <= 1:
            raise ValueError(
                "max_new_tokens is 1 or more, temperature 0 or more and finite, top_p in (0, 1]."
            )
        request = Request(
            prompt_ids=tuple(prompt_ids),
            max_new_tokens=min(max_new_tokens, room),
            temperature=temperature,
            top_p=top_p,
            seed=(secrets.randbits(63) if seed is None else seed % 2**63),
            logprobs=logprobs,
            stop=tuple(text for text in stop if text),
        )
        self._requests.put(request)
        return request.done

    def close(self) -> None:
        """Write what was asked for so far, then stop the thread; done by the last release."""
        self._requests.put(None)
        self._thread.join()

    def _serve(self) -> None:
        going_on = True
        while going_on:
            waiting, going_on = self._gather()
            for batch in batches(waiting, self._batch_tokens):
                self._answer(batch)

    def _gather(self) -> tuple[list[Request], bool]:
        """Return the requests that came together, and whether more may come."""
        first = self._requests.get()
        if first is None:
            return [], False
        found = [first]
        until = time.monotonic() + WINDOW
        while True:
            try:
                more = self._requests.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return found, True
            if more is None:
                return found, False
            found.append(more)

    def _answer(self, batch: Sequence[Request]) -> None:
        torch = library("torch")
        batch = [request for request in batch if not request.done.cancelled()]
        if not batch:
            return
        try:
            answers = self._decoder.write(batch)
        except Exception as error:  # noqa: BLE001  # whoever asked is told, and the thread lives on
            if not _is_out_of_memory(torch, error):
                _refuse(batch, _named(torch, error))
                return
            answers = None
        if answers is None:  # outside the handler, whose traceback would keep the tensors alive
            torch.cuda.empty_cache()
            self._answer_less(batch)
            return
        for request, generated in answers:
            if request.done.set_running_or_notify_cancel():
                request.done.set_result(generated)

    def _answer_less(self, batch: Sequence[Request]) -> None:
        if len(batch) > 1:
            half = len(batch) // 2
            self._answer(batch[:half])
            self._answer(batch[half:])
            return
        _refuse(
            batch,
            InfrastructureError(
                f"The device has too little memory for `{self.files.name}` and one prompt of "
                f"{len(batch[0].prompt_ids)} tokens.",
                passing=False,
            ),
        )


def batches(requests: Sequence[Request], most: int) -> Iterator[list[Request]]:
    """Yield batches of like length that hold at most ``most`` tokens, padding included.

    A request that is longer than that is a batch of its own.
    """
    batch: list[Request] = []
    for request in sorted(requests, key=lambda each: each.tokens):
        if batch and request.tokens * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(request)
    if batch:
        yield batch


def _refuse(batch: Sequence[Request], error: Exception) -> None:
    for request in batch:
        if request.done.set_running_or_notify_cancel():
            request.done.set_exception(error)


def _is_out_of_memory(torch: Any, error: Exception) -> bool:
    # On a CPU it is a plain RuntimeError of the allocator.
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _named(torch: Any, error: Exception) -> Exception:
    """Return what a device that broke means; other errors are bugs and stay as they are."""
    if isinstance(error, getattr(torch, "AcceleratorError", ())) or "CUDA" in str(error):
        return InfrastructureError(f"The device broke: {str(error).splitlines()[0]}")
    return error


def _context_length(model: Any, tokenizer: Any) -> int:
    config = model.config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        length = getattr(config, name, None)
        if isinstance(length, int):
            return length
    return int(tokenizer.model_max_length)
