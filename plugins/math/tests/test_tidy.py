import pytest
from rewardhub_math.tidy import closing_brace, tidy

SPELLINGS = [
    (" 42. ", "42"),
    ("$42$", "42"),
    (r"\(42\)", "42"),
    (r"\[ 42 \]", "42"),
    ("$$42$$", "42"),
    (r"\boxed{42}", "42"),
    (r"$\boxed{\text{42}}$", "42"),
    ("**42**", "42"),
    ('"east"', "east"),
    ("“east”", "east"),
    ("\N{MINUS SIGN}5", "-5"),
    ("3 \N{MULTIPLICATION SIGN} 4", r"3\times 4"),
    ("\N{SQUARE ROOT}2", r"\sqrt{2}"),
    ("x\N{SUPERSCRIPT TWO}", "x^{2}"),
    ("2\N{VULGAR FRACTION ONE HALF}", "2 1/2"),
    ("\N{FULLWIDTH DIGIT FIVE}", "5"),
    ("2 \\pi", r"2\pi"),
    (r"\dfrac12", "1/2"),
    (r"-\tfrac{1}{2}", "-1/2"),
    (r"2\frac{1}{2}", r"2\frac{1}{2}"),
    (r"\left( 3, 4 \right)", "(3, 4)"),
    (r"10,\!080", "10,080"),
    ("14{,}916", "14,916"),
    (r"28\%", "28%"),
    (r"\$18.90", "$18.90"),
    (r"x \leqslant 5", r"x\le 5"),
    ("x >= 5", r"x\ge 5"),
    ("sqrt(12)", r"\sqrt{12}"),
    (r"1 \text{ or } 2", "1;2"),
    ("1, and 2", "1;2"),
    (r"\\frac{1}{2}", "1/2"),
    ("1, 2", "1, 2"),
    ("1, 2, ...", "1, 2, ..."),
]


@pytest.mark.parametrize(("written", "expected"), SPELLINGS)
def test_writes_in_one_spelling(written: str, expected: str) -> None:
    assert tidy(written) == expected


@pytest.mark.parametrize("written", [written for written, _ in SPELLINGS])
def test_leaves_its_own_spelling_alone(written: str) -> None:
    assert tidy(tidy(written)) == tidy(written)


def test_keeps_words_apart_from_variables() -> None:
    assert tidy(r"\text{Even}") == r"\text{Even}"


def test_finds_the_brace_that_closes() -> None:
    text = r"\boxed{\frac{1}{2}} and }"
    assert closing_brace(text, text.index("{") + 1) == text.index("}} ") + 1


def test_finds_no_brace_in_a_text_that_was_cut_off() -> None:
    assert closing_brace(r"\boxed{\frac{1}{2}", 7) == -1
