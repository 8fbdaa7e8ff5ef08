"""One spelling for what is written in many ways.

``tidy`` is the only place that knows about Unicode, LaTeX cosmetics, wrappers
and punctuation. It changes how an answer is written, never what it says, and
is the same for answers and references.
"""

import re

from rewardhub_math.characters import to_ascii

# What a LaTeX command is replaced by; commands that are not here stay.
_COMMANDS = {
    **dict.fromkeys(["left", "right", "mleft", "mright", "displaystyle", "textstyle"], ""),
    **dict.fromkeys(["big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"], ""),
    **dict.fromkeys(["biggl", "biggr", "limits", "nolimits", "phantom", "centering"], ""),
    **dict.fromkeys(["quad", "qquad", ",", ";", ":", " ", ">", "enspace", "thinspace"], " "),
    **dict.fromkeys(["dfrac", "tfrac", "cfrac"], r"\frac"),
    **dict.fromkeys(["dbinom", "tbinom"], r"\binom"),
    **dict.fromkeys(["leq", "leqslant", "leqq"], r"\le"),
    **dict.fromkeys(["geq", "geqslant", "geqq"], r"\ge"),
    **dict.fromkeys(["textbf", "textit", "textrm", "textnormal", "textsf", "texttt"], r"\text"),
    **dict.fromkeys(["mbox", "hbox", "mathrm", "mathbf", "mathit"], r"\text"),
    **dict.fromkeys(["lvert", "rvert", "vert"], "|"),
    **dict.fromkeys(["langle", "lparen"], "("),
    **dict.fromkeys(["rangle", "rparen"], ")"),
    **dict.fromkeys(["varnothing", "O"], r"\emptyset"),
    "lt": "<",
    "gt": ">",
    "ne": r"\neq",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "lbrack": "[",
    "rbrack": "]",
    '"': '"',
    "%": "%",
    "$": "$",
    "degree": r"^\circ",
    "land": ";",
    "lor": ";",
    "vee": ";",
    "wedge": ";",
    "ldots": "...",
    "dots": "...",
    "cdots": "...",
    "pounds": "£",
    "euro": "€",
}
_ROW_SPACE = re.compile(r"\\\\\s*\[-?[\d.]+\s*[a-z]{2}\]")
_NEGATIVE_SPACE = re.compile(r"\\!\s*")
_COMMAND = re.compile(r"\\(q?quad|[A-Za-z]+|.)", re.DOTALL)
_DOUBLED_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z{}!,;%$])")
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_NEEDS_NO_TEXT_COMMAND = re.compile(r"[^A-Za-z]*|\(?[A-Za-z]\)?|.*\d.*", re.DOTALL)
_HAS_WORDS = re.compile(r"\*\*|[<>=]|pi|in|oo|sqrt|and|or")
_WORDS = (
    (re.compile(r"\*\*(?=\s*[\d({+-])"), "^"),
    (re.compile(r"(?<![A-Za-z\\])pi(?![A-Za-z])"), r"\\pi "),
    (re.compile(r"(?<![A-Za-z\\])(?:infinity|infty|inf|oo)(?![A-Za-z])"), r"\\infty "),
    (re.compile(r"(?<![A-Za-z\\])sqrt(?=\s*[({])"), r"\\sqrt"),
    (re.compile(r"(?<![A-Za-z\\])in(?=\s*[(\[{])"), r"\\in "),
    (re.compile(r"<=|=<"), r"\\le "),
    (re.compile(r">=|=>"), r"\\ge "),
    (re.compile(r"!=|<>"), r"\\neq "),
    (re.compile(r"\\sqrt\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?:(?<![A-Za-z\\])|(?<=\d))(?:,?\s*\b)?(?:and|or)(?![a-z])"), ";"),
)
_FRACTION = re.compile(r"\\frac\s*(?:\{\s*([+-]?\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))")
_SPACES = re.compile(r"\s+")
# "32, 349" is a list and "32,349" a number, so the space between them stays.
_NEEDLESS_SPACE = re.compile(r"(?<![\w.%])(?<!\d,) | (?![\w.])")
_WRAPPERS = (
    ("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"),
    ('"', '"'), ("'", "'"), ("``", "''"), ("__", "__"),
)  # fmt: skip
_INLINE_MATH = re.compile(r"(?<![\\\d])\$([^$\n]+)\$")
_WRAPPING = frozenset(opening[0] for opening, _ in _WRAPPERS)
_BRACE = re.compile(r"[{}]")
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")


def tidy(text: str) -> str:
    r"""``text`` in the one spelling that the comparison knows.

    ``tidy("-\\dfrac{1}{2}") == tidy("$-1/2$.") == "-1/2"``. Idempotent on plain
    numbers; anything unknown is left as it is.
    """
    if text.isdecimal() and text.isascii():
        return text
    if not text.isascii():
        text = to_ascii(text)
    text = unwrap(text)
    if "$" in text:
        text = _INLINE_MATH.sub(r" \1 ", text)
    if "\\" in text:
        text = _plain_commands(text)
    text = text.replace("{,}", ",").replace("~", " ")
    if _HAS_WORDS.search(text):
        for pattern, replacement in _WORDS:
            text = pattern.sub(replacement, text)
    if "\\frac" in text:
        text = _FRACTION.sub(_slash, text)
    return unwrap(_NEEDLESS_SPACE.sub("", _SPACES.sub(" ", text)))


def unwrap(text: str) -> str:
    """``text`` without delimiters, quotes and closing punctuation around all of it."""
    before = None
    while text != before:
        before = text = text.strip()
        if not text.endswith("..."):
            before = text = text.rstrip(".,;:").rstrip()
        if text[:1] not in _WRAPPING:
            return text
        for opening, closing in _WRAPPERS:
            inside = text[len(opening) : -len(closing)]
            wrapped = text.startswith(opening) and text.endswith(closing) and inside.strip()
            if wrapped and opening not in inside and closing not in inside:
                text = inside
        box = _BOX.match(text)
        if box and closing_brace(text, box.end()) == len(text) - 1:
            text = text[box.end() : -1]
    return text


def closing_brace(text: str, start: int) -> int:
    """Where the brace closes that was opened just before ``start``; -1 if nowhere."""
    end = text.find("}", start)
    if text.find("{", start, end) < 0:
        return end
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return -1


def _plain_commands(text: str) -> str:
    if "matrix" not in text and "array" not in text and "cases" not in text:
        text = _DOUBLED_BACKSLASH.sub(r"\\", text)
    text = _NEGATIVE_SPACE.sub("", _ROW_SPACE.sub(r"\\\\", text))
    text = _COMMAND.sub(lambda m: _COMMANDS.get(m[1], m[0]), text)
    return _TEXT.sub(_plain_text, text)


def _plain_text(match: re.Match[str]) -> str:
    inside = match[1].strip()
    if inside in ("and", "or", "and/or"):
        return ";"
    if _NEEDS_NO_TEXT_COMMAND.fullmatch(inside):
        return f" {inside} "
    return rf"\text{{{inside}}}"


def _slash(match: re.Match[str]) -> str:
    over, under = match[1] or match[2], match[3] or match[4]
    start, end = match.span()
    neighbours = match.string[max(0, start - 1) : start] + match.string[end : end + 1]
    plain = not neighbours.strip("+-,;()[]= ") and not over.startswith(("+", "-"))
    return f"{over}/{under}" if plain else rf"\frac{{{over}}}{{{under}}}"
