import random

from hypothesis import given
from hypothesis import strategies as st
from rewardhub_prm.labelled import LabelledRow
from rewardhub_prm.train_parts import groups_of, part_rows

LONG = "a farmer has twelve brown hens and sells three of them at the market on monday morning"
OTHER = "the train leaves for the coast at noon and needs two hours for the first forty miles"


def row(problem: str, number: int = 0) -> LabelledRow:
    return LabelledRow(id=f"{number}", problem=problem, steps=("a",), labels=(1.0,))


def test_equal_problems_are_one_group() -> None:
    first, second, third = groups_of(["What is 1+1?", "what is 1 + 1", "What is 1+2?"])
    assert first == second != third


def test_a_problem_with_a_sentence_added_is_in_its_group() -> None:
    changed = f"{LONG}. If the answer is 9, what is the number x of hens that were brown at first?"
    first, second, third = groups_of([LONG, changed, OTHER])
    assert first == second != third


def test_problems_that_share_a_few_words_are_apart() -> None:
    ending = "how many dollars does he have left in the end"
    first, second = groups_of([f"{LONG} {ending}", f"{OTHER} {ending}"])
    assert first != second


def test_the_wording_of_a_kind_of_task_tells_nothing() -> None:
    frame = "the following paragraphs each describe a set of five objects in a fixed order"
    problems = [f"{frame} object number {index} comes first" for index in range(12)]
    assert len(set(groups_of(problems))) == 12


def test_groups_join_over_a_problem_between_them() -> None:
    words = [f"w{index}" for index in range(40)]
    ends = [" ".join(words[:24]), " ".join(words[8:32]), " ".join(words[16:])]
    assert len(set(groups_of([ends[0], ends[2]]))) == 2
    assert len(set(groups_of(ends))) == 1


def test_all_attempts_at_a_problem_are_in_one_part() -> None:
    rows = [row(f"problem {index % 40} of many", index) for index in range(200)]
    parts = part_rows(rows, {"a": 0.3, "b": 0.3}, rest="c", seed=1)
    problems = {name: {each.problem for each in found} for name, found in parts.items()}
    assert all(problems.values())
    assert sum(map(len, problems.values())) == 40


def test_shares_are_kept_on_average() -> None:
    rows = [row(f"problem number {index}", index) for index in range(2000)]
    parts = part_rows(rows, {"a": 0.2}, rest="b")
    assert 300 < len(parts["a"]) < 500


def test_another_seed_parts_otherwise() -> None:
    rows = [row(f"problem number {index}", index) for index in range(50)]
    parts = [part_rows(rows, {"a": 0.5}, rest="b", seed=seed)["a"] for seed in (0, 0, 1)]
    assert parts[0] == parts[1] != parts[2]


@given(order=st.permutations(range(12)))
def test_parts_do_not_hang_on_the_order_of_rows(order: list[int]) -> None:
    rows = [row(f"problem number {index}", index) for index in range(12)]
    shuffled = part_rows([rows[index] for index in order], {"a": 0.5}, rest="b")
    assert set(shuffled["a"]) == set(part_rows(rows, {"a": 0.5}, rest="b")["a"])


def test_many_problems_are_grouped_without_comparing_all_pairs() -> None:
    dice = random.Random(0)
    problems = [" ".join(f"w{dice.randrange(1000)}" for _ in range(40)) for _ in range(3000)]
    assert len(set(groups_of([*problems, *(f"so {each}" for each in problems)]))) == 3000
