import pytest
from rewardhub_rules.instructions.verbs import begins_with_verb


@pytest.mark.parametrize(
    "text",
    [
        "Write a poem.",
        "**Explore** the city.",
        "Running is fun.",
        "Is it so?",
        "Don't go.",
        "Design a system.",
        "Plan your trip.",
        "Look at it.",
        "Based on the text, it is.",
        "write",
    ],
)
def test_knows_a_verb_at_the_start(text: str) -> None:
    assert begins_with_verb(text)


@pytest.mark.parametrize(
    "text",
    [
        "The cat sat.",
        "Water is wet.",
        "Research shows that it works.",
        "Answer: yes.",
        "Please wait.",
        "Well, it works.",
        "Certainly! Write this.",
        "I think so.",
        "To be or not.",
        "Vladimir went home.",
        "2024 was cold.",
        "?!",
    ],
)
def test_knows_what_is_no_verb(text: str) -> None:
    assert not begins_with_verb(text)
