"""Text to token ids, with the positions where a step's value is read.

A position is known while the text is put together: it is never looked for afterwards, neither in
decoded text nor among the token ids, so nothing that a step says can move it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardhub import UsageError

_SLOT = "\ue000{}\ue001"
_SLOTS = re.compile("\ue000([0-9]+)\ue001")
_LLAMA_DATE = "26 Jul 2024"
"""What Llama 3.1's template says without a clock; others ask the clock, and scores would age."""


@dataclass(frozen=True, slots=True)
class Own:
    """Text of the preset: special tokens in it are tokens.

    Attributes:
        text: the text.
        read: whether its last token is a position.
    """

    text: str
    read: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """Text of the task or of the policy: what looks like a special token in it is mere text."""

    text: str


Part = Own | Given


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids, and the indices among them where values are read, in order."""

    ids: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()

    def __add__(self, other: Encoded) -> Encoded:
        moved = tuple(len(self.ids) + position for position in other.positions)
        return Encoded(self.ids + other.ids, self.positions + moved)

    def __len__(self) -> int:
        return len(self.ids)


def joined(pieces: Iterable[Encoded]) -> Encoded:
    """Return the pieces one after another."""
    ids: list[int] = []
    positions: list[int] = []
    for piece in pieces:
        positions += [len(ids) + position for position in piece.positions]
        ids += piece.ids
    return Encoded(tuple(ids), tuple(positions))


@dataclass(slots=True)
class _Run:
    """Text between two special tokens, and the ends of what is read in it."""

    text: str = ""
    ends: list[int] = field(default_factory=list[int])


class TextEncoder:
    """Encodes parts of text with one tokenizer.

    Args:
        tokenizer: a fast tokenizer of transformers.
        separators: tokens of the preset that are special to it, whether or not the tokenizer calls
            them special.

    Raises:
        UsageError: if the tokenizer cannot tell which characters a token stands for.
    """

    def __init__(self, tokenizer: Any, separators: Sequence[str] = ()) -> None:
        if not tokenizer.is_fast:
            raise UsageError(
                f"The tokenizer {type(tokenizer).__name__} does not tell where its tokens stand in "
                "the text. Save it as a fast one: the folder needs a tokenizer.json."
            )
        self.tokenizer = tokenizer
        known = tokenizer.added_tokens_decoder.items()
        self._special = {
            str(token.content): int(number)
            for number, token in known
            if token.content and (token.special or token.content in separators)
        }
        longest_first = sorted(self._special, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self.around = self._around()

    def encode(self, parts: Iterable[Part]) -> Encoded:
        """Return the parts as one text; what lies between special tokens is tokenised in one go."""
        pieces: list[Encoded] = []
        run = _Run()
        for part in parts:
            if isinstance(part, Given):
                run.text += part.text
                continue
            start = 0
            for match in self._pattern.finditer(part.text):
                run.text += part.text[start : match.start()]
                start = match.end()
                read = part.read and start == len(part.text)
                pieces += [self._encode_run(run), self._one(match[0], read=read)]
                run = _Run()
            run.text += part.text[start:]
            if part.read and start < len(part.text):
                run.ends.append(len(run.text))
        pieces.append(self._encode_run(run))
        return joined(pieces)

    def chat(
        self, messages: Sequence[tuple[str, Sequence[Part]]], *, reply: bool = False
    ) -> list[Part]:
        """Return a chat as the model's template writes it.

        Args:
            messages: role and content of each.
            reply: whether the template opens the reply of the assistant at the end.

        Raises:
            UsageError: if the tokenizer has no chat template, or it refuses such a chat.
        """
        blank = [
            {"role": role, "content": _SLOT.format(index)}
            for index, (role, _) in enumerate(messages)
        ]
        try:
            text: str = self.tokenizer.apply_chat_template(
                blank, tokenize=False, add_generation_prompt=reply, date_string=_LLAMA_DATE
            )
        except Exception as error:  # whatever a template of others raises
            raise UsageError(
                f"The tokenizer's chat template cannot write this chat: {error}. "
                "Use the tokenizer that was saved with the model."
            ) from error
        parts: list[Part] = []
        for index, piece in enumerate(_SLOTS.split(text)):
            parts += messages[int(piece)][1] if index % 2 else [Own(piece)]
        return parts

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text, without those that the tokenizer puts around it."""
        return [int(i) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def token(self, text: str, what: str) -> int:
        """Return the id of the one token that ``text`` is.

        Raises:
            UsageError: if it is no single token.
        """
        if text in self._special:
            return self._special[text]
        ids = self.ids(text)
        if len(ids) != 1:
            raise UsageError(
                f"The tokenizer has no token `{text}`, {what}: it makes {len(ids)} tokens of it. "
                "Is this the model that the preset is for?"
            )
        return ids[0]

    def _around(self) -> tuple[Encoded, Encoded]:
        """Return what the tokenizer itself puts before and after a text: begin and end tokens."""
        plain = self.ids("a")
        whole = [int(number) for number in self.tokenizer("a")["input_ids"]]
        starts = range(len(whole) - len(plain) + 1)
        start = next((at for at in starts if whole[at : at + len(plain)] == plain), 0)
        return Encoded(tuple(whole[:start])), Encoded(tuple(whole[start + len(plain) :]))

    def _one(self, special: str, *, read: bool) -> Encoded:
        return Encoded((self._special[special],), (0,) if read else ())

    def _encode_run(self, run: _Run) -> Encoded:
        """Tokenise text without special tokens; one that is spelt out in it is cut in two."""
        ids: list[int] = []
        starts: list[int] = []
        forged = {*self._special.values()} - {self.tokenizer.unk_token_id}
        for start, piece in self._cut(run.text):
            made = self.tokenizer(piece, add_special_tokens=False, return_offsets_mapping=True)
            for number, (first, _) in zip(made["input_ids"], made["offset_mapping"], strict=True):
                if number not in forged:  # a normaliser may spell one that the text did not
                    ids.append(int(number))
                    starts.append(start + first)
        return Encoded(tuple(ids), tuple(_positions(starts, run.ends)))

    def _cut(self, text: str) -> Iterable[tuple[int, str]]:
        start = 0
        match = self._pattern.search(text)
        while match is not None:
            cut = match.start() + 1
            yield start, text[start:cut]
            start = cut
            match = self._pattern.search(text, cut)
        if start < len(text):
            yield start, text[start:]


def _positions(starts: Sequence[int], ends: Sequence[int]) -> Iterable[int]:
    """Yield, for each end of a text that is read, the last token that starts before it."""
    index = 0
    for end in ends:
        while index < len(starts) and starts[index] < end:
            index += 1
        yield max(0, index - 1)
