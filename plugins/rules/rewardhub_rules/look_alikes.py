"""Texts that look the same, made the same."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["plain"]

# Letters of other scripts that are drawn as Latin ones (Unicode Technical Standard 39,
# confusables.txt, where the drawing is the same in common fonts).
_DRAWN_AS = {
    "A": "\u0391\u0410",
    "B": "\u0392\u0412",
    "C": "\u03f9\u0421",
    "E": "\u0395\u0415",
    "G": "\u050c",
    "H": "\u0397\u041d",
    "I": "\u0399\u0406\u04c0",
    "J": "\u037f\u0408",
    "K": "\u039a\u041a",
    "M": "\u039c\u041c",
    "N": "\u039d",
    "O": "\u039f\u041e\u0555",
    "P": "\u03a1\u0420",
    "S": "\u0405\u054f",
    "T": "\u03a4\u0422",
    "U": "\u054d",
    "V": "\u0474",
    "X": "\u03a7\u0425",
    "Y": "\u03a5\u0423\u04ae",
    "Z": "\u0396",
    "a": "\u0251\u03b1\u0430",
    "c": "\u03f2\u0441",
    "d": "\u0501",
    "e": "\u0435",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0131\u0269\u03b9\u0456",
    "j": "\u03f3\u0458",
    "k": "\u03ba\u043a",
    "l": "\u04cf",
    "n": "\u0578",
    "o": "\u03bf\u043e\u0585",
    "p": "\u03c1\u0440",
    "q": "\u051b",
    "s": "\u0455",
    "u": "\u03c5\u057d",
    "v": "\u03bd\u0475",
    "w": "\u051d",
    "x": "\u03c7\u0445",
    "y": "\u0443\u04af",
    "f": "\u0192\u0584",
}

# Marks put over, under and through Latin, Greek and Cyrillic letters. The vowel signs of other
# scripts are no decoration, and stay.
_MARKS = ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))

# What leaves no trace on a page: soft hyphens, joiners, direction marks, variation selectors, tags.
_INVISIBLE = (
    *((code, code) for code in (0x00AD, 0x061C, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF, 0xFFA0)),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xFE00, 0xFE0F),
    (0xE0000, 0xE0FFF),
)


def plain(text: str) -> str:
    """Return ``text`` so that what looks alike is alike: in lower case, without decoration.

    Compatibility forms (full-width, mathematical, circled letters) become plain ones (NFKD),
    invisible characters and accents go, Cyrillic, Greek and Armenian letters that are drawn as
    Latin ones become those, and case is folded.
    """
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKD", text).translate(_table()).casefold()


@cache
def _table() -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for first, last in (*_MARKS, *_INVISIBLE):
        table.update(dict.fromkeys(range(first, last + 1)))
    for letter, twins in _DRAWN_AS.items():
        table.update({ord(twin): letter for twin in twins})
    return table
