import pytest
from rewardhub_rules.instructions.tables import CsvCity, CsvQuotes, CsvSpecialCharacter

CITIES = "ID,Country,City,Year,Count\n" + "\n".join(f"{n},Norway,Oslo,2020,{n}" for n in range(7))
PRODUCTS = "ProductID,Category,Brand,Price,Stock\n" + "\n".join(
    f"{number},Tools,Ace,{number},1" for number in range(14)
)
STUDENTS = "\n".join(
    "\t".join(f'"{field}"' for field in line)
    for line in (
        ("StudentID", "Subject", "Grade", "Semester", "Score"),
        *((number, "Art", "A", "Fall", 90) for number in range(3)),
    )
)


@pytest.mark.parametrize("text", [CITIES, f"```csv\n{CITIES}\n```", f"\n{CITIES}\n\n"])
def test_reads_a_table_inside_of_a_fence(text: str) -> None:
    assert CsvCity().check(text).followed


def test_spaces_may_follow_the_commas() -> None:
    assert CsvCity().check(CITIES.replace(",", ", ")).followed


def test_names_the_row_that_is_too_narrow() -> None:
    assert CsvCity().check(CITIES.replace("3,Norway,", "3,")).why == "row 4 has 4 fields"


def test_a_comma_inside_of_quotes_parts_nothing() -> None:
    assert CsvSpecialCharacter().check(PRODUCTS.replace("Ace", '"Ace, & Co"', 1)).followed


def test_every_row_of_products_is_read() -> None:
    quoted = PRODUCTS.replace("Ace", '"A&B"', 1)
    assert not CsvSpecialCharacter().check(quoted.replace("13,Tools,", "13,")).followed


def test_a_quoted_field_without_a_special_character_is_not_enough() -> None:
    assert not CsvSpecialCharacter().check(PRODUCTS.replace("Ace", '"Ace 5"')).followed


def test_each_field_is_quoted_the_header_too() -> None:
    assert CsvQuotes().check(STUDENTS).followed
    finding = CsvQuotes().check(STUDENTS.replace('"Score"', "Score"))
    assert finding.why == "line 1 has a field without quotes"
