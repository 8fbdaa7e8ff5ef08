import pytest
from rewardhub_rules.instructions.layout import (
    ConstrainedResponse,
    JsonFormat,
    MultipleSections,
    NumberBulletLists,
    NumberHighlightedSections,
    NumberPlaceholders,
    Postscript,
    Title,
    unfenced,
)


@pytest.mark.parametrize("fence", ["```", "```json", "```JSON", "``` json ", "~~~json", "````"])
def test_reads_json_inside_of_any_fence(fence: str) -> None:
    closing = fence.rstrip("jsonJSON ")
    assert JsonFormat().check(f'{fence}\n{{"a": 1}}\n{closing}\n').followed


@pytest.mark.parametrize(
    "text", ['```json\n{"a": 1}', '{"a": 1} and more', '"a"', "12", "null", '{"a": NaN}', "{}}"]
)
def test_refuses_what_is_no_object_or_array(text: str) -> None:
    assert not JsonFormat().check(text).followed


def test_leaves_a_fence_of_another_language_alone() -> None:
    assert unfenced("```python\nx\n```", "json") == "```python\nx\n```"


@pytest.mark.parametrize(
    "line", ["---", "* * *", "-5 degrees", "*emphasis* here", "--", "**bold**"]
)
def test_takes_no_other_line_for_a_bullet_point(line: str) -> None:
    assert NumberBulletLists(num_bullets=1).check(f"* one\n{line}\ntext").followed


def test_counts_bullet_points_inside_of_others() -> None:
    assert NumberBulletLists(num_bullets=3).check("* one\n  - two\n\t* three").followed


@pytest.mark.parametrize("text", ["* one\n* two *", "2 * 3 * 4", "****", "* a *"])
def test_takes_no_other_asterisks_for_a_highlight(text: str) -> None:
    assert NumberHighlightedSections(num_highlights=1).check(text).why.startswith("0 ")


def test_bold_italics_are_one_highlight() -> None:
    assert NumberHighlightedSections(num_highlights=2).check("***both***").why.startswith("1 ")


def test_a_section_begins_a_line() -> None:
    asked = MultipleSections(section_spliter="Section", num_sections=2)
    assert not asked.check("See Section 1 and Section 2.").followed
    assert asked.check("**Section 1**\nA\n\n  Section 2: B").followed


def test_a_mark_of_sections_is_taken_literally() -> None:
    asked = MultipleSections(section_spliter="Q.", num_sections=1)
    assert asked.check("Q. 1").followed
    assert not asked.check("QA 1").followed


@pytest.mark.parametrize(
    "text", ["[]", "[ ] buy", "[x] done", "[site](https://example.org)", "[?]"]
)
def test_takes_no_other_brackets_for_a_placeholder(text: str) -> None:
    assert not NumberPlaceholders(num_placeholders=1).check(text).followed


@pytest.mark.parametrize("text", ["Bye. p. s. so", "Bye\n\n**P.S.** so", "Bye P.S.: so"])
def test_finds_a_postscript(text: str) -> None:
    assert Postscript(postscript_marker="P.S.").check(text).followed


@pytest.mark.parametrize("text", ["P.P.S. so", "Bye. P.S.", "at the corp.s. office"])
def test_takes_nothing_else_for_a_postscript(text: str) -> None:
    assert not Postscript(postscript_marker="P.S.").check(text).followed


def test_reads_the_marker_of_a_second_postscript() -> None:
    assert Postscript(postscript_marker="P.P.S").check("P.P.S. so").followed
    assert not Postscript(postscript_marker="P.P.S").check("P.S. so").followed


def test_takes_another_marker_literally() -> None:
    assert not Postscript(postscript_marker="N.B.").check("NOBLE so").followed


def test_a_title_says_something() -> None:
    assert not Title().check("<<>> <<  >> << -- >>").followed
    assert Title().check("x << y\n<<Rain>>").followed


def test_to_say_both_is_no_answer() -> None:
    assert not ConstrainedResponse().check("My answer is yes. My answer is no.").followed
