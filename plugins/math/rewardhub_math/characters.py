# ruff: noqa: RUF001  # look-alikes of ASCII characters are what this table is about
"""Characters beyond ASCII, and the LaTeX or ASCII that says the same."""

import re
import unicodedata

_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-",
    "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "∗": "*", "÷": "/", "∕": "/",
    "⁄": "/", "π": r"\pi ", "∞": r"\infty ", "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ",
    "≠": r"\neq ", "≈": r"\approx ", "±": r"\pm ", "∓": r"\mp ", "∪": r"\cup ", "∩": r"\cap ",
    "∈": r"\in ", "∅": r"\emptyset ", "∖": r"\setminus ", "°": r"^\circ ", "º": r"^\circ ",
    "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "λ": r"\lambda ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "ℕ": r"\mathbb{N}",
    "⟨": "(", "⟩": ")", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'",
    "′": "'", "\u200b": "", "\ufeff": "", "\u2061": "", "\u2062": "",
}  # fmt: skip
_TRANSLATION = str.maketrans(_SIGNS)
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ"
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉₊₋₍₎"
_RAISED = str.maketrans(_SUPERSCRIPTS, "0123456789+-()n")
_LOWERED = str.maketrans(_SUBSCRIPTS, "0123456789+-()")
_RAISED_RUN = re.compile(f"[{_SUPERSCRIPTS}]+")
_LOWERED_RUN = re.compile(f"[{_SUBSCRIPTS}]+")
_VULGAR_FRACTION = re.compile("[¼-¾⅐-⅞↉]")
_ROOT = re.compile(r"([√∛∜])\s*(\d+(?:\.\d+)?|\\[A-Za-z]+|[A-Za-z]|\([^()]*\)|\{[^{}]*\})")
_ROOT_COMMANDS = {"√": r"\sqrt", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]"}


def to_ascii(text: str) -> str:
    """``text`` with its mathematical characters as LaTeX and its digits as ASCII."""
    text = _RAISED_RUN.sub(lambda m: f"^{{{m[0].translate(_RAISED)}}}", text)
    text = _LOWERED_RUN.sub(lambda m: f"_{{{m[0].translate(_LOWERED)}}}", text)
    text = _VULGAR_FRACTION.sub(lambda m: " " + unicodedata.normalize("NFKC", m[0]), text)
    text = _ROOT.sub(_root, text.translate(_TRANSLATION))
    return unicodedata.normalize("NFKC", text)


def _root(match: re.Match[str]) -> str:
    inside = match[2]
    if inside[0] in "({":
        inside = inside[1:-1]
    return f"{_ROOT_COMMANDS[match[1]]}{{{inside}}}"
