import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.look_alikes import plain


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Plain", "plain"),
        ("\u0440\u0430\u0443\u0440\u0430l", "paypal"),
        ("\u0410\u0412\u0421", "abc"),
        ("pay\u200bp\u00adal\ufe0f", "paypal"),
        ("\uff30\uff21\uff39", "pay"),
        ("\u24df\u24d0\u24e8", "pay"),
        ("p\u0336a\u0336y\u0336", "pay"),
        ("p\u00e1\u00ff", "pay"),
        ("\ufb01n", "fin"),
        ("I\u0307", "i"),
    ],
)
def test_makes_alike_what_looks_alike(text: str, wanted: str) -> None:
    assert plain(text) == wanted


def test_keeps_vowel_signs_of_scripts_that_need_them() -> None:
    assert plain("किताब") == "किताब"
    assert plain("שָׁלוֹם") != plain("שלום")


@given(st.text(max_size=80))
def test_case_makes_no_difference(text: str) -> None:
    assert plain(text.casefold()) == plain(plain(text))
