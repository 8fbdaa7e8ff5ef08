"""Curricula: which tasks are trained on, in which band, and what is never trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.errors import UsageError
from rewardhub.export.curriculum import ASIDE, Settings, prompt_of
from rewardhub.export.difficulty import Prior
from rewardhub.testing import make_task

YES, NO = [True], [False]


def names(curriculum):
    return [[each.task for each in stage] for stage in curriculum.stages]


def aside(curriculum):
    return {each.task: each.aside for each in curriculum.aside}


def difficulty_of(curriculum, name):
    (found,) = [each for stage in curriculum.stages for each in stage if each.task == name]
    return found.difficulty


def test_bands_go_from_easy_to_hard(runs):
    made = runs.curriculum(
        (runs.task("hard"), YES + NO * 7), (runs.task("easy"), YES * 7 + NO),
        (runs.task("middle"), YES * 4 + NO * 4),
    )  # fmt: skip
    assert names(made) == [["easy"], ["middle"], ["hard"]]


def test_in_a_band_the_easier_come_first(runs):
    made = runs.curriculum(
        (runs.task("a"), YES + NO * 7), (runs.task("b"), YES * 3 + NO * 5), stages=1
    )
    assert names(made) == [["b", "a"]]


def test_eight_misses_do_not_prove_that_a_task_never_passes(runs):
    made = runs.curriculum((runs.task("a"), NO * 8), (runs.task("b"), YES * 8))
    assert made.aside == []


def test_many_misses_do(runs):
    made = runs.curriculum(
        (runs.task("never"), NO * 40), (runs.task("always"), YES * 40), (runs.task("b"), YES + NO)
    )
    assert aside(made) == {"never": "never", "always": "always"}


def test_how_sure_that_must_be_can_be_said(runs):
    tasks = [(runs.task("a"), NO * 8), (runs.task("b"), YES + NO)]
    assert aside(runs.curriculum(*tasks, sure=0.6)) == {"a": "never"}


@pytest.mark.parametrize("split", ["held-out", "test", "validation", "Train"])
def test_a_task_of_another_split_never_enters(runs, split):
    made = runs.curriculum((runs.task("a", split=split), YES + NO), (runs.task("b"), YES + NO))
    assert aside(made) == {"a": "held-out"}


@pytest.mark.parametrize("split", [None, "train", "training", ""])
def test_a_task_of_a_training_split_enters(runs, split):
    assert runs.curriculum((runs.task("a", split=split), YES + NO)).aside == []


def test_a_task_with_the_messages_of_a_held_out_one_never_enters(runs):
    made = runs.curriculum(
        (runs.task("a", prompt="same"), YES + NO),
        (runs.task("b", prompt="same", split="test"), YES + NO),
        (runs.task("c"), YES + NO),
    )
    assert aside(made) == {"a": "held-out", "b": "held-out"}


def test_what_a_later_run_holds_out_never_enters(runs):
    first = runs.write("one", (runs.task("a"), YES + NO), (runs.task("b"), YES + NO))
    later = runs.write("two", (runs.task("a", split="test"), YES + NO))
    assert aside(runs.of(first, later)) == {"a": "held-out"}


def test_attempts_without_success_tell_nothing(runs):
    made = runs.curriculum((runs.task("a"), [True, None, False, None]))
    assert difficulty_of(made, "a").pass_rate == 0.5
    assert (made.stages[1][0].attempts, made.stages[1][0].judged) == (4, 2)


def test_a_task_that_was_never_judged_is_set_aside(runs):
    made = runs.curriculum((runs.task("a"), [None, None]), (runs.task("b"), YES + NO))
    assert aside(made) == {"a": "unjudged"}


def test_one_attempt_for_each_task_is_enough_to_begin(runs):
    made = runs.curriculum((runs.task("a"), YES), (runs.task("b"), NO), stages=2)
    assert names(made) == [["a"], ["b"]]


def test_tasks_without_a_domain_enter(runs):
    assert names(runs.curriculum((runs.task("a", domain=""), YES + NO), stages=1)) == [["a"]]


def test_equal_ids_in_two_domains_are_two_tasks(runs):
    made = runs.curriculum(
        (runs.task("a", domain="x"), YES * 3 + NO), (runs.task("a", domain="y"), YES + NO * 3),
        stages=2,
    )  # fmt: skip
    assert [[each.domain for each in stage] for stage in made.stages] == [["x"], ["y"]]


def test_two_contents_under_one_id_are_set_aside(runs):
    made = runs.curriculum(
        (runs.task("a"), YES + NO), (runs.task("a", prompt="Other."), YES + NO),
        (runs.task("b"), YES + NO),
    )  # fmt: skip
    assert aside(made) == {"a": "two-contents"}


def test_a_prompt_with_images_is_set_aside(runs):
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {}}]
    image = runs.task("a", prompt="", messages=[{"role": "user", "content": parts}])
    made = runs.curriculum((image, YES + NO), (runs.task("b"), YES + NO))
    assert aside(made) == {"a": "no-text"}


def test_every_reason_is_explained(runs):
    made = runs.curriculum((runs.task("a"), [None]), (runs.task("b"), YES))
    assert all(each.aside in ASIDE for each in made.aside)


# --- several runs -------------------------------------------------------------------------------


def test_a_later_run_counts_for_more(runs):
    first, later = (
        runs.write("one", (runs.task("a"), NO * 8)), runs.write("two", (runs.task("a"), YES * 4)),
    )  # fmt: skip
    assert difficulty_of(runs.of(first, later, keep=0.5), "a").pass_rate == pytest.approx(4.5 / 9)
    assert difficulty_of(runs.of(later, first, keep=0.5), "a").pass_rate == pytest.approx(2.5 / 11)


def test_nothing_fades_where_all_is_kept(runs):
    first, later = (
        runs.write("one", (runs.task("a"), NO * 2)), runs.write("two", (runs.task("a"), YES * 2)),
    )  # fmt: skip
    assert difficulty_of(runs.of(first, later, keep=1.0), "a").pass_rate == 0.5


def test_what_a_later_run_lacks_becomes_less_sure(runs):
    first = runs.write("one", (runs.task("a"), NO * 40))
    later = runs.write("two", (runs.task("b"), YES + NO))
    assert aside(runs.of(first, later, keep=1.0)) == {"a": "never"}
    assert aside(runs.of(first, later, keep=0.2)) == {}


def test_a_task_whose_content_changed_begins_anew(runs):
    first = runs.write("one", (runs.task("a", reference="4"), NO * 8))
    later = runs.write("two", (runs.task("a", reference="5"), YES))
    made = runs.of(first, later)
    assert made.changed == 1
    assert difficulty_of(made, "a").pass_rate == 0.75


def test_a_new_split_is_no_other_content(runs):
    first = runs.write("one", (runs.task("a"), YES + NO))
    later = runs.write("two", (runs.task("a", split="train"), YES + NO))
    made = runs.of(first, later, keep=1.0)
    assert made.changed == 0
    assert difficulty_of(made, "a").a == 2.5


def test_the_same_runs_give_the_same_curriculum(runs):
    folders = [
        runs.write(name, *((runs.task(f"t{each}"), [each % 3 == 0, False]) for each in range(9)))
        for name in ("one", "two")
    ]
    assert names(runs.of(*folders)) == names(runs.of(*folders))


# --- bad input ----------------------------------------------------------------------------------


def test_a_run_that_is_named_twice_is_refused(runs):
    folder = runs.write("one", (runs.task("a"), YES))
    with pytest.raises(UsageError, match="is named twice"):
        runs.of(folder, folder)


def test_a_run_without_success_is_refused(runs):
    with pytest.raises(UsageError, match="Say `success:` in the spec"):
        runs.curriculum((runs.task("a"), [None]))


def test_no_runs_are_refused(runs):
    with pytest.raises(UsageError, match="at least one run"):
        runs.of()


def test_nothing_left_to_train_on_is_refused(runs):
    with pytest.raises(UsageError, match=r"No task is left to train on \(held-out 1, never 1\)"):
        runs.curriculum((runs.task("a"), NO * 40), (runs.task("b", split="test"), YES))


def test_an_input_that_has_changed_is_refused(runs, tmp_path):
    folder = runs.write("one", (runs.task("a"), YES))
    (tmp_path / "one-0.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="the file has changed since"):
        runs.of(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 1.5}, "`--keep 1.5`"),
        ({"stages": 0}, "`--stages 0`"),
        ({"never": 0.9, "always": 0.1}, "the first is the lower one"),
        ({"sure": 0.2}, "`--sure 0.2`"),
        ({"sure": 1.0}, "`--sure 1`"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        Settings(**settings)


def test_a_prompt_shows_what_a_policy_may_see():
    brief = {"role": "system", "content": "Be brief."}
    task = make_task("2 + 2 = ?", messages=[brief], reference="4")
    assert prompt_of(task) == [brief, {"role": "user", "content": "2 + 2 = ?"}]


@given(st.floats(0.01, 50), st.floats(0.01, 50))
def test_any_prior_can_be_set(a, b):
    assert Settings(prior=Prior(a, b)).to_json()["prior"] == [a, b]
