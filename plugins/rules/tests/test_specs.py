import rewardhub_rules

from rewardhub import AttackCard, Engine, Reward, SpecCard
from rewardhub.testing import make_task, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_rules)
SPEC = "rules/tidy-answer"
TIDY = "The harbour was quiet in the early hours.\nThen the boats came in."


def reward_of(text: str, **fields: str) -> Reward:
    with Engine(SPEC, registry=REGISTRY) as engine:
        return engine.score(make_trajectory(text, **fields))


def failed_parts(reward: Reward) -> list[str]:
    return [part.id for part in reward.parts if part.score and part.score.value != 1]


def test_one_spec_is_shipped() -> None:
    assert list(REGISTRY.all(SpecCard)) == [SPEC]


def test_a_tidy_answer_reaches_the_top_of_the_range() -> None:
    reward = reward_of(TIDY)
    assert (reward.value, reward.success) == (1, True)


def test_an_answer_that_says_next_to_nothing_stops_at_the_gate() -> None:
    reward = reward_of("I don't know.")
    assert (reward.value, reward.success, reward.decided_by) == (0, False, "said")


def test_each_rule_takes_its_share() -> None:
    cases = {
        "no_forbidden": f"{TIDY} As an AI language model, I was not there.",
        "no_placeholder": f"{TIDY} Ask [insert name here].",
        "lines": "And so it went on.\n" * 9,
    }
    assert {part: failed_parts(reward_of(text)) for part, text in cases.items()} == {
        part: [part] for part in cases
    }
    assert failed_parts(reward_of(TIDY, status="truncated")) == ["whole"]


def test_hollow_answers_break_a_rule_of_form() -> None:
    (attack,) = REGISTRY.all(AttackCard).values()
    texts = list(attack.card.attack(make_task("Say hello.")))
    assert len(texts) == len(set(texts)) >= 6
