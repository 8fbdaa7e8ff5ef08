"""Tasks are held out so that nothing leaks."""

import json
import random
import re

import pytest

from rewardhub.audit.splitting import Division, SplitSettings, split_tasks, write_split
from rewardhub.errors import UsageError
from rewardhub.records import Message, Task, read_task

NAMES = ["Ana", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo"]
THINGS = ["apples", "books", "candles", "drums", "eggs", "flutes", "globes", "hats", "inks", "jars"]
PLACES = ["market", "harbour", "library", "station", "museum", "school", "garden", "bakery"]
VERBS = ["buys", "sells", "paints", "counts", "carries", "sorts", "wraps", "weighs", "hides"]
SETTINGS = SplitSettings(held_out=0.3)


def story(draw: random.Random) -> str:
    def sentence() -> str:
        who, place = draw.choice(NAMES), draw.choice(PLACES)
        first, second = draw.sample(THINGS, 2)
        return (
            f"{who} {draw.choice(VERBS)} {draw.randint(2, 99)} {first} near the {place} "
            f"while {draw.choice(NAMES)} {draw.choice(VERBS)} {draw.randint(2, 99)} {second}."
        )

    return " ".join(sentence() for _ in range(4)) + f" Let x be the {draw.choice(THINGS)} left."


def task(text: str, **fields: object) -> Task:
    return Task(messages=(Message(role="user", content=text),), reference="1", **fields)


def stories(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [story(draw) for _ in range(count)]


def sides(division: Division) -> dict[str, str | None]:
    return {each.id: each.split for each in division.tasks}


def small_edit(text: str) -> str:
    return text.replace("while", "as", 1).replace("near the", "close to the", 1)


def reordered(text: str) -> str:
    shots = text.split(". ")
    return ". ".join([*shots[1:-1], shots[0], shots[-1]])


COPIES = {
    "small edits": small_edit,
    "renamed variables": lambda text: text.replace("Let x", "Let n"),
    "white space": lambda text: text.replace(" ", "  \n"),
    "case": str.upper,
    "reordered examples": reordered,
    "one number": lambda text: re.sub(r"\d+", "107", text, count=1),
    "a further sentence": lambda text: f"Solve this step by step. {text}",
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("seed", range(5))
def test_planted_near_duplicates_never_end_on_both_sides(kind: str, seed: int) -> None:
    texts = stories(150, seed)
    copies = [COPIES[kind](text) for text in texts]
    assert all(copy != text for copy, text in zip(copies, texts, strict=True))
    planted = [task(text, id=f"old-{n}") for n, text in enumerate(texts)]
    planted += [task(text, id=f"new-{n}") for n, text in enumerate(copies)]
    random.Random(seed).shuffle(planted)
    side = sides(split_tasks(planted, SETTINGS))
    assert [side[f"old-{n}"] for n in range(150)] == [side[f"new-{n}"] for n in range(150)]
    assert {side[f"old-{n}"] for n in range(150)} == {"train", "held-out"}


def test_masked_numbers_keep_tasks_of_one_template_together() -> None:
    sums = [
        task(f"Add {n} and {n + 3}, then double {n + 5}.", id=f"sum-{n}") for n in range(10, 40)
    ]
    others = [task(text, id=f"story-{n}") for n, text in enumerate(stories(60))]
    kept = sides(split_tasks(sums + others, SplitSettings(held_out=0.3)))
    masked = sides(split_tasks(sums + others, SplitSettings(held_out=0.3, numbers="mask")))
    assert len({kept[each.id] for each in sums}) == 2
    assert len({masked[each.id] for each in sums}) == 1


def test_holds_out_about_the_share_that_was_asked_for() -> None:
    division = split_tasks(map(task, stories(2000)), SplitSettings(held_out=0.1))
    assert len(division.tasks) == 2000
    assert 0.08 < division.share < 0.12  # four standard deviations: the side hangs on digests
    assert sum(division.counts.values()) == 2000


def test_further_tasks_move_none_of_the_old_ones() -> None:
    texts = stories(300)
    before = sides(split_tasks(map(task, texts[:150]), SETTINGS))
    after = sides(split_tasks(map(task, texts), SETTINGS))
    assert before.items() <= after.items()


def test_the_side_hangs_neither_on_order_nor_on_ids_nor_on_case() -> None:
    texts = stories(100)
    one = [each.split for each in split_tasks(map(task, texts), SETTINGS).tasks]
    other = [task(text.upper(), id=f"t{n}") for n, text in enumerate(texts)]
    assert [each.split for each in split_tasks(other[::-1], SETTINGS).tasks][::-1] == one


def test_what_all_tasks_are_told_by_the_system_makes_none_alike() -> None:
    said = Message(role="system", content=" ".join(stories(3)))
    asked = [
        Task(messages=(said, Message(role="user", content=text)), reference="1")
        for text in stories(100)
    ]
    assert split_tasks(asked, SETTINGS).clusters == []


def test_files_tell_tasks_apart() -> None:
    asked = [
        task("Fix it.", id=f"t{n}", files={"a.txt": text}) for n, text in enumerate(stories(50))
    ]
    assert split_tasks(asked, SETTINGS).clusters == []


def test_keeps_the_sides_of_before_where_it_should() -> None:
    texts = stories(100)
    old = [
        task(text, id=f"t{n}", split="held-out" if n % 2 else "train")
        for n, text in enumerate(texts)
    ]
    kept = split_tasks(old, SplitSettings(held_out=0.3, keep=True))
    assert [each.split for each in kept.tasks] == [each.split for each in old]
    assert kept.moved == []


def test_a_cluster_that_was_on_both_sides_is_trained_on() -> None:
    first, *texts = stories(100)
    old = [
        task(first, id="a", split="held-out"),
        task(first.upper(), id="b", split="train"),
        *map(task, texts),
    ]
    division = split_tasks(old, SplitSettings(held_out=0.3, keep=True))
    assert {sides(division)[each] for each in "ab"} == {"train"}
    assert division.moved == ["a"]


def test_a_task_that_is_repeated_is_kept_once() -> None:
    texts = stories(50)
    again = task(texts[0], metadata={"row": 7})
    division = split_tasks([*map(task, texts), again], SETTINGS)
    assert (len(division.tasks), division.repeated) == (50, 1)


def test_refuses_two_contents_under_one_id() -> None:
    with pytest.raises(UsageError, match="Two tasks are called `t` and differ .* task 2"):
        split_tasks([task("one", id="t"), task("two", id="t")], SETTINGS)


def test_refuses_no_task() -> None:
    with pytest.raises(UsageError, match="no task to split"):
        split_tasks([], SETTINGS)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_refuses_a_share_that_leaves_a_side_empty(share: float) -> None:
    with pytest.raises(UsageError, match="lies between 0 and 1"):
        SplitSettings(held_out=share)


def test_refuses_one_giant_cluster_and_says_what_to_do() -> None:
    (base,) = stories(1)
    alike = [task(f"{base} Number {n}.", id=f"t{n}") for n in range(40)]
    with pytest.raises(UsageError, match="40 of 40 tasks are one cluster .* Raise `--threshold`"):
        split_tasks(alike, SETTINGS)


def test_refuses_too_few_tasks_for_the_share() -> None:
    with pytest.raises(UsageError, match="There are 2 clusters .* add tasks"):
        split_tasks(map(task, stories(2)), SplitSettings(held_out=0.001))


def test_writes_both_sides_and_a_report(tmp_path) -> None:
    texts = stories(80)
    asked = [task(text, domain="odd" if n % 2 else "even") for n, text in enumerate(texts)]
    asked.append(task(texts[0].upper(), domain="even"))
    division = split_tasks(asked, SETTINGS)
    train, held, report = write_split(division, tmp_path / "out")
    rows = {
        path: [read_task(row) for row in path.read_bytes().splitlines()] for path in (train, held)
    }
    assert [len(rows[train]), len(rows[held])] == list(division.counts.values())
    assert {each.split for each in rows[held]} == {"held-out"}
    told = json.loads(report.read_bytes())
    assert told["domains"]["even"]["train"] + told["domains"]["even"]["held-out"] == 41
    assert (told["clusters"], told["clustered"]) == (1, 2)
    assert told["largest"][0]["tasks"] == [asked[0].id, asked[-1].id]


def test_refuses_a_folder_that_is_a_file(tmp_path) -> None:
    (tmp_path / "out").write_text("")
    division = split_tasks(map(task, stories(80)), SETTINGS)
    with pytest.raises(UsageError, match="is a file"):
        write_split(division, tmp_path / "out")
