import pytest
from rewardhub_math.limits import MAX_CHARS, MAX_NESTING, over_limit

WITHIN = [
    "42",
    "1" * 400,
    r"\frac{1}{2}",
    "x^2+2^y",
    r"e^{-x^2}",
    "10^{100}",
    "2^{2^{4}}",
    "20!",
    "(" * MAX_NESTING + ")" * MAX_NESTING,
]
OVER = {
    "characters": "x" * (MAX_CHARS + 1),
    "nested": "(" * (MAX_NESTING + 1),
    "commands": r"\pi" * 201,
    "elements": "1," * 300,
    "digits": "1" * 401,
    "exponent": "10^{10000}",
    "exponent of E notation": "1e99999",
    "power of a power": "9^{9^{9}}",
    "tower without braces": "9^9^9^9",
    "stars": "9**9**9",
    "factorial": "10000!",
    "factorial of a factorial": "(9!)!",
}


@pytest.mark.parametrize("text", WITHIN)
def test_lets_ordinary_answers_pass(text: str) -> None:
    assert over_limit(text) is None


@pytest.mark.parametrize("text", OVER.values(), ids=OVER.keys())
def test_says_why_a_text_is_too_large(text: str) -> None:
    reason = over_limit(text)
    assert reason is not None
    assert reason.startswith("it ")
