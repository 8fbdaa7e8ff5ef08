import hashlib

from rewardhub_judge.fencing import Fences


def test_equal_texts_have_equal_marks_and_others_do_not() -> None:
    assert Fences(["a", "b"]).mark == Fences(["a", "b"]).mark
    assert Fences(["a", "b"]).mark != Fences(["ab", ""]).mark


def test_the_mark_occurs_in_none_of_the_texts() -> None:
    # The marks of texts cannot be foreseen from within the text; so the digest is taken over here.
    class Known:
        def __init__(self) -> None:
            self.rounds = 0

        def update(self, data: bytes) -> None:
            self.rounds += data == b"again"

        def hexdigest(self) -> str:
            return ["ab" * 32, "cd" * 32, "ef" * 32][self.rounds]

    original = hashlib.sha256
    hashlib.sha256 = Known  # type: ignore[assignment,misc]
    try:
        mark = Fences(["x" + "AB" * 8, "[end of answer " + "cd" * 8 + "]"]).mark
    finally:
        hashlib.sha256 = original  # type: ignore[misc]
    assert mark == "ef" * 8


def test_puts_a_text_between_two_marked_lines() -> None:
    fences = Fences(["four"])
    assert fences.around("answer", "four") == (
        f"[answer {fences.mark}]\nfour\n[end of answer {fences.mark}]"
    )


def test_no_endpoint_sees_half_of_a_surrogate_pair() -> None:
    assert "a?b" in Fences(["a\ud800b"]).around("answer", "a\ud800b")
