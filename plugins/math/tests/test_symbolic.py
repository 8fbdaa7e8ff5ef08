import subprocess
import sys
import threading

import pytest
from rewardhub_math.symbolic import compare_symbolically


def test_compares_in_a_thread_where_signals_do_not_work() -> None:
    verdicts: list[str] = []
    thread = threading.Thread(
        target=lambda: verdicts.append(compare_symbolically(r"\sqrt{8}", r"2\sqrt2"))
    )
    thread.start()
    thread.join()
    assert verdicts == ["same"]


def test_looks_at_the_reference_first() -> None:
    assert compare_symbolically("", r"\sqrt{2}") == "answer_unreadable"
    assert compare_symbolically("", r"x \mid y") == "reference_unreadable"
    assert compare_symbolically("no idea", r"x \mid y") == "reference_unreadable"


def test_calls_a_large_expression_unreadable() -> None:
    large = "+".join(f"x_{{{n}}}" for n in range(300))
    assert compare_symbolically(large, r"\sqrt{2}") == "answer_unreadable"


@pytest.mark.parametrize(
    "text",
    [r"\frac{x}{0}", r"\int x", r"\sum_{k=1}^{\infty}", "][", r"\begin{cases}x\end{cases}", "@#"],
)
def test_is_not_upset_by_odd_mathematics(text: str) -> None:
    assert compare_symbolically(text, r"\sqrt{2}") in ("different", "answer_unreadable")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch pwned')",
        r"\text{__import__('os').abort()}",
        "eval(1)",
        r"\operatorname{exec}(1)",
        "lambda: 0",
    ],
)
def test_runs_no_code(text: str) -> None:
    assert compare_symbolically(text, r"\sqrt{2}") != "same"


def test_says_that_the_parser_does_not_work_here() -> None:
    # As with a wrong antlr runtime, which math-verify reports as text without an answer.
    program = (
        "import math_verify; math_verify.parse = lambda *a, **k: [];"
        "from rewardhub_math.symbolic import compare_symbolically as c; c('1', 'x^2+1')"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "math-verify cannot parse LaTeX here" in run.stderr
