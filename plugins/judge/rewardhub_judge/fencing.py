"""Fences: what the policy and the task wrote stands in a prompt as data, with marked borders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

__all__ = ["Fences"]

_MARK_LENGTH = 16


class Fences:
    """The fences of one prompt, which share one mark.

    The mark is drawn from the digest of all ``texts`` and occurs in none of them (it is drawn again
    until it does not), so no text can close its own fence. Equal texts have equal marks, so equal
    questions stay equal.

    Attributes:
        mark: 16 hexadecimal digits.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        digest = hashlib.sha256()
        for text in texts:
            data = text.encode("utf-8", "replace")
            digest.update(len(data).to_bytes(8, "big") + data)
        self.mark = digest.hexdigest()[:_MARK_LENGTH]
        lowered = [text.lower() for text in texts]
        while any(self.mark in text for text in lowered):
            digest.update(b"again")
            self.mark = digest.hexdigest()[:_MARK_LENGTH]

    def around(self, label: str, text: str) -> str:
        """Return ``text`` between two lines that bear ``label`` and the mark.

        Lone surrogates, which no endpoint takes, become question marks.
        """
        plain = text.encode("utf-8", "replace").decode("utf-8")
        return f"[{label} {self.mark}]\n{plain}\n[end of {label} {self.mark}]"
