import difflib
import random

import pytest
from rewardhub_code.patches import LONGEST_PATCH, PatchError, change_of, changed, patch_in

F = "`" * 3
TEXT = "".join(f"line {number}\n" for number in range(1, 21))
TREE = {"a.py": TEXT, "b/c.py": "x = 1\n", "bare.txt": "one\ntwo"}


def diff(before: str, after: str, path: str = "a.py", context: int = 3) -> str:
    lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}", n=context))


def test_changes_a_file() -> None:
    after = TEXT.replace("line 7\n", "line seven\n")
    assert changed(TREE, diff(TEXT, after)) == {"a.py": after}


@pytest.mark.parametrize("context", [0, 1, 3])
def test_undoes_what_difflib_does(context: int) -> None:
    chance = random.Random(context)
    for _ in range(200):
        lines = [f"{chance.randrange(6)}\n" for _ in range(chance.randrange(30))]
        after = [line for line in lines if chance.random() > 0.2]
        for _ in range(chance.randrange(4)):
            after.insert(chance.randrange(len(after) + 1), f"new {chance.randrange(3)}\n")
        one, other = "".join(lines), "".join(after)
        made = changed({"a.py": one}, diff(one, other, context=context))
        assert made == ({"a.py": other} if one != other else {})


def test_finds_lines_that_have_moved() -> None:
    patch = diff(TEXT, TEXT.replace("line 7\n", "line seven\n"))
    moved = {"a.py": "new\n" * 5 + TEXT}
    assert changed(moved, patch)["a.py"] == "new\n" * 5 + TEXT.replace("line 7\n", "line seven\n")


def test_takes_the_place_next_to_where_it_should_be() -> None:
    before = "a\nb\n" * 10
    patch = "--- a/a.py\n+++ b/a.py\n@@ -9,2 +9,2 @@\n a\n-b\n+c\n"
    assert changed({"a.py": before}, patch)["a.py"] == "a\nb\n" * 4 + "a\nc\n" + "a\nb\n" * 5


def test_makes_a_new_file() -> None:
    head = "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n"
    patch = f"{head}@@ -0,0 +1 @@\n+x = 1\n"
    assert changed(TREE, patch) == {"n.py": "x = 1\n"}


def test_removes_a_file() -> None:
    patch = "--- a/b/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
    assert changed(TREE, patch) == {"b/c.py": None}


def test_renames_a_file() -> None:
    patch = (
        "diff --git a/b/c.py b/b/d.py\nsimilarity index 50%\nrename from b/c.py\nrename to b/d.py\n"
        "--- a/b/c.py\n+++ b/b/d.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    )
    assert changed(TREE, patch) == {"b/c.py": None, "b/d.py": "x = 2\n"}


@pytest.mark.parametrize(
    ("lines", "change"),
    [
        ("new file mode 100644", {"n.py": ""}),
        ("similarity index 100%\ncopy from b/c.py\ncopy to n.py", {"n.py": "x = 1\n"}),
        (
            "similarity index 100%\nrename from b/c.py\nrename to n.py",
            {"b/c.py": None, "n.py": "x = 1\n"},
        ),
    ],
)
def test_makes_changes_without_lines(lines: str, change: dict[str, str | None]) -> None:
    source = "n.py" if lines.startswith("new") else "b/c.py"
    assert changed(TREE, f"diff --git a/{source} b/n.py\n{lines}\n") == change


def test_minds_a_missing_newline_at_the_end() -> None:
    note = "\\ No newline at end of file\n"
    patch = f"--- a/bare.txt\n+++ b/bare.txt\n@@ -1,2 +1,2 @@\n one\n-two\n{note}+three\n{note}"
    assert changed(TREE, patch) == {"bare.txt": "one\nthree"}


def test_makes_several_changes_of_several_files() -> None:
    one = TEXT.replace("line 2\n", "2\n").replace("line 19\n", "")
    patch = diff(TEXT, one) + diff("x = 1\n", "x = 2\n", "b/c.py")
    assert changed(TREE, patch) == {"a.py": one, "b/c.py": "x = 2\n"}


def test_sees_an_earlier_change_of_the_same_file() -> None:
    patch = diff("x = 1\n", "x = 2\n", "b/c.py") + diff("x = 2\n", "x = 3\n", "b/c.py")
    assert changed(TREE, patch) == {"b/c.py": "x = 3\n"}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (diff("other\n", "line\n"), r"`a.py`, hunk 1 \(@@ -1,1 \+1,1 @@\) does not apply: other"),
        (diff("x\n", "y\n", "none.py"), "`none.py`: there is no such file"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n line 1\n", "cannot be read"),
        ("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", "it is there already"),
        ("--- a/b/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 2\n", "does not apply"),
        ("--- /dev/null\n+++ b/../x.py\n@@ -0,0 +1 @@\n+x\n", "no path inside the tree"),
        ("--- /dev/null\n+++ /etc/x.py\n@@ -0,0 +1 @@\n+x\n", "no path inside the tree"),
        ("--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n", "no path inside the tree"),
        ("diff --git a/p b/p\nBinary files a/p and b/p differ\n", "binary"),
        ("x" * (LONGEST_PATCH + 1), "are read"),
    ],
)
def test_says_what_does_not_apply(patch: str, said: str) -> None:
    with pytest.raises(PatchError, match=said):
        changed(TREE, patch)


def test_finds_the_patch_of_an_answer() -> None:
    patch = diff("x = 1\n", "x = 2\n", "b/c.py")
    for answer in (
        f"Here:\n{F}diff\n{patch}{F}\nDone.",
        f"Here:\n{F}patch\n{patch}{F}\n",
        f"Here:\n{F}\n{patch}{F}\n",
        f"I changed one line.\n\n{patch}",
        f"Here:\r\n{F}diff\r\n" + patch.replace("\n", "\r\n") + f"{F}\r\n",
    ):
        assert changed(TREE, patch_in(answer)) == {"b/c.py": "x = 2\n"}


def test_joins_all_diffs_of_an_answer() -> None:
    one, other = diff("x = 1\n", "x = 2\n", "b/c.py"), diff("one\ntwo\n", "one\n", "d.txt")
    answer = f"{F}diff\n{one}{F}\nand\n{F}python\nprint(1)\n{F}\n{F}diff\n{other}{F}\n"
    assert patch_in(answer) == one + other


@pytest.mark.parametrize("answer", ["", "No patch.", f"{F}python\nx = 1\n{F}", "a --- b"])
def test_finds_no_patch_where_there_is_none(answer: str) -> None:
    assert patch_in(answer) == ""


def test_keeps_windows_line_ends() -> None:
    patch = "--- a/w.py\n+++ b/w.py\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
    assert changed({"w.py": "a\r\nb\r\n"}, patch) == {"w.py": "a\r\nc\r\n"}


def test_takes_whole_files() -> None:
    files = {"a.py": "new\n", "b/c.py": None}
    assert change_of(files, TREE) == files


@pytest.mark.parametrize("value", [5, ["a"], {"a.py": 5}, {"../a.py": "x"}, {"/a.py": "x"}])
def test_refuses_what_is_no_change(value: object) -> None:
    with pytest.raises(PatchError):
        change_of(value, TREE)
