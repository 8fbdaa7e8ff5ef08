"""EXTRACTION.md, sentence by sentence: the numbers are its own."""

import ast
import re
from pathlib import Path

import pytest
from rewardhub_code.extract import LONGEST_ANSWER, Extraction, code_of

F = "`" * 3
ADD = "def add(a, b):\n    return a + b\n"
SUB = "def add(a, b):\n    return a - b\n"
PROMPT = 'from typing import List\n\n\ndef total(xs: List[int]) -> int:\n    """Add up."""\n'


def block(code: str, language: str = "python") -> str:
    return f"{F}{language}\n{code}{F}\n"


def run(found: Extraction, name: str, *args: object) -> object:
    namespace: dict[str, object] = {}
    exec(found.code, namespace)
    function = namespace[name]
    assert callable(function)
    return function(*args)


def test_every_sentence_of_the_rule_has_a_test() -> None:
    text = Path(__file__).parents[1].joinpath("EXTRACTION.md").read_text(encoding="utf-8")
    sentences = {int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)}
    tested = {int(match[1]) for name in globals() if (match := re.match(r"test_(\d+)_", name))}
    assert tested == sentences


def test_01_takes_an_answer_that_is_code_as_it_stands() -> None:
    code = f'def add(a, b):\n    """Add.\n\n{F}python\nadd = None\n{F}\n    """\n    return a + b\n'
    found = code_of(code, entry_point="add")
    assert (found.code, found.how, found.complete) == (code, "bare", True)


def test_02_looks_further_if_the_whole_answer_lacks_the_entry_point() -> None:
    answer = f"note = '''\n{block(ADD)}'''\n"
    assert ast.parse(answer)
    assert code_of(answer).code == answer
    assert code_of(answer, entry_point="add").code == ADD


@pytest.mark.parametrize("answer", ["Yes", "a - b", "42", "x", "", "   \n"])
def test_03_takes_no_prose_for_code(answer: str) -> None:
    found = code_of(answer)
    assert (found.code, found.how, found.complete) == ("", "none", False)
    assert found.reason


@pytest.mark.parametrize("answer", ["print(input())", "x = 1", "import os"])
def test_03_takes_a_single_statement(answer: str) -> None:
    assert code_of(answer).code == answer


@pytest.mark.parametrize("fence", [F, "`" * 5, "~~~"])
def test_04_knows_fences_of_both_kinds(fence: str) -> None:
    assert code_of(f"Here:\n{fence}python\n{ADD}{fence}\nDone.").code == ADD


def test_04_takes_the_indentation_of_a_list_off() -> None:
    lines = "".join(f"    {line}\n" for line in block(ADD).splitlines())
    assert code_of(f"1. First:\n\n{lines}\n2. Then rest.").code == ADD


def test_05_needs_a_fence_of_the_same_kind_to_close() -> None:
    found = code_of(f"~~~python\nx = '''\n{F}\n'''\n{ADD}~~~\nDone.", entry_point="add")
    assert found.code.endswith(ADD)
    assert found.complete


def test_05_takes_a_deeper_fence_for_text() -> None:
    example = f"    {F}\n    add(1, 2)\n    {F}\n"
    code = f'def add(a, b):\n    """Add.\n\n{example}    """\n    return a + b\n'
    assert code_of(f"Here:\n{block(code)}").code == code


def test_06_takes_an_unclosed_block_to_the_end() -> None:
    found = code_of(f"Here:\n{F}python\n{ADD}")
    assert found.code.strip() == ADD.strip()
    assert not found.complete


def test_07_begins_a_new_block_at_a_fence_that_names_a_language() -> None:
    found = code_of(f"{F}python\n{SUB}{F}python\n{ADD}{F}\n", entry_point="add")
    assert found.code == ADD


def test_08_looks_into_blocks_of_markdown() -> None:
    assert code_of(f"{F}`markdown\n# Title\n\n{block(ADD)}{F}`\n").code == ADD


@pytest.mark.parametrize("language", ["python", "py", "Python3", "{.python}", "python:add.py", ""])
def test_09_knows_the_names_of_python(language: str) -> None:
    assert code_of(f"Here:\n{block(ADD, language)}").code == ADD


@pytest.mark.parametrize("language", ["bash", "json", "text", "javascript", "c++"])
def test_09_takes_no_block_of_another_language(language: str) -> None:
    assert code_of(f"Here:\n{block(ADD, language)}").code == ""
    assert code_of(f"{block(ADD)}{block(SUB, language)}", entry_point="add").code == ADD


def test_10_takes_no_block_that_is_hidden_in_a_comment() -> None:
    hidden = f"<!--\n{block(ADD)}-->\n"
    assert code_of(f"I cannot do it.\n{hidden}").code == ""
    assert code_of(f"{block(SUB)}{hidden}", entry_point="add").code == SUB


def test_10_goes_on_after_a_comment() -> None:
    assert code_of(f"<!-- one line -->\nHere:\n{block(ADD)}").code == ADD
    assert code_of(f"<!--\nmore\n-->\nHere:\n{block(ADD)}").code == ADD


@pytest.mark.parametrize(
    "hook",
    [
        block("def add(a, b): ...\n", "python conftest.py"),
        block("# conftest.py\ndef add(a, b): ...\n"),
        block("# tests/conftest.py\ndef add(a, b): ...\n", ""),
        block("def add(a, b): ...\n", 'python title="sitecustomize.py"'),
    ],
)
def test_11_takes_no_file_that_steers_the_runner(hook: str) -> None:
    found = code_of(f"{block(ADD)}\n{hook}", entry_point="add")
    assert found.code == ADD
    assert len(found.tampered) == 1


def test_11_does_not_mind_the_name_elsewhere() -> None:
    code = "x = 1\n# no conftest.py is needed\n"
    found = code_of(block(code))
    assert (found.code, found.tampered) == (code, ())


def test_12_takes_the_last_hundred_blocks() -> None:
    assert code_of(block(ADD) + block("x = 1\n") * 99, entry_point="add").code == ADD
    assert code_of(block(ADD) + block("x = 1\n") * 100, entry_point="add").code == "x = 1\n"


def test_13_takes_the_last_block_that_defines_the_entry_point() -> None:
    example = block("print(add(1, 2))\n")
    answer = f"First:\n{block(SUB)}Better:\n{block(ADD)}Try it:\n{example}"
    assert code_of(answer, entry_point="add").code == ADD


def test_13_prefers_a_block_that_parses() -> None:
    answer = block(ADD) + block("def add(a, b):\n    return a +\n")
    assert code_of(answer, entry_point="add").code == ADD


def test_13_takes_one_that_does_not_parse_if_there_is_no_other() -> None:
    broken = "def add(a, b):\n    return a +\n"
    found = code_of(block("x = 1\n") + block(broken), entry_point="add")
    assert (found.code, found.complete) == (broken, False)


@pytest.mark.parametrize(
    "code",
    ["add = lambda a, b: a + b\n", "async def add(a, b): ...\n", "from operator import add\n"],
)
def test_13_knows_all_ways_to_define(code: str) -> None:
    assert code_of(block(code) + block("y = 2\n"), entry_point="add").code == code


def test_14_takes_the_last_program() -> None:
    answer = block("print(1)\n") + block("print(2)\n") + block("done\n")
    assert code_of(answer).code == "print(2)\n"


def test_14_prefers_a_block_that_says_python() -> None:
    assert code_of(block("print(1)\n") + block("print(2)\n", "")).code == "print(1)\n"


def test_15_puts_helpers_in_front() -> None:
    helper = "def twice(x):\n    return 2 * x\n"
    answer = block("import math\n") + block(helper) + block("def f(x):\n    return twice(x)\n")
    found = code_of(answer, entry_point="f")
    assert found.blocks == 2
    assert "import math" not in found.code
    assert run(found, "f", 4) == 8


def test_15_follows_what_helpers_lack() -> None:
    answer = (
        block("import math\n")
        + block("def root(x):\n    return math.isqrt(x)\n")
        + block("def f(x):\n    return root(x)\n")
    )
    assert run(code_of(answer, entry_point="f"), "f", 16) == 4


def test_15_takes_the_nearest_helper() -> None:
    answer = (
        block("def g():\n    return 1\n")
        + block("def g():\n    return 2\n")
        + block("def f():\n    return g()\n")
    )
    assert run(code_of(answer, entry_point="f"), "f") == 2


def test_15_finds_a_helper_behind() -> None:
    answer = block("def f():\n    return g()\n") + block("def g():\n    return 3\n")
    assert run(code_of(answer, entry_point="f"), "f") == 3


def test_16_leaves_out_examples() -> None:
    answer = block("raise SystemExit\n") + block(ADD) + block("assert add(1, 1) == 3\n")
    assert code_of(answer, entry_point="add").code == ADD


def test_17_binds_a_method_of_solution() -> None:
    answer = block("class Solution:\n    def add(self, a, b):\n        return a + b\n")
    assert run(code_of(answer, entry_point="add"), "add", 1, 2) == 3


def test_18_says_that_nothing_defines_the_entry_point() -> None:
    found = code_of(block("x = 1\n"), entry_point="add")
    assert found.code == "x = 1\n"
    assert "nothing defines `add`" in found.reason


def test_19_takes_a_whole_function_with_the_imports_of_the_prompt() -> None:
    whole = "def total(xs: List[int]) -> int:\n    return sum(xs)\n"
    found = code_of(f"Sure:\n{block(whole)}", entry_point="total", prompt=PROMPT)
    assert found.how == "fenced"
    assert "Add up" not in found.code
    assert run(found, "total", [1, 2]) == 3


def test_19_adds_nothing_that_is_there() -> None:
    whole = "def total(xs):\n    return sum(xs)\n"
    assert code_of(block(whole), entry_point="total", prompt=PROMPT).code == whole


@pytest.mark.parametrize(
    "body",
    [
        "    s = 0\n    for x in xs:\n        s += x\n    return s\n",
        "s = 0\n    for x in xs:\n        s += x\n    return s\n",
        "s = 0\nfor x in xs:\n    s += x\nreturn s\n",
        "\n    s = 0\n    for x in xs:\n        s += x\n    return s",
        block("    s = 0\n    for x in xs:\n        s += x\n    return s\n"),
        "The body:\n" + block("s = 0\nfor x in xs:\n    s += x\nreturn s\n"),
    ],
)
def test_20_puts_a_body_behind_the_prompt(body: str) -> None:
    found = code_of(body, entry_point="total", prompt=PROMPT)
    assert (found.how, found.complete) == ("completed", True)
    assert run(found, "total", [1, 2, 3]) == 6


def test_20_does_not_take_the_prompt_alone_for_an_answer() -> None:
    found = code_of("I do not know.", entry_point="total", prompt=PROMPT)
    assert found.how != "completed"
    assert not found.complete


def test_21_cuts_what_a_completing_model_goes_on_with() -> None:
    body = "    return sum(xs)\n\n\ndef other(x):\n    if x =="
    found = code_of(body, entry_point="total", prompt=PROMPT)
    assert "other" not in found.code
    assert run(found, "total", [1, 2]) == 3


def test_22_adds_what_leetcode_has_by_itself() -> None:
    code = (
        "class Solution:\n    def pick(self, xs: List[int]) -> Optional[int]:\n"
        "        q = deque(xs)\n        return math.floor(q.pop())\n"
    )
    found = code_of(block(code), entry_point="Solution.pick")
    namespace: dict[str, object] = {}
    exec(f"{found.code}\nresult = Solution().pick([1, 2])", namespace)
    assert namespace["result"] == 2


def test_22_adds_nothing_for_other_entry_points() -> None:
    code = "def pick(xs: List[int]):\n    return xs[0]\n"
    assert code_of(block(code), entry_point="pick").code == code


def test_23_takes_code_out_of_prose() -> None:
    answer = f"Here is what you want:\n\nimport math\n\n{ADD}\nThis works, since it adds.\n"
    found = code_of(answer, entry_point="add")
    assert found.how == "bare"
    assert run(found, "add", 1, 2) == 3


def test_23_leaves_sentences_between_out() -> None:
    answer = f"First this one.\n\n{ADD}\nThen this one here.\n\ndef f():\n    return add(1, 1)\n"
    assert run(code_of(answer, entry_point="f"), "f") == 2


def test_23_takes_an_indented_block() -> None:
    indented = "".join(f"    {line}\n" for line in ADD.splitlines())
    assert run(code_of(f"Here:\n\n{indented}", entry_point="add"), "add", 1, 2) == 3


@pytest.mark.parametrize("language", ["", "pycon", "python"])
def test_24_reads_a_transcript_in_a_block(language: str) -> None:
    session = ">>> def add(a, b):\n...     return a + b\n...\n>>> add(1, 2)\n3\n"
    found = code_of(f"So:\n{block(session, language)}", entry_point="add")
    assert found.how == "transcript"
    assert run(found, "add", 1, 2) == 3


def test_24_reads_a_transcript_in_a_text() -> None:
    session = "I tried:\n\n>>> x = 5\n>>> print(x)\n5\n"
    assert code_of(session).code == "x = 5\nprint(x)\n"


def test_24_takes_no_doctest_for_a_transcript() -> None:
    code = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'
    assert code_of(block(code)).code == code


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_25_knows_all_line_ends(newline: str) -> None:
    assert code_of(f"Here:\n{block(ADD)}".replace("\n", newline)).code == ADD


@pytest.mark.parametrize("character", ["\u200b", "\ufeff", "\u2060"])
def test_26_removes_what_nobody_sees(character: str) -> None:
    found = code_of(f"Here:\n{character}{block(character + ADD)}")
    assert (found.code, found.complete) == (ADD, True)


def test_26_mends_no_break_spaces() -> None:
    assert code_of(block(ADD.replace("    ", "\u00a0" * 4))).code == ADD


def test_26_keeps_them_in_strings() -> None:
    code = 'MARK = "a\u200bb"\n'
    assert code_of(block(code)).code == code


def test_27_refuses_a_huge_answer() -> None:
    found = code_of("x" * (LONGEST_ANSWER + 1))
    assert (found.code, found.how) == ("", "none")
    assert str(LONGEST_ANSWER) in found.reason


def test_27_does_not_parse_huge_code() -> None:
    found = code_of(block(ADD + "x = 1\n" * 40_000), entry_point="add")
    assert found.code.startswith(ADD)
    assert not found.complete


def test_finds_code_of_another_language() -> None:
    answer = block("int main() {}\n", "cpp") + block("cmake .\n", "bash")
    assert code_of(answer, language="cpp").code == "int main() {}\n"
    assert code_of(answer, language="rust").code == ""
    assert code_of("fn main() {}", language="rust").code == "fn main() {}"


@pytest.mark.parametrize(
    "shape",
    [
        *(f"{F}\n", f"{F}python\nx=1\n", "(", "<!-- ", ">>> x\n", "\u200b", " " * 80 + "\n"),
        *("class dismissed x\n", "def f(): pass\n", "- [ ] `x`\n", "\x00", "\ud800", "@a\n", "-"),
    ],
)
def test_never_raises_whatever_the_answer_is(shape: str) -> None:
    text = shape * (200_000 // len(shape))
    for prompt in ("", PROMPT):
        assert isinstance(code_of(text, entry_point="total", prompt=prompt), Extraction)
