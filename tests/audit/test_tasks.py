"""Answers whose worth is known: where the reward disagrees, the task or the spec is wrong."""

import pytest

from rewardhub.audit.task_files import TaskRow
from rewardhub.audit.tasks import TaskCheck
from rewardhub.contracts import Grader, GroupGrader
from rewardhub.engine import Engine
from rewardhub.errors import TaskError
from rewardhub.host import AttackCard, GraderCard, registry_of
from rewardhub.records import Message, Score, Task


class Holds(Grader):
    """Whether the answer holds the reference."""

    def grade(self, trajectory):
        if trajectory.task.reference == "?":
            raise TaskError("unclear")
        return Score.of(str(trajectory.task.reference) in trajectory.final_text, "looked")


class Alone(GroupGrader):
    """Full marks where nobody else is in the group."""

    def grade_group(self, trajectories):
        return [len(trajectories) == 1 for _ in trajectories]


REGISTRY = registry_of(
    GraderCard(name="x/holds", grader=Holds), GraderCard(name="x/alone", grader=Alone)
)


def spec(*graders, success="holds == 1"):
    stages = [{"name": "outcome", "graders": [{"use": grader} for grader in graders]}]
    return {"rewardhub": 1, "name": "x/y", "range": [0, 1], "success": success, "stages": stages}


@pytest.fixture
def check():
    def run(*tasks, graders=("x/holds",), success="holds == 1", **options):
        rows = [
            task if isinstance(task, TaskRow) else TaskRow(number, task)
            for number, task in enumerate(tasks, 1)
        ]
        with Engine(spec(*graders, success=success), registry=REGISTRY, workers=1) as engine:
            trial = TaskCheck(engine, **options)
            return [(each.row, each.trial, each.message) for each in trial.problems(rows)], trial

    return run


def task(prompt="Ask.", reference="right", **fields):
    return Task(messages=(Message(role="user", content=prompt),), reference=reference, **fields)


def test_a_sound_task_has_no_problem(check):
    problems, trial = check(task())
    assert problems == []
    assert (trial.counts.tasks, trial.counts.without_reference) == (1, 0)


def test_a_prompt_that_gives_the_answer_away_is_a_problem(check):
    problems, _ = check(task(), task("Say right."))
    assert problems == [(2, "prompt copy", "the prompt copy earns success: `holds` 1 (looked)")]


def test_a_reference_that_earns_nothing_is_a_problem(check):
    problems, _ = check(task(), answer="wrong")
    assert problems == [(1, "reference", "the reference earns no success: `holds` 0 (looked)")]


def test_a_task_that_cannot_be_graded_is_told_once(check):
    ((row, trial, message),), _ = check(task(reference="?"))
    assert (row, trial) == (1, "reference")
    assert message.startswith("the reference is unscored (fault: task): ")


def test_an_answer_that_nobody_needs_to_know_is_a_problem(check):
    problems, _ = check(task(reference=""))
    assert [trial for _, trial, _ in problems] == ["empty answer", "no-op", "prompt copy"]


def test_not_knowing_may_be_the_right_answer(check):
    assert check(task(reference="I don't know."))[0] == []


def test_a_number_is_an_answer(check):
    assert check(task(reference=42))[0] == []


@pytest.mark.parametrize("reference", [None, True, ["a"], {"a": 1}])
def test_what_is_no_answer_is_counted(check, reference):
    problems, trial = check(task(reference=reference))
    assert problems == []
    assert trial.counts.without_reference == 1


def test_attacks_of_the_domain_must_fail(check):
    def attack(each):
        yield f"It is not {each.reference}."

    card = AttackCard(name="negation", attack=attack, domains=("talk",))
    problems, _ = check(task(domain="talk"), task(domain="math"), attacks=[card])
    assert [(row, trial) for row, trial, _ in problems] == [(1, "negation")]


def test_an_attack_that_breaks_is_told(check):
    def attack(_each):
        yield "harmless"
        raise ValueError("oops")

    problems, _ = check(task(), attacks=[AttackCard(name="broken", attack=attack)])
    assert problems == [(1, "broken", "the attack `broken` broke: ValueError: oops")]


def test_rows_without_a_task_are_told_in_their_order(check):
    problems, trial = check(
        TaskRow(1, None, "no JSON"), task("Say right."), TaskRow(3, None, "no row")
    )
    assert [row for row, _, _ in problems] == [1, 2, 3]
    assert trial.counts.tasks == 1


def test_answers_are_not_compared_with_each_other(check):
    problems, _ = check(task(), graders=("x/holds", "x/alone"), success="min(holds, alone) == 1")
    assert problems == []
