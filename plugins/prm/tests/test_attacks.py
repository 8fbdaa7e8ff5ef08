import rewardhub_prm

from rewardhub.testing import make_task


def test_yields_hollow_answers_for_a_task() -> None:
    (card,) = rewardhub_prm.rewardhub_attacks()
    answers = list(card.attack(make_task("What is 2 + 2?", reference="4")))
    assert len(set(answers)) == len(answers) > 5
    assert all(answer.strip() for answer in answers)
    assert not any("4" in answer for answer in answers)


def test_yields_answers_for_a_task_without_messages() -> None:
    (card,) = rewardhub_prm.rewardhub_attacks()
    assert list(card.attack(make_task()))


def test_is_for_tasks_of_its_domain() -> None:
    (card,) = rewardhub_prm.rewardhub_attacks()
    assert card.domains == ("prm",)
