"""The decode loop: a batch of prompts, padded on the left, written on token by token.

Each row has a random generator of its own and its own temperature, so what is drawn for it hangs
on its prompt, its parameters and its seed, never on its neighbours.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub.builtin.models.devices import library
from rewardhub.builtin.models.requests import Generated, Request, Writing
from rewardhub.errors import InfrastructureError


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A causal language model and what is needed to write with it.

    Attributes:
        model: of transformers, in evaluation mode.
        tokenizer: of the same model.
        end_ids: the tokens that end a text.
        takes: the names of the arguments of the model's ``forward``.
    """

    model: Any
    tokenizer: Any
    end_ids: frozenset[int]
    takes: Collection[str]

    @classmethod
    def of(cls, model: Any, tokenizer: Any) -> Decoder:
        """Make one of a model and its tokenizer."""
        takes = frozenset(inspect.signature(model.forward).parameters)
        return cls(
            model=model, tokenizer=tokenizer, end_ids=_end_ids(model, tokenizer), takes=takes
        )

    def write(self, requests: Sequence[Request]) -> list[tuple[Request, Generated]]:
        """Write an answer to each request, in one batch.

        Those that nobody waits for any more are left out.

        Raises:
            InfrastructureError: if the model gives numbers that are none.
            torch.OutOfMemoryError: if the batch is too large for the device.
        """
        with library("torch").inference_mode():
            return self._write(requests)

    def _write(self, requests: Sequence[Request]) -> list[tuple[Request, Generated]]:
        torch = library("torch")
        rows = [Writing(request) for request in requests]
        draw = _Draw.of(torch, rows, self.model.device)
        ids, mask = _padded(torch, requests, self.model.device)
        cache: Any = None
        answers: list[tuple[Request, Generated]] = []
        while True:
            logits, cache = self._forward(ids, mask, cache)
            tokens = draw.next(rows, logits)
            answers += self._take_all(rows, tokens)
            keep = [place for place, row in enumerate(rows) if not row.ended]
            if not keep:
                return answers
            if len(keep) < len(rows) and _can_drop_rows(cache):
                rows = [rows[place] for place in keep]
                index = torch.tensor(keep, device=mask.device)
                cache.batch_select_indices(index)
                mask, tokens = mask[index], [tokens[place] for place in keep]
                draw = draw.only(keep)
            ids = torch.tensor(tokens, device=mask.device)[:, None]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)

    def _take_all(
        self, rows: Sequence[Writing], tokens: Sequence[int]
    ) -> Iterator[tuple[Request, Generated]]:
        """Add its token to each row; yield the answers of those that end with it."""
        for row, token in zip(rows, tokens, strict=True):
            if row.ended:
                continue
            answer = self._take(row, token)
            row.ended = answer is not None or row.request.done.cancelled()
            if answer is not None:
                yield row.request, answer

    def _forward(self, ids: Any, mask: Any, cache: Any) -> tuple[Any, Any]:
        """Return the logits of the next token, (rows, vocabulary) in float32, and the cache."""
        more: dict[str, Any] = {}
        if "position_ids" in self.takes:
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
            more["position_ids"] = positions[:, -ids.shape[1] :]
        if "logits_to_keep" in self.takes:
            more["logits_to_keep"] = 1
        out = self.model(
            input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **more
        )
        return out.logits[:, -1].float(), out.past_key_values

    def _take(self, row: Writing, token: int) -> Generated | None:
        """Add a token to a row; return the answer if that was its last one."""
        row.token_ids.append(token)
        if token in self.end_ids:
            return self._answer(row, "stop")
        if row.request.stop and self._stops(row):
            return self._answer(row, "stop")
        if len(row.token_ids) == row.request.max_new_tokens:
            return self._answer(row, "length")
        return None

    def _stops(self, row: Writing) -> bool:
        # A token is at least a byte and a character at most four, so the end of the text that a
        # stop text can lie in is within this many tokens.
        reach = 4 * max(map(len, row.request.stop)) + 4
        tail = self._text(row.token_ids[-reach:])
        return any(stop in tail for stop in row.request.stop)

    def _text(self, token_ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(
            token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text

    def _answer(self, row: Writing, reason: Any) -> Generated:
        text = self._text(row.token_ids)
        ends = [text.find(stop) for stop in row.request.stop if stop in text]
        return Generated(
            token_ids=tuple(row.token_ids),
            text=text[: min(ends)] if ends else text,
            finish_reason=reason,
            logprobs=tuple(row.logprobs),
        )


@dataclass(frozen=True, slots=True)
class _Draw:
    """How the next token of each row is drawn."""

    torch: Any
    generators: Sequence[Any]
    temperature: Any
    top_p: Any

    @classmethod
    def of(cls, torch: Any, rows: Sequence[Writing], device: Any) -> _Draw:
        requests = [row.request for row in rows]
        column = [[request.temperature] for request in requests], [[r.top_p] for r in requests]
        temperature, top_p = (torch.tensor(values, device=device) for values in column)
        generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        return cls(torch, generators, temperature, top_p)

    def only(self, keep: Sequence[int]) -> _Draw:
        index = self.torch.tensor(keep, device=self.temperature.device)
        generators = [self.generators[i] for i in keep]
        return _Draw(self.torch, generators, self.temperature[index], self.top_p[index])

    def next(self, rows: Sequence[Writing], logits: Any) -> list[int]:
        """Return a token for each row, and note the log probabilities that it asked for."""
        if self.torch.isnan(logits).any():
            raise InfrastructureError(
                "The model gave NaN instead of probabilities: its weights are damaged, or too "
                "large for its dtype.",
                passing=False,
            )
        tokens: list[int] = logits.argmax(dim=1).tolist()
        warm = (self.temperature > 0).flatten().tolist()
        if any(warm):
            drawn = self._drawn(logits)
            tokens = [drawn[i] if warm[i] else tokens[i] for i in range(len(rows))]
        if any(row.request.logprobs for row in rows):
            _note(self.torch, rows, logits, tokens)
        return tokens

    def _drawn(self, logits: Any) -> list[int]:
        """Invert each row's cumulative distribution at one number of its own generator."""
        torch = self.torch
        scale = self.temperature.clamp(min=1e-6)
        shares, order = torch.softmax(logits / scale, dim=1).double().sort(dim=1, descending=True)
        total = shares.cumsum(dim=1)
        # The nucleus: the fewest tokens that hold top_p, the likeliest one always among them.
        shares = shares.masked_fill(total - shares >= self.top_p, 0.0)
        total = shares.cumsum(dim=1)
        draws = [torch.rand((), generator=g, dtype=torch.float64) for g in self.generators]
        point = torch.stack(draws).to(total.device)[:, None] * total[:, -1:]
        place = torch.searchsorted(total, point, right=True)
        last = (shares > 0).sum(dim=1, keepdim=True) - 1
        tokens: list[int] = order.gather(1, torch.minimum(place, last)).flatten().tolist()
        return tokens


def _note(torch: Any, rows: Sequence[Writing], logits: Any, tokens: Sequence[int]) -> None:
    logs = torch.log_softmax(logits, dim=1)
    most = min(max(row.request.logprobs for row in rows), logs.shape[1])
    values, ids = (each.tolist() for each in logs.topk(most, dim=1))
    own = logs.gather(1, torch.tensor(tokens, device=logs.device)[:, None]).flatten().tolist()
    for i, row in enumerate(rows):
        asked = row.request.logprobs
        if asked:
            likeliest = dict(zip(ids[i][:asked], values[i][:asked], strict=True))
            noted: Mapping[int, float] = {tokens[i]: own[i]} | likeliest
            row.logprobs.append(noted)


def _can_drop_rows(cache: Any) -> bool:
    """Return whether rows can leave a cache; the states of linear attention cannot yet.

    There a row that has ended is written on with the others, and nobody looks at it.
    """
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(hasattr(layer, "batch_select_indices") for layer in layers)


def _padded(torch: Any, requests: Sequence[Request], device: Any) -> tuple[Any, Any]:
    """Return token ids and attention mask, (rows, longest prompt), padded on the left."""
    width = max(len(request.prompt_ids) for request in requests)
    gaps = [width - len(request.prompt_ids) for request in requests]
    # What stands in the gap is masked; token 0 is in every vocabulary.
    rows = zip(gaps, requests, strict=True)
    ids = [[0] * gap + list(request.prompt_ids) for gap, request in rows]
    mask = [[0] * gap + [1] * (width - gap) for gap in gaps]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    named = (
        getattr(model.generation_config, "eos_token_id", None),
        model.config.get_text_config().eos_token_id,
        tokenizer.eos_token_id,
    )
    found: set[int] = set()
    for ids in named:
        found.update(ids if isinstance(ids, list | tuple) else () if ids is None else (ids,))
    return frozenset(found)
