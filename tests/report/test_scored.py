"""Runs as a stream: rows, pairs and groups, and inputs that are not what they were."""

import json
import tracemalloc

import pytest

from rewardhub.errors import LedgerError, UnknownNameError, UsageError
from rewardhub.host import registry_of
from rewardhub.records import Reward
from rewardhub.report.scored import open_run
from rewardhub.testing import make_trajectory

REGISTRY = registry_of()
RIGHT = Reward(1.0, True, step_rewards=(1.0,))


def attempt(name, task="t", *, domain="", group=""):
    asked = {"prompt": f"Do {task}.", "domain": domain}
    return make_trajectory(f"text of {name}", **asked, id=name, group=group or task)


def attempts(*names, **fields):
    return [(attempt(name, **fields), RIGHT) for name in names]


def ids(pairs):
    return [pair.row.id for pair in pairs]


def texts(pairs):
    return [pair.trajectory.final_text for pair in pairs]


def test_rows_come_in_the_order_of_the_ledger(write_run):
    run = open_run(write_run(*attempts("a", "b", "c"), order=[2, 0, 1]), REGISTRY)
    assert [row.id for row in run.rows()] == ["c", "a", "b"]


def test_rows_hold_the_reward_as_it_was_written(write_run):
    reward = Reward(0.25, False, step_rewards=(0.25,), reason="so it is")
    run = open_run(write_run((attempt("a"), reward)), REGISTRY)
    assert [row.reward for row in run.rows()] == [reward]


def test_a_torn_last_line_is_left_out(write_run):
    folder = write_run(*attempts("a", "b"))
    ledger = folder / "rewards.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-5])
    assert [row.id for row in open_run(folder, REGISTRY).rows()] == ["a"]


def test_a_damaged_line_is_an_error(write_run):
    folder = write_run(*attempts("a"))
    with (folder / "rewards.jsonl").open("ab") as ledger:
        ledger.write(b'{"id":"b"}\n')
    with pytest.raises(LedgerError, match="is damaged: a line is no scored attempt"):
        list(open_run(folder, REGISTRY).rows())


def test_counts_the_domains(write_run):
    pairs = [*attempts("a", domain="x"), *attempts("b"), *attempts("c", domain="x")]
    assert open_run(write_run(*pairs), REGISTRY).domains() == {"x": 2, "": 1}


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
@pytest.mark.parametrize("inputs", [1, 2])
def test_each_attempt_comes_with_its_own_row(write_run, inputs, order):
    folder = write_run(*attempts("a", "b", "c", "d"), inputs=inputs, order=order)
    pairs = list(open_run(folder, REGISTRY).pairs())
    assert ids(pairs) == ["abcd"[place] for place in order]
    assert texts(pairs) == [f"text of {'abcd'[place]}" for place in order]


def test_a_run_that_was_interrupted_is_read_as_far_as_it_goes(write_run):
    folder = write_run(*attempts("a", "b", "c"), order=[0, 1])
    assert ids(open_run(folder, REGISTRY).pairs()) == ["a", "b"]


@pytest.mark.parametrize("way", ["rows", "pairs", "groups"])
def test_one_domain_by_itself(write_run, way):
    pairs = [*attempts("a", domain="x"), *attempts("b", domain="y"), *attempts("c", domain="x")]
    found = getattr(open_run(write_run(*pairs), REGISTRY), way)(domain="x")
    flat = [each for group in found for each in group] if way == "groups" else list(found)
    assert [each.id if way == "rows" else each.row.id for each in flat] == ["a", "c"]


def test_groups_that_stand_together(write_run):
    pairs = [*attempts("a", "b", task="t"), *attempts("c", task="u")]
    groups = list(open_run(write_run(*pairs), REGISTRY).groups())
    assert [ids(group) for group in groups] == [["a", "b"], ["c"]]


def test_groups_that_do_not_stand_together(write_run):
    pairs = [*attempts("a", task="t"), *attempts("b", task="u"), *attempts("c", task="t")]
    groups = list(open_run(write_run(*pairs), REGISTRY).groups())
    assert [ids(group) for group in groups] == [["a", "c"], ["b"]]
    assert texts(groups[0]) == ["text of a", "text of c"]


def test_a_task_holds_the_attempts_of_all_its_groups(write_run):
    pairs = [*attempts("a", "b", group="one"), *attempts("c", group="two")]
    run = open_run(write_run(*pairs), REGISTRY)
    assert [ids(group) for group in run.groups()] == [["a", "b"], ["c"]]
    assert [ids(group) for group in run.groups("task")] == [["a", "b", "c"]]


def test_equal_task_ids_of_two_domains_are_two_tasks(write_run):
    first = make_trajectory("x", domain="x", id="a").task.replace(id="1")
    pairs = [
        (make_trajectory("x", task=first, id="a"), RIGHT),
        (make_trajectory("x", task=first.replace(domain="y"), id="b"), RIGHT),
    ]
    run = open_run(write_run(*pairs), REGISTRY)
    assert [ids(group) for group in run.groups("task")] == [["a"], ["b"]]


def test_an_input_that_is_gone_is_named(write_run, tmp_path):
    folder = write_run(*attempts("a"))
    (tmp_path / "run-0.jsonl").unlink()
    with pytest.raises(UsageError, match=r"The input `.*run-0\.jsonl` of the run `.*` is gone"):
        next(open_run(folder, REGISTRY).pairs())


def test_a_row_that_has_changed_is_named(write_run, tmp_path):
    folder = write_run(*attempts("a", "b"))
    path = tmp_path / "run-0.jsonl"
    path.write_text(path.read_text().replace("text of b", "text of z"))
    pairs = open_run(folder, REGISTRY).pairs()
    assert next(pairs).row.id == "a"
    with pytest.raises(UsageError, match=r"Row 2 of `.*run-0\.jsonl` is not the one that was"):
        next(pairs)


def test_an_input_that_became_shorter_is_named(write_run, tmp_path):
    folder = write_run(*attempts("a", "b"))
    path = tmp_path / "run-0.jsonl"
    path.write_text(path.read_text().partition("\n")[0] + "\n")
    with pytest.raises(UsageError, match=r"Row 2 of `.*run-0\.jsonl` is not the one"):
        list(open_run(folder, REGISTRY).groups())


def test_rows_need_no_input(write_run, tmp_path):
    folder = write_run(*attempts("a"))
    (tmp_path / "run-0.jsonl").unlink()
    assert [row.id for row in open_run(folder, REGISTRY).rows()] == ["a"]


def test_a_reader_that_is_not_installed_is_named(write_run):
    folder = write_run(*attempts("a"))
    described = json.loads((folder / "run.json").read_text())
    described["inputs"][0]["reader"] = "nativ"
    (folder / "run.json").write_text(json.dumps(described))
    with pytest.raises(UnknownNameError, match="Did you mean `native`"):
        next(open_run(folder, REGISTRY).pairs())


def test_a_relative_input_begins_at_the_folder(write_run, tmp_path):
    folder = write_run(*attempts("a"))
    (tmp_path / "run-0.jsonl").rename(folder / "attempts.jsonl")
    described = json.loads((folder / "run.json").read_text())
    described["inputs"][0]["path"] = "attempts.jsonl"
    (folder / "run.json").write_text(json.dumps(described))
    assert ids(open_run(folder, REGISTRY).pairs()) == ["a"]


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_refuses_what_is_no_run(tmp_path, name):
    with pytest.raises(UsageError, match="name the one that `rewardhub score` tells"):
        open_run(tmp_path / name)


def peak_of(run):
    tracemalloc.start()
    for group in run.groups():
        assert group
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_run(write_run, tmp_path):
    """Groups of two whose members are far apart; sqlite's memory is bounded by its settings."""

    def run(name, count):
        pairs = [
            (make_trajectory("x" * 2000, prompt=f"{task}", id=f"{task}-{turn}"), RIGHT)
            for turn in range(2)
            for task in range(count)
        ]
        return open_run(write_run(*pairs, name=name), REGISTRY)

    small, large = run("small", 10), run("large", 1000)
    growth = peak_of(large) - peak_of(small)
    assert growth < (tmp_path / "large-0.jsonl").stat().st_size / 8
