"""Finding a fact in a text: as a whole, and not inside of a longer word or number."""

from __future__ import annotations

import re
from functools import lru_cache

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPACES = re.compile(r"[\s,]+")

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words, so that nothing there is the end of one."""
_WORD = rf"[^\W{_UNSPACED}]"
_BY_SPACES = re.compile(_WORD)


def plain_text(text: str) -> str:
    """Return ``text`` without case; commas of thousands go, other commas become spaces."""
    return _SPACES.sub(" ", _THOUSANDS.sub("", text)).casefold()


def tells(text: str, fact: str) -> bool:
    """Return whether ``text`` has ``fact`` in it, as a whole."""
    return whole(fact).search(plain_text(text)) is not None


@lru_cache(maxsize=4096)
def whole(fact: str) -> re.Pattern[str]:
    """Return what finds ``fact`` in a `plain_text`.

    10 is in "$10", "10.", "10.00" and "10%", and not in "100", "10.5", ".10", "-10" or "a10".
    """
    text = plain_text(fact).strip()
    start = end = ""
    if text[:1].isdigit():
        start = rf"(?<!{_WORD})(?<!\d\.)(?<!(?<!\w)[-\u2212.])"
    elif _BY_SPACES.match(text):
        start = rf"(?<!{_WORD})"
    if text[-1:].isdigit():
        end = rf"(?!{_WORD})(?!\.\d)"
        if "." not in text:
            end = rf"(?:\.0+)?{end}"
    elif _BY_SPACES.match(text[-1:]):
        end = rf"(?!{_WORD})"
    return re.compile(start + re.escape(text) + end)
