"""Reward models with a sequence head: one number for a whole chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardhub import ModelFiles, Task, UsageError, load_model, load_tokenizer
from rewardhub_prm.asking import chat_of, problem_of
from rewardhub_prm.encoding import Encoded, Given, Part, TextEncoder, joined
from rewardhub_prm.network import Network, TokenModel, linear_in_float32


class SequenceModel:
    """A sequence classifier with one output, and its tokenizer.

    A decoder is read at its last token; padding tokens of the model's configuration at the end of a
    chat do not count, as in transformers. An encoder reads where it always does.
    """

    def __init__(self, files: ModelFiles, tokenizer: Any, model: Any, device: str) -> None:
        self.files = files
        self.tokenizer = tokenizer
        self._text = TextEncoder(tokenizer)
        self._pad = model.config.get_text_config().pad_token_id
        self._at_the_end = hasattr(model, "score")
        if self._at_the_end:
            head = linear_in_float32(model.score)
            network = Network(model.base_model, _last_hidden, head, 1)
        else:
            network = Network(model, _as_first_token, _same, 1)
        self._model = TokenModel(network, device)
        self._pair = None if tokenizer.chat_template else self._pair_marks(model.config)

    @classmethod
    def load(cls, files: ModelFiles, device: str, dtype: Any) -> SequenceModel:
        """Load it.

        Raises:
            UsageError: if it is another kind of model, or has several outputs.
        """
        tokenizer = load_tokenizer(files)
        model = load_model("AutoModelForSequenceClassification", files, device=device, dtype=dtype)
        if model.config.num_labels != 1:
            raise UsageError(
                f"The model `{files.name}` has {model.config.num_labels} outputs, and a reward "
                "model has one. Name a model that was trained as a reward model."
            )
        return cls(files, tokenizer, model, device)

    def encode(self, task: Task, answer: str) -> Encoded:
        """Return what the model reads: the chat, or problem and answer as a pair."""
        if self._pair is None:
            chat: list[tuple[str, Sequence[Part]]] = [
                (role, [Given(text)]) for role, text in chat_of(task)
            ]
            row = self._text.encode(self._text.chat([*chat, ("assistant", [Given(answer)])]))
        else:
            before, between, after = self._pair
            problem = self._text.encode([Given(problem_of(task))])
            reply = self._text.encode([Given(answer)])
            row = joined([before, problem, between, reply, after])
        return Encoded(row.ids, (self._position(row),))

    def values(self, rows: Sequence[Encoded], batch_tokens: int | None) -> list[float]:
        """Return the raw value of each row."""
        return [row[0][0] for row in self._model.read(rows, batch_tokens=batch_tokens)]

    def _position(self, row: Encoded) -> int:
        if not self._at_the_end:
            return 0
        ends = (at for at in reversed(range(len(row))) if row.ids[at] != self._pad)
        return next(ends, len(row) - 1)

    def _pair_marks(self, config: Any) -> tuple[Encoded, Encoded, Encoded]:
        """Return what the tokenizer puts before, between and after the texts of a pair."""
        if getattr(config, "type_vocab_size", 0) > 1:
            raise UsageError(
                f"The model `{self.files.name}` has no chat template, and tells the texts of a "
                "pair apart by segments, which is not supported. Save a chat template with it."
            )
        first, second = self._text.ids("a"), self._text.ids("b")
        ids = [int(number) for number in self.tokenizer("a", "b")["input_ids"]]
        start = _find(ids, first, 0)
        middle = _find(ids, second, start + len(first))
        cuts = (ids[:start], ids[start + len(first) : middle], ids[middle + len(second) :])
        before, between, after = (Encoded(tuple(cut)) for cut in cuts)
        return before, between, after


def _find(ids: Sequence[int], part: Sequence[int], start: int) -> int:
    places = range(start, len(ids) - len(part) + 1)
    return next((at for at in places if list(ids[at : at + len(part)]) == list(part)), start)


def _last_hidden(output: Any) -> Any:
    return output.last_hidden_state


def _as_first_token(output: Any) -> Any:
    return output.logits[:, None, :]


def _same(state: Any) -> Any:
    return state
