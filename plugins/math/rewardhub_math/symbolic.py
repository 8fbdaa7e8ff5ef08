"""The slow stage: what only computer algebra can tell, by math-verify and sympy.

Everything here may hang or run out of memory on model text, so graders call it
through ``Workers`` only, where it can be killed; math-verify's own time limits
(signals, which break in threads) are off. Nothing is evaluated as Python: text
goes through math-verify's LaTeX grammar, never through ``sympify`` or ``eval``.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar

from rewardhub_math.compare import is_rounding, same_inline, same_name
from rewardhub_math.equivalence import Reading, Settings, Verdict, compare_forms, read
from rewardhub_math.exact import Number, agree_to, in_base_unit, same_number
from rewardhub_math.forms import Leaf, leaves
from rewardhub_math.limits import MAX_NODES

T = TypeVar("T")

# sympy and math-verify raise any kind of error on text that they cannot handle,
# but these are never the text's doing and must be seen.
_OUR_FAULT = (ImportError, NameError, OSError, SystemError)
# What math-verify would read as something else: "7 8" as 15, "42_7" as 42.
_MISREAD = re.compile(r"(?<![_\d])\d+\s+\d|\d_|^\{[^{}]*\}\{|\?|\.\.\.")
_HAS_DECIMALS = re.compile(r"\.\d")
_DIGITS = 30
_EXACT_DIGITS = 25
_DECIMAL_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Constant:
    """The value of an expression without variables, and how many digits of it are reliable."""

    real: Number
    imaginary: Number
    digits: int


def compare_symbolically(
    answer: str,
    reference: str,
    *,
    precision: int = 6,
    allow_set_relation: bool = True,
    strict: bool = True,
) -> Verdict:
    """The verdict on two texts that `settle` left open.

    Call it through ``Workers``: it may take any time and memory. Whether the
    reference can be read is looked at first and does not depend on the answer;
    an empty answer is how to ask for just that.
    """
    settings = Settings(precision, allow_set_relation, strict)
    read_reference, read_answer = read(reference), read(answer)
    if not _is_readable(read_reference):
        return "reference_unreadable"
    if not _is_readable(read_answer):
        return "answer_unreadable"
    same = compare_forms(
        read_answer, read_reference, settings, lambda a, b: _same_leaf(a, b, settings)
    )
    if same is None:
        same = _same_parsed(_parse(read_answer.text), _parse(read_reference.text), settings)
    return "same" if same else "different"


def _is_readable(reading: Reading) -> bool:
    if reading.problem:
        return False
    opaque = [leaf for leaf in leaves(reading.form) if not leaf.number and not leaf.words]
    # Constants are evaluated too: a reference that hangs must do so for every answer.
    readable = [_parse(leaf.text) is not None and (_constant(leaf) or True) for leaf in opaque]
    return all(readable) or _parse(reading.text) is not None


def _same_leaf(one: Leaf, other: Leaf, settings: Settings) -> bool | None:
    inline = same_inline(one, other, settings.precision)
    if inline is not None:
        return inline
    if one.unit and other.unit and one.unit != other.unit:
        return False
    if _are_equations(one, other):
        one, other = _as_equation(one), _as_equation(other)
    a, b = _constant(one), _constant(other)
    if a and b:
        precision = settings.precision
        return (
            _same_constant(a, b, precision)
            or is_rounding(one, other, precision, a.real)
            or is_rounding(other, one, precision, b.real)
        )
    left, right = _parse(one.text), _parse(other.text)
    return None if left is None or right is None else _same_parsed(left, right, settings)


def _are_equations(one: Leaf, other: Leaf) -> bool:
    """``y = 2x`` against ``2x - y = 0`` or ``x = y/2``: then the name belongs to the answer."""
    named = bool(one.name), bool(other.name)
    return (
        not same_name(one, other)
        or (named[0] and "=" in other.text)
        or (named[1] and "=" in one.text)
    )


def _as_equation(leaf: Leaf) -> Leaf:
    return Leaf(f"{leaf.name}={leaf.text}") if leaf.name else leaf


def _same_constant(one: Constant, other: Constant, precision: int) -> bool:
    digits = min(one.digits, other.digits)
    pairs = ((one.real, other.real), (one.imaginary, other.imaginary))
    return all(same_number(a, b, precision) or agree_to(a.value, b.value, digits) for a, b in pairs)


@lru_cache(maxsize=256)
def _constant(leaf: Leaf) -> Constant | None:
    """The value of a leaf without variables; None of any other."""
    if leaf.number:
        number = in_base_unit(leaf.number) if leaf.number.is_percentage else leaf.number
        return Constant(number, Number(Fraction(0)), _EXACT_DIGITS)
    expression = _parse(leaf.text)
    if leaf.words or not isinstance(expression, _library("sympy").Expr):
        return None
    real, imaginary = _attempt(lambda: _parts(expression)) or (None, None)
    if real is None or imaginary is None:
        return None
    digits = _DECIMAL_DIGITS if _HAS_DECIMALS.search(leaf.text) else _EXACT_DIGITS
    return Constant(Number(real), Number(imaginary), digits)


def _parts(expression: Any) -> tuple[Fraction | None, Fraction | None]:
    """The real and imaginary part of a constant; None for what is none."""
    if any(symbol.name != "i" for symbol in expression.free_symbols):
        return None, None
    imaginary_unit = _library("sympy").I
    value = expression.subs(dict.fromkeys(expression.free_symbols, imaginary_unit)).evalf(_DIGITS)
    real, imaginary = value.as_real_imag()
    return _fraction(real), _fraction(imaginary)


def _fraction(number: Any) -> Fraction | None:
    """The value of a sympy Float or Integer; None of infinities and what was not evaluated."""
    sympy = _library("sympy")
    if not number.is_Number or not number.is_finite:
        return None
    if number.is_Float and number._prec == 1:  # sympy's sign for zero up to rounding
        return Fraction(0)
    exact = sympy.Rational(number)
    return Fraction(int(exact.p), int(exact.q))


def _same_parsed(one: Any, other: Any, settings: Settings) -> bool:
    """math-verify's verdict, asked both ways round, for it is not symmetric itself."""
    if one is None or other is None:
        return False
    verify = partial(
        _library("math_verify").verify,
        float_rounding=settings.precision,
        strict=settings.strict,
        allow_set_relation_comp=True,
        timeout_seconds=None,
        raise_on_error=True,
    )
    return bool(_attempt(lambda: verify(one, other) and verify(other, one)))


def _attempt(call: Callable[[], T]) -> T | None:
    """What ``call`` returns; None where sympy or math-verify cannot handle the text."""
    try:
        return call()
    except Exception as error:
        if isinstance(error, _OUR_FAULT):
            raise
        return None


@lru_cache(maxsize=512)
def _parse(text: str) -> Any:
    """The sympy object that math-verify reads in ``text``; None if it reads nothing."""
    if _MISREAD.search(text):
        return None
    parse = _parser()
    parsed = _attempt(lambda: parse(text))
    small = parsed is not None and _attempt(lambda: _nodes(parsed) <= MAX_NODES)
    return parsed if small else None


def _library(name: str) -> Any:
    """An untyped library that takes a second to import, so only who needs it waits."""
    return import_module(name)


def _nodes(parsed: Any) -> int:
    sympy = _library("sympy")
    return sum(1 for _ in sympy.preorder_traversal(parsed))


@lru_cache(maxsize=1)
def _parser() -> Any:
    """A parser of tidied LaTeX.

    The text is put in a box, because math-verify halves its accuracy on bare
    LaTeX, and its own unit rules are off, because they read ``2t`` as 2.

    Raises:
        RuntimeError: if math-verify cannot parse at all, which it would report
            as text that has no answer (a wrong antlr runtime does that).
    """
    math_verify = _library("math_verify")
    # "Timeout is disabled": it is, the worker has one.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    config = math_verify.LatexExtractionConfig(
        boxed_match_priority=0,
        normalization_config=_library("latex2sympy2_extended").NormalizationConfig(
            basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="last"
        ),
    )

    def parse(text: str) -> Any:
        found = math_verify.parse(
            rf"\boxed{{{text}}}",
            extraction_config=[config],
            fallback_mode="no_fallback",
            parsing_timeout=None,
        )
        return found[0] if found else None

    if str(parse(r"\frac{x}{2}")) != "x/2":
        raise RuntimeError(
            "math-verify cannot parse LaTeX here. Is another antlr4-python3-runtime than 4.13.2 "
            'installed? Reinstall it with `pip install "math-verify[antlr4_13_2]"`.'
        )
    return parse
