"""Which language a text is in: the one detector that every rule of the pack shares."""

from __future__ import annotations

import re
import threading
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from rewardhub_rules.answers import well_formed

if TYPE_CHECKING:
    from lingua import LanguageDetector

__all__ = ["LANGUAGES", "code_of", "detect"]

_BY_MODEL: Final = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "mr": "Marathi",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "sw": "Swahili",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
}
"""What lingua tells apart here. Fewer candidates make it quicker and short texts surer."""

_BY_SCRIPT: Final = {
    "bn": ("Bengali", "\u0980-\u09ff"),
    "el": ("Greek", "\u0370-\u03ff\u1f00-\u1fff"),
    "gu": ("Gujarati", "\u0a80-\u0aff"),
    "he": ("Hebrew", "\u0590-\u05ff"),
    "hy": ("Armenian", "\u0530-\u058f"),
    "ka": ("Georgian", "\u10a0-\u10ff\u1c90-\u1cbf"),
    "km": ("Khmer", "\u1780-\u17ff"),
    "kn": ("Kannada", "\u0c80-\u0cff"),
    "ko": ("Korean", "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
    "lo": ("Lao", "\u0e80-\u0eff"),
    "ml": ("Malayalam", "\u0d00-\u0d7f"),
    "my": ("Burmese", "\u1000-\u109f"),
    "pa": ("Punjabi", "\u0a00-\u0a7f"),
    "si": ("Sinhala", "\u0d80-\u0dff"),
    "ta": ("Tamil", "\u0b80-\u0bff"),
    "te": ("Telugu", "\u0c00-\u0c7f"),
    "th": ("Thai", "\u0e00-\u0e7f"),
}
"""Languages that have a script for themselves, or nearly so."""

_KANA, _HAN, _DEVANAGARI, _SHARED = "kana", "han", "devanagari", "shared"
_SCRIPTS: Final = {
    **{code: re.compile(f"[{characters}]") for code, (_, characters) in _BY_SCRIPT.items()},
    _KANA: re.compile("[\u3040-\u30ff]"),
    _HAN: re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    _DEVANAGARI: re.compile("[\u0900-\u0963\u0970-\u097f]"),
    # Latin, Cyrillic and Arabic: many languages each.
    _SHARED: re.compile(
        "[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0400-\u052f\u0620-\u06d3\u0750-\u077f]"
    ),
}

LANGUAGES: Final = dict(
    sorted(
        (
            _BY_MODEL
            | {code: name for code, (name, _) in _BY_SCRIPT.items()}
            | {"ja": "Japanese", "ne": "Nepali", "zh": "Chinese"}
        ).items()
    )
)
"""ISO 639-1 code -> English name of each language that `detect` can return."""

# The commonest words that one of the three languages has and the others have not.
_DEVANAGARI_WORDS: Final = {
    "hi": "है हैं था थे थी और में का की के से नहीं यह वह हो पर भी कि एक लिए कर ने गया इस",
    "mr": "आहे आहेत आणि मध्ये नाही होते होता होती या हे ते ती तो असे आपण साठी मी च्या एक किंवा तर",
    "ne": "छ छन् छैन हुन्छ गर्छ गर्न भएको गरेको पनि लागि र मा यो त्यो हो तर भने थियो गर्नुहोस् छु छौं वा",
}

_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_WINDOW = 100
"""A long text is judged by so many characters of its start, middle and end."""

_SYLLABLE = 2
"""A Chinese or Japanese character says as much as so many letters."""

_LOCK = threading.Lock()


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of the language that most of ``text`` is in.

    A code of `LANGUAGES`, or None where nothing can be told: no letters, or lingua is undecided.
    Code in backquotes and addresses are left out, unless there is nothing else. What a script
    tells is decided by the script, the rest by lingua (https://github.com/pemistahl/lingua-rs).

    Equal texts give equal answers, in every process and thread. The models are loaded at the
    first text that needs them: about 90 MB, and 650 MB once one of at most 120 characters came.
    """
    sample = _sample(_NOT_PROSE.sub(" ", text)) or _sample(text)
    return _detect(sample) if sample else None


def code_of(language: str) -> str | None:
    """Return the code of a language given as ``de``, ``de-AT``, ``de_AT`` or ``German``.

    None for what `detect` never returns.
    """
    wanted = language.strip().casefold()
    named = next((code for code, name in LANGUAGES.items() if name.casefold() == wanted), None)
    if named is not None:
        return named
    code = re.split("[-_]", wanted, maxsplit=1)[0]
    code = "no" if code in {"nb", "nn"} else code
    return code if code in LANGUAGES else None


def _sample(text: str) -> str:
    text = text.strip()
    if len(text) <= 3 * _WINDOW:
        return text
    middle = (len(text) - _WINDOW) // 2
    windows = (text[:_WINDOW], text[middle : middle + _WINDOW], text[-_WINDOW:])
    return " ".join(windows)


@lru_cache(maxsize=1024)
def _detect(sample: str) -> str | None:
    script = _SHARED if sample.isascii() else _script_of(sample)
    if script == _DEVANAGARI:
        return _devanagari(sample)
    if script in {None, _SHARED}:
        return _by_model(sample)
    return script


def _script_of(sample: str) -> str | None:
    """Return the language that the script tells, or the script where several share it."""
    letters = {name: len(pattern.findall(sample)) for name, pattern in _SCRIPTS.items()}
    kana, han = letters.pop(_KANA) * _SYLLABLE, letters.pop(_HAN) * _SYLLABLE
    # Japanese is written in both, and hardly a sentence of it does without kana.
    letters["ja"], letters["zh"] = (kana + han, 0) if kana * 20 > han else (0, han)
    most = max(letters, key=lambda name: letters[name])
    return most if letters[most] else None


def _devanagari(sample: str) -> str | None:
    words = Counter(re.split(r"[^\u0900-\u0963\u0970-\u097f]+", sample))
    votes = {
        code: sum(words[word] for word in common) for code, common in _devanagari_words().items()
    }
    most = max(votes.values())
    winners = [code for code, count in votes.items() if count == most]
    return winners[0] if len(winners) == 1 else _by_model(sample)


@cache
def _devanagari_words() -> dict[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in _DEVANAGARI_WORDS.items()}


def _by_model(sample: str) -> str | None:
    sample = well_formed(sample)
    with _LOCK:
        detector = _detector()
    found = detector.detect_language_of(sample)
    if found is None:
        return None
    code = found.iso_code_639_1.name.lower()
    return "no" if code == "nb" else code


@cache
def _detector() -> LanguageDetector:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    codes = [getattr(IsoCode639_1, "NB" if code == "no" else code.upper()) for code in _BY_MODEL]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
