import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_math.extract import boxes, extract, stated

BOX = "\\boxed{%s}"
STATED = {
    # rule 1: the last statement
    r"The answer is \boxed{5}.": "5",
    r"So \fbox{5}": "5",
    r"\boxed 7": "7",
    r"\boxed{\frac{1}{2}}": r"\frac{1}{2}",
    r"First \boxed{3} for the base case. By induction then \boxed{5}": "5",
    "The answer is 5.": "5",
    "The answer is 3.5.": "3.5",
    "**Final Answer:** $5$": "$5$",
    "### Answer\n\n42": "42",
    "The answer to the question is 42.": "42",
    "<answer> 42 </answer> done": "42",
    "6 * 7 = 42\n#### 42": "42",
    "6 * 7 = 42\nA: 42": "42",
    "The answer: \\[ \n 9 \n \\]": "\\[ \n 9 \n \\]",
    "Final Answer: The largest $n$ is 34. I hope it is correct.": "34",
    "The answer is 43, although some would say 42.": "43",
    "The answer is 7, not 8.": "7",
    r"We have \boxed{200}, so in all $10,455$. The final answer is $10,455$. Done.": "$10,455$",
    r"\boxed{42}. We check our answer: 6 and 7 give 42.": "42",
    # rule 2: joined statements are one answer
    r"\boxed{7} or \boxed{8}": "7;8",
    r"\boxed{7}, \boxed{8}": "7;8",
    r"\boxed{7}\boxed{8}": "7;8",
    "\\boxed{7}\n\n\\boxed{8}": "7;8",
    r"\boxed{7}. Alternatively, \boxed{8}.": "7;8",
    r"\boxed{7}. Or maybe it is \boxed{8}.": "7;8",
    r"\boxed{(3, 3)} \text{ for part (a) and } \boxed{(1, 1)}": "(3, 3);(1, 1)",
    r"$x = \boxed{7}$ and $y = \boxed{8}$": "x=7;y=8",
    r"x = \boxed{7}, y_2 = \boxed{8}": "x=7;y_2=8",
    r"\boxed{7} +++ \boxed{8}": "7;8",
    r"\boxed{7} (or 8)": "7;8",
    r"\boxed{7} and again \boxed{7}": "7",
    r"\boxed{7} or equivalently 7.0": "7",
    r"\boxed{1} no no no no no \boxed{2}": "2",
    "The answer is 7. Alternatively, the answer is 8.": "7;8",
    # rule 3: denied and taken back
    r"It is not \boxed{5}; it is \boxed{6}": "6",
    r"\boxed{5} is wrong. So \boxed{6}": "6",
    r"\boxed{7}. Wait, actually it should be 8.": "8",
    r"\boxed{7}. Wait, let me double check: 3+4=7. Yes.": "7",
    r"\boxed{42}. There are no other solutions.": "42",
    "The answer: 42. No, 43.": "43",
    "The answer is 43. The answer is not 42.": "43",
    # rule 4: no statement
    "42": "42",
    "x = 5": "x = 5",
    "$$\\frac{1}{2}$$": "$$\\frac{1}{2}$$",
    "28 percent": "28 percent",
    "Yes.": "Yes.",
    "the derivative": "the derivative",
    "The product is **42**.": "42",
    "So the total is $42.": "$42",
    "It costs $5 and $6, so $11 in all.": "$11",
    "It could be 40, 41, or 42.": "40;41;42",
    "One might guess 42, but it is 43.": "43",
    "The result is 43. It is not 42.": "43",
    "it's not 10 it's 1,000.99m²": "1,000.99m²",
}
SILENT = [
    "",
    "  \n\t",
    r"\boxed{}",
    r"\boxed{5",
    r"The answer is \boxed{\frac{1}{2}",
    r"The answer is not \boxed{5}.",
    r"\boxed{5} is not the answer.",
    r"$x \neq \boxed{5}$",
    r"\boxed{7}. Wait, that's wrong.",
    "The answer is not 8.",
    "It cannot be 8.",
    "We can rule out 42.",
    "Everything except 42.",
    "42 is wrong.",
    "42 or any other number.",
    "What is 42 times 1?",
    "Is it 42?",
]


@pytest.mark.parametrize(("text", "expected"), STATED.items())
def test_takes_the_answer_that_counts(text: str, expected: str) -> None:
    assert extract(text).answer == expected


@pytest.mark.parametrize("text", SILENT)
def test_finds_no_answer_and_says_why(text: str) -> None:
    extracted = extract(text)
    assert extracted.answer is None
    assert extracted.reason


@pytest.mark.parametrize(
    "text", ["The answer is 4", "The answer is 42.", "42", "so it is 42", r"\boxed{4", "#### 4"]
)
def test_takes_nothing_from_the_end_of_a_truncated_text(text: str) -> None:
    assert extract(text, cut_off=True).answer is None


@pytest.mark.parametrize(
    "text",
    [r"\boxed{42} and so", "The answer is 42. To see", "#### 42\nNow", "<answer>42</answer>"],
)
def test_takes_an_answer_that_was_closed_before_a_truncated_end(text: str) -> None:
    assert extract(text, cut_off=True).answer == "42"


def test_reads_a_reference_that_states_its_answer() -> None:
    assert stated("4 + 4 = 8\n#### 8") == "8"
    assert stated(r"so we get $\boxed{\frac12}$.") == r"\frac12"
    assert stated(r"\(\boxed{1}\) and \(\boxed{-2}\).") == "1;-2"


def test_takes_a_bare_reference_whole() -> None:
    assert stated("the sum of 3 primes") == "the sum of 3 primes"
    assert stated("x = 5") == "x = 5"


def test_lists_the_outer_boxes() -> None:
    assert [box.content for box in boxes(r"\boxed{\boxed{1}} \boxed{2} \boxed{3")] == [
        r"\boxed{1}",
        "2",
        None,
    ]


@given(st.text(max_size=300))
def test_never_fails_on_any_text(text: str) -> None:
    extract(text)
    extract(text, cut_off=True)
    stated(text)


@given(
    st.lists(
        st.sampled_from(
            ["\\boxed{", "}", "1", "or ", "the answer is ", ". ", "\n", "wait ", "not ", "$", "\\("]
        ),
        max_size=25,
    )
)
def test_never_fails_on_hostile_text(parts: list[str]) -> None:
    extracted = extract("".join(parts))
    assert (extracted.answer is None) == bool(extracted.reason)
