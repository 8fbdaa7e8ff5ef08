"""Tables of forms, each compared both ways round: the verdict must not depend on the side."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_math.equivalence import Settings, Verdict, read, settle
from rewardhub_math.symbolic import compare_symbolically

SAME = {
    "money": [r"\$18.90", "18.9", "18.90 dollars", "$ 18.90", r"18.90\text{ dollars}"],
    "euros": ["€5", "5 euros", "5"],
    "thousands of dollars": ["1,000 dollars", "$1000", r"\$1{,}000"],
    "millions": ["5 million", "5,000,000", r"5 \text{ million}", "5e6"],
    "thousands": ["1,000", "1{,}000", "1 000", r"1\,000", "1000", "1000.0"],
    "decimal comma": ["1,22", "1.22"],
    "signs": ["-5", "\N{MINUS SIGN}5", "- 5", "$-5$"],
    "integers": ["5", "+5", "005", "5.", "5.0", "(5)", "[5]", "{5}", r"\text{5}", "$5$", "x = 5"],
    "fullwidth": ["\N{FULLWIDTH DIGIT FIVE}", "5"],
    "zero": ["0", "-0", "0.0"],
    "area": [r"15\mbox{ cm}^2", "15 cm^2", "15 square centimeters", "15 cm²", "15"],
    "angle": [r"90^\circ", "90 degrees", "90°", r"90^{\circ}", "90"],
    "speed": ["60 mph", "60 miles per hour", "60"],
    "feet and inches": ["5 ft", "60 inches", r"5\text{ feet}"],
    "hours and minutes": ["3 hours", "180 minutes"],
    "things": ["12 apples", "12", r"12\text{ apples}"],
    "percent": ["28%", "28 percent", r"28\%", "28 pct", r"28\text{ percent}"],
    "percent as share": ["28%", "0.28", r"\frac{7}{25}"],
    "percent as points": ["12.5%", "12.5", "12.50%"],
    "half": ["½", "1/2", "0.5", ".5", r"\frac12", r"\dfrac{1}{2}", r"50\%"],
    "minus half": [r"-\frac{1}{2}", r"\frac{-1}{2}", r"\frac{1}{-2}", "-0.5", "-1/2", "(-1)/2"],
    "mixed": [r"1\frac{4}{5}", "9/5", "1.8", "1 4/5", r"\frac95", "1⅘"],
    "third": [r"\frac{1}{3}", "0.333333", "0.3333333333", r"0.\overline{3}", "0.(3)", "33.3333%"],
    "scientific": [
        "1.5e10",
        r"1.5 \times 10^{10}",
        "1.5*10^10",
        "15,000,000,000",
        "1.5\u00d710\u00b9\u2070",
    ],
    "tiny": [".0000672", "6.72e-5", r"6.72 \times 10^{-5}", "0.0000672"],
    "tinier": ["1e-9", "0.000000001", "10^{-9}", r"\frac{1}{10^9}"],
    "huge": ["2^{100}", "1267650600228229401496703205376", "1.2676506e30"],
    "rounded": [r"\sqrt{7}\approx 2.65", "2.65"],
    "rounds itself": [r"\sqrt{7}\approx 2.65", r"\sqrt7"],
    "about": [r"\approx 3.14", "3.14", r"x \approx 3.14", "≈3.14"],
    "base 8": ["2516_8", "2516_{8}", "2516"],
    "base 16": ["FF_{16}", "0xFF", "0xff"],
    "base 2": ["1010_2", "1010 base 2", "1010 (base 2)", r"1010\text{ (base 2)}"],
    "ratio": ["3:4", "6:8"],
    "half line": [r"(2,\infty)", "x>2", "2<x", r"x \in (2,\infty)", "(2, infinity)", "(2,∞)"],
    "interval": ["[-2,7]", r"-2\le x\le7", r"7 \ge x \ge -2", "-2<=x<=7", r"x\in[-2,7]"],
    "unicode interval": ["\u22122 ≤ x ≤ 7", r"\left[-2,7\right]"],
    "union": [r"(-\infty,2)\cup(3,\infty)", r"x<2 \text{ or } x>3", r"(3,\infty)\cup(-\infty,2)"],
    "irrational interval": [r"\left(-\sqrt{3}, \sqrt{3}\right)", r"-\sqrt3 < x < \sqrt3"],
    "touching intervals": [r"(0,1]\cup[1,2)", "(0,2)"],
    "all reals": [r"\mathbb{R}", r"(-\infty,\infty)"],
    "negated inequality": ["x < 1", "-x > -1"],
    "set": [r"\{1,2\}", "{2,1}", "1,2", r"2 \text{ and } 1", "x=1, x=2", "1; 2"],
    "empty set": [r"\{\}", r"\emptyset", "∅", r"\varnothing"],
    "said twice": [r"15\frac{39}{40} \text{ or } \frac{639}{40}", r"\frac{639}{40}"],
    "said in roots": [r"\sqrt{4}\text{ or }2", "2"],
    "plus or minus": [r"\pm 5", "5,-5", r"\{-5,5\}", "±5"],
    "two roots": [r"1 \pm \sqrt{19}", r"1-\sqrt{19}, 1+\sqrt{19}"],
    "tuple": ["(3,4)", "(3, 4)", r"\left( 3, 4 \right)", "(x,y)=(3,4)", "3, 4"],
    "irrational tuple": [r"(\frac12, \sqrt2)", "(0.5, 1.41421356)"],
    "tuples": ["(11,7) or (7,11)", "(7,11), (11,7)", r"\{(7;11),(11;7)\}"],
    "named the other way": ["5 = x", "x = 5", "5"],
    "sum of matrices": [
        r"\begin{pmatrix}1 & 2\end{pmatrix}+\begin{pmatrix}5 & 6\end{pmatrix}",
        r"\begin{pmatrix}6 & 8\end{pmatrix}",
    ],
    "grouped list": ["{1,3}", "1,3", "(1,3)"],
    "named values": ["a_3 = 2, a_{37} = 19", "a_{37} = 19, a_3 = 2", "2, 19"],
    "vector": [
        r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}",
        r"\begin{bmatrix} -\frac13 \\ \frac23 \end{bmatrix}",
        r"\left(\begin{matrix}-1/3\\2/3\end{matrix}\right)",
        r"\begin{pmatrix}-\dfrac{1}{3}\\[2pt] \dfrac{2}{3}\end{pmatrix}",
    ],
    "root": ["2√3", r"2\sqrt{3}", r"2\sqrt3", "2*sqrt(3)", "sqrt(12)", "3.4641016"],
    "rationalised": [r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt3}"],
    "pi": ["π/2", r"\frac{\pi}{2}", "pi/2", r"0.5\pi", "1.5707963"],
    "root with unit": [r"2\sqrt{3}\text{ cm}", r"2\sqrt3"],
    "polynomial": ["x²+1", "x^2+1", "1+x^{2}", "x**2+1"],
    "factored": ["(a+5)(b+2)", "ab+2a+5b+10"],
    "trigonometry": [r"\tan^2 y+1", r"\sec^2 y"],
    "fraction of x": [r"\dfrac{2}{3}x", "2x/3", r"\frac{2x}{3}"],
    "line": ["y = 2x+3", "y=3+2x", "2x+3"],
    "plane": ["5x - 7y + 11z + 4 = 0", "-5x+7y-11z-4=0"],
    "function": ["f(x)=x^2", "x^2"],
    "complex": ["6-5i", "-5i+6", "6 - 5i"],
    "complex product": ["(1+2i)(1-2i)", "5"],
    "factorial": ["5!", "120"],
    "binomial": [r"\binom{5}{2}", "10"],
    "logarithm": [r"\log_2 8", "3"],
    "sine": [r"\sin(\pi/6)", "1/2"],
    "absolute": ["|x-1|", "|1-x|"],
    "product of letters": ["xy", "yx"],
    "infinity": ["∞", r"\infty", "infinity"],
    "word": ['"east"', r"\text{east}", "east", "“east”", "East."],
    "yes": ["yes", "Yes.", r"\text{Yes}"],
    "article": ["the derivative", "derivative"],
    "letter": [r"\text{(C)}", "C", "(C)", "c", r"\textbf{(C)}", r"\mathrm{C}"],
    "option": ["C", "(C) 12", "C: 12", r"\textbf{(C)}\ 12"],
}
DIFFERENT = [
    ("1", "2"), ("5", "-5"), ("12", "21"), ("42", "142"), ("1/2", "2/1"), ("", "0"),
    ("1e-9", "2e-9"), ("1e300", "1e301"), ("0", "0.0000001"), ("1000000.4", "1000000"),
    ("16386.16", "16386.17"), ("3.14", "3.14159"), ("3.14", r"\pi"), ("0.333", "1/3"),
    (r"10^{-9}\pi", r"2\cdot10^{-9}\pi"), (r"4\sqrt2", "4"), (r"\sqrt{2}", r"\sqrt{3}"),
    ("5 meters", "5 feet"), ("5 cm", "5 m"), ("$5", "€5"), ("5 million", "5"),
    ("28%", "0.28%"), ("0.5%", "0.5"), ("12 apples", "13 apples"),
    (r"2\pi\text{ cm}", r"2\pi\text{ m}"),
    ("2t", "2"), ("5m", "5"), ("2xy", "2"), ("x", "5"), ("x", "y"), ("2x", "x"), ("x^2", "x^3"),
    ("204_5", "204_7"), ("204_5", "54"), ("54_{10}", "204_5"),
    ("32, 349", "32349"), ("1,2,3", "1,2"), ("1,2", "1,3"), ("7 8", "15"), ("7 8", "8"),
    ("{7}{8}", "15"), ("2 1/2", "3/2"), ("42 43", "42"), ("42~43", "43"), (r"42\\43", "43"),
    ("7 or 8", "7"), ("7 or 8", "8"), ("7, 8", "8"), (r"\{7,8\}", "8"), (r"7 \lor 8", "8"),
    (r"\text{7 or 8}", "8"), (r"x=7 \text{ or } x=8", "8"), (r"42\text{ (or 43)}", "42"),
    (r"42\mid 43", "42"), ("42 to 43", "42"), (r"42\to 43", "43"), (r"42\Rightarrow 43", "43"),
    (r"42\pm 1", "43"), (r"\pm 5", "5"), ("5...", "5"), ("1,2,...", "1,2"), ("42?", "42"),
    (r"\text{not } 42", "42"), (r"\neq 42", "42"), ("any number", "5"), (r"\square", "5"),
    (r"x \in \{42, 43\}", "42"), (r"5 \text{ if } x>0", "5"), ("0/0", "5"), (r"\frac{1}{0}", "5"),
    ("(0,9)", "[0,9)"), ("(2,3)", "[2,3]"), ("(1,2)", "(2,1)"), (r"\{1,2\}", "(1,2)"),
    ("(1,2,3)", "(1,2)"), ("x>5", r"x\ge 5"), (r"x\ge 5", r"x\le 5"), (r"\infty", r"-\infty"),
    ("7=11a+c", "11a+c"), ("x=5", "y=5"), ("x=1, y=2", "x=2, y=1"), ("a+3z=0", "0"),
    ("a^2+b=0", "0"),
    ("1+2i", "1-2i"), ("i", "1"), (r"\sqrt{7}\approx 3.65", "3.65"), (r"1/3\approx 11", "11"),
    ("yes", "no"), ("east", "west"), ("Monday", "Tuesday"), (r"\text{even}", "odd"),
    ("A", "B"), ("A, B, C, or D", "C"), ("(A) 5 (B) 6", "A"), ("(C) 12", "(C) 13"),
    (r"\triangle ABC", r"\triangle ABD"),
]  # fmt: skip


def verdict(answer: str, reference: str, **options: Any) -> Verdict:
    settled = settle(read(answer), read(reference), Settings(**options))
    return settled or compare_symbolically(answer, reference, **options)


@pytest.mark.parametrize("forms", SAME.values(), ids=SAME.keys())
def test_calls_forms_of_one_answer_the_same(forms: list[str]) -> None:
    wrong = {
        (answer, reference): found
        for answer, reference in permutations(forms, 2)
        if (found := verdict(answer, reference)) != "same"
    }
    assert wrong == {}


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_tells_answers_apart_whichever_side_they_stand_on(one: str, other: str) -> None:
    assert verdict(one, other) != "same"
    assert verdict(other, one) != "same"


@pytest.mark.parametrize("unreadable", ["", r"\frac{1}{", "9^{9^{9}}", "x" * 3000, "1,2,...,9?"])
def test_says_on_which_side_the_unreadable_text_stands(unreadable: str) -> None:
    assert verdict(unreadable, "42") == "answer_unreadable"
    assert verdict("42", unreadable) == "reference_unreadable"
    assert verdict("", unreadable) == "reference_unreadable"


def test_asks_for_an_interval_where_a_relation_is_no_answer() -> None:
    assert verdict("-2<x<7", "(-2,7)", allow_set_relation=False) == "different"
    assert verdict("(-2,7)", "-2<x<7", allow_set_relation=False) == "same"
    assert verdict("-2<x<7", "-2<x<7", allow_set_relation=False) == "same"


def test_ignores_the_names_of_variables_where_asked() -> None:
    assert verdict("f(y)", "f(x)") == "different"
    assert verdict("f(y)", "f(x)", strict=False) == "same"


def test_compares_to_the_precision_that_is_asked() -> None:
    assert verdict("0.33", "1/3", precision=2) == "same"
    assert verdict("0.33", "1/3", precision=3) == "different"
    assert verdict(r"(0.33, 1.4)", r"(1/3, \sqrt2)", precision=2) == "same"


@given(st.text(max_size=60), st.text(max_size=60))
def test_reads_any_text_without_failing(one: str, other: str) -> None:
    settle(read(one), read(other), Settings())


PIECES = [
    "1", "2", "12", "0.5", "1,000", "+", "-", "/", ",", ", ", ";", "(", ")", "[", "]", r"\{", r"\}",
    "x", "=", "<", r"\le ", r"\pi", r"\sqrt{2}", r"\frac{1}{2}", "^2", "_5", "%", r"\text{ cm}",
    " m", "$", " or ", r"\cup ", r"\pm ", "e3", r"\approx ", r"\infty", "A", ":", "!", "i",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


@given(TEXTS, TEXTS)
def test_settles_any_two_texts_the_same_both_ways_round(one: str, other: str) -> None:
    forward = settle(read(one), read(other), Settings())
    backward = settle(read(other), read(one), Settings())
    assert (forward == "same") == (backward == "same")


@given(TEXTS)
def test_settles_that_a_text_is_itself(text: str) -> None:
    reading = read(text)
    expected = "reference_unreadable" if reading.problem else "same"
    assert settle(reading, reading, Settings()) == expected
