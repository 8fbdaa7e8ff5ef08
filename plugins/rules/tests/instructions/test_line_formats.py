import pytest
from rewardhub_rules.instructions.line_formats import (
    LineIndent,
    List,
    NoBulletsBullets,
    SubBullets,
    Thesis,
)


def test_blank_lines_are_no_steps() -> None:
    assert LineIndent().check("a\n\n\n\n b\n\n\tc").followed


def test_one_line_is_no_stairs() -> None:
    assert LineIndent().check("a").why == "it has one line"


def test_a_mark_inside_of_a_line_begins_no_item() -> None:
    assert not List(sep="-").check("a well-known, far-off thing").followed
    assert List(sep="-").check("- a\n  - b").followed


def test_bold_is_no_bullet_point_and_a_hyphen_no_sub_bullet() -> None:
    assert SubBullets().check("**Bold** text\n* one\n  - a **b** c\n* two\n  - d").followed
    assert (
        SubBullets().check("* one\n  - a\n* well-known").why == "bullet point 2 has none below it"
    )


def test_blank_lines_may_part_sentences_and_bullet_points() -> None:
    assert NoBulletsBullets().check("It rains. It pours.\n\n* a\n\n* b\n  more of b").followed


def test_only_sentences_that_end_in_a_period_count() -> None:
    finding = NoBulletsBullets().check("It rains. Does it? Yes!\n* a\n* b")
    assert finding.why == "1 sentences before the list, at least 2 asked"


@pytest.mark.parametrize(
    "text",
    [
        "<i>Rain is good.</i> It is wet.",
        "<p><em class='a'>Rain\nis good.</em></p> It is wet.",
        "## A\n\n<i>Rain.</i> Wet.\n\n## B\n\n<i>Snow.</i> Cold.",
        "<h2>A</h2>\n<i>Rain.</i> Wet.",
    ],
)
def test_a_section_begins_in_italics(text: str) -> None:
    assert Thesis().check(text).followed


@pytest.mark.parametrize(
    "text",
    [
        "*Rain is good.* It is wet.",
        "<i>Rain</em> is wet.",
        "<i> </i> It is wet.",
        "It is wet. <i>Rain.</i> So.",
        "<i>Rain is good.</i>",
    ],
)
def test_knows_a_section_that_does_not(text: str) -> None:
    assert not Thesis().check(text).followed
