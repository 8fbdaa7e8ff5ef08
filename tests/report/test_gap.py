"""The gap: rates by task and by domain, and which deficit a run shows."""

import pytest

from rewardhub.errors import UsageError
from rewardhub.host import registry_of
from rewardhub.records import Reward
from rewardhub.report.gap import gap_of
from rewardhub.report.gap_rules import Thresholds, thresholds_of
from rewardhub.report.scored import open_run
from rewardhub.report.statistics import Vote, majority_at_k, wilson
from rewardhub.testing import make_trajectory

TOOLS = ({"name": "ls"},)


def reward_of(success):
    if success is None:
        return Reward.unscored("infrastructure", "the sandbox broke")
    return Reward(float(success), success, step_rewards=(float(success),))


def attempts(task, *outcomes, domain="x", **fields):
    """Return attempts at a task; an outcome is success and reply, or success alone."""
    for number, outcome in enumerate(outcomes):
        success, reply = outcome if isinstance(outcome, tuple) else (outcome, f"no {number}")
        asked = {"prompt": f"Do {task}.", "domain": domain, "reference": "Lisbon"}
        attempt = make_trajectory(reply, id=f"{task}-{number}", **(asked | fields))
        yield attempt, reward_of(success)


@pytest.fixture
def gap(write_run):
    def report(*pairs, **options):
        return gap_of(open_run(write_run(*pairs), registry_of()), **options)

    return report


def finding_of(report):
    (task,) = report.tasks
    return task.finding


def signs(finding):
    return {each.sign: each.count for each in finding.evidence}


# --- rates --------------------------------------------------------------------------------------


def test_a_task_has_its_rates(gap):
    (task,) = gap(*attempts("a", True, True, False, False, False, False, False, False)).tasks
    assert (task.attempts, task.judged, task.succeeded) == (8, 8, 2)
    assert task.pass_at_1 == 0.25
    assert task.interval == wilson(2, 8)
    assert task.pass_at_k == 1.0


def test_k_is_the_largest_power_of_two_that_nine_in_ten_tasks_allow(gap):
    nine = [pair for each in range(9) for pair in attempts(f"t{each}", *[False] * 5)]
    report = gap(*nine, *attempts("last", False))
    assert report.k == 4
    assert report.tasks[-1].pass_at_k is None
    assert report.domains[0].pass_at_k.tasks == 9


def test_k_can_be_said(gap):
    (task,) = gap(*attempts("a", True, False, False, False), k=2).tasks
    assert task.pass_at_k == pytest.approx(0.5)


def test_a_k_that_no_task_has_attempts_for_gives_no_rate(gap):
    report = gap(*attempts("a", True, False), k=8)
    assert report.domains[0].pass_at_k.to_json() == {"value": None, "interval": None, "tasks": 0}


def test_one_attempt_for_each_task_gives_pass_at_1_alone(gap):
    pairs = [pair for each in range(12) for pair in attempts(f"t{each}", each % 3 == 0)]
    report = gap(*pairs)
    assert report.k is None
    assert report.domains[0].pass_at_1.value == pytest.approx(1 / 3)
    assert report.domains[0].pass_at_k.value is None
    assert {task.finding.verdict for task in report.tasks} == {"unknown"}


def test_a_domain_counts_each_task_once(gap):
    report = gap(*attempts("a", True), *attempts("b", *[False] * 9))
    assert report.domains[0].pass_at_1.value == 0.5


def test_the_interval_of_few_tasks_is_unknown(gap):
    report = gap(*attempts("a", True), *attempts("b", False))
    assert report.domains[0].pass_at_1.interval is None


def test_unscored_attempts_are_left_out_and_counted(gap):
    report = gap(*attempts("a", True, None, False, None))
    (domain,) = report.domains
    assert (domain.attempts, domain.judged) == (4, 2)
    assert domain.unjudged == {"infrastructure": 2}
    assert report.tasks[0].pass_at_1 == 0.5


def test_a_task_without_a_judged_attempt_has_no_rate(gap):
    report = gap(*attempts("a", True), *attempts("b", None))
    assert report.tasks[1].pass_at_1 is None
    assert report.tasks[1].finding.verdict == "unknown"
    assert report.domains[0].pass_at_1.tasks == 1


def test_domains_are_told_apart(gap):
    report = gap(
        *attempts("b", False, domain="y"), *attempts("c", True, domain=""), *attempts("a", True)
    )
    assert [(each.domain, each.pass_at_1.value) for each in report.domains] == [
        ("", 1.0), ("x", 1.0), ("y", 0.0),
    ]  # fmt: skip


def test_the_majority_is_over_equal_answers(gap):
    outcomes = [(True, "Answer: 4"), (True, "4.0"), (False, "5"), (False, "6")]
    (task,) = gap(*attempts("a", *outcomes)).tasks
    assert task.majority_at_k == 1.0


def test_the_majority_of_fewer_draws_is_exact(gap):
    outcomes = [(True, "4"), (True, "4"), (False, "5"), (False, "x" * 500)]
    (task,) = gap(*attempts("a", *outcomes), k=2).tasks
    assert task.majority_at_k == majority_at_k([Vote(2, 1.0), Vote(1, 0.0)], 1, 2)


def test_without_answers_there_is_no_majority(gap):
    (task,) = gap(*attempts("a", (True, "x" * 500), (False, "y" * 500))).tasks
    assert task.pass_at_k == 1.0
    assert task.majority_at_k is None


def test_attempts_of_a_task_need_not_stand_together(gap):
    one, other = list(attempts("a", True, False)), list(attempts("b", True, True))
    report = gap(one[0], other[0], one[1], other[1])
    assert [(task.task, task.pass_at_1) for task in report.tasks] == [
        (one[0][0].task.id, 0.5), (other[0][0].task.id, 1.0),
    ]  # fmt: skip


# --- deficits -----------------------------------------------------------------------------------


def test_knowledge_no_try_comes_near(gap):
    finding = finding_of(gap(*attempts("a", *[False] * 8)))
    assert (finding.verdict, signs(finding)) == ("knowledge", {"beyond-reach": 8})
    assert "SFT on demonstrations" in finding.suggestions[0]
    assert finding.evidence[0].examples == ["a-0", "a-1", "a-2"]


def test_few_tries_do_not_prove_a_lack_of_knowledge(gap):
    assert finding_of(gap(*attempts("a", *[False] * 7))).verdict == "unknown"


def test_a_reference_that_came_up_is_within_reach(gap):
    found = (False, [{"text": "Porto", "reasoning": "Lisbon? No."}])
    finding = finding_of(gap(*attempts("a", found, *[False] * 7)))
    assert (finding.verdict, signs(finding)) == ("unknown", {"reached-unused": 1})


def test_behaviour_k_tries_beat_one_by_far(gap):
    finding = finding_of(gap(*attempts("a", True, True, *[False] * 6)))
    assert (finding.verdict, signs(finding)) == ("behaviour", {"others-succeed": 6})
    assert "RL" in finding.suggestions[0]


def test_behaviour_loops(gap):
    turn = {"tool_calls": [{"name": "ls"}], "observations": [{"content": "a"}]}
    loops = [(False, [turn, turn, turn, "x"])] * 4
    finding = finding_of(gap(*attempts("a", *loops, tools=TOOLS)))
    assert (finding.verdict, signs(finding)) == ("behaviour", {"loop": 4})


def test_behaviour_stops_far_earlier_than_successes(gap):
    long, short = (True, ["one", "two", "three", "four"]), (False, ["one", "done"])
    finding = finding_of(gap(*attempts("a", long, long, long, short, short, short)))
    assert signs(finding)["stopped-early"] == 3


def test_usage_cut_off(gap):
    report = gap(*attempts("a", *[False] * 4, status="truncated"))
    finding = finding_of(report)
    assert (finding.verdict, signs(finding)) == ("usage", {"truncated": 4})
    assert any("longer budget" in each for each in finding.suggestions)


def test_what_is_cut_off_proves_no_lack_of_knowledge(gap):
    finding = finding_of(gap(*attempts("a", *[False] * 8, status="truncated")))
    assert finding.deficits == ("usage",)


def test_mixed_several_deficits_hold(gap):
    empty, wrong = (False, ""), False
    finding = finding_of(gap(*attempts("a", *[empty] * 20, *[wrong] * 20)))
    assert finding.verdict == "mixed"
    assert finding.deficits == ("usage", "knowledge")
    assert signs(finding) == {"no-answer": 20, "beyond-reach": 20}


def test_none_every_attempt_succeeds(gap):
    assert finding_of(gap(*attempts("a", True, True, True))).verdict == "none"


def test_two_successes_prove_nothing(gap):
    assert finding_of(gap(*attempts("a", True, True))).verdict == "unknown"


def test_unknown_tells_what_was_seen(gap):
    finding = finding_of(gap(*attempts("a", (False, ""), True)))
    assert (finding.verdict, signs(finding)) == ("unknown", {"no-answer": 1})


def test_a_sign_is_counted_among_successes_too(gap):
    outcomes = [(True, ""), *[(False, "")] * 3]
    (evidence,) = finding_of(gap(*attempts("a", *outcomes))).evidence
    assert (evidence.count, evidence.of, evidence.count_successful, evidence.of_successful) == (
        3, 3, 1, 1,
    )  # fmt: skip


def test_a_domain_is_judged_by_its_tasks(gap):
    pairs = [pair for each in range(6) for pair in attempts(f"t{each}", (False, ""), True)]
    (domain,) = gap(*pairs).domains
    assert domain.finding.verdict == "usage"
    assert domain.finding.shares["usage"] == 1.0
    assert domain.verdicts == {"unknown": 6}


def test_many_attempts_at_one_task_do_not_speak_for_the_domain(gap):
    (domain,) = gap(*attempts("a", *[(False, "")] * 40)).domains
    assert domain.verdicts == {"usage": 1}
    assert domain.finding.verdict == "unknown"


def test_thresholds_move_the_verdict(gap):
    pairs = list(attempts("a", *[False] * 4))
    limits = Thresholds(beyond_after=4)
    assert finding_of(gap(*pairs, thresholds=limits)).verdict == "knowledge"


# --- bad input ----------------------------------------------------------------------------------


def test_an_empty_run_is_refused(gap):
    with pytest.raises(UsageError, match="is empty: nothing was scored"):
        gap()


def test_a_run_without_success_is_refused(gap):
    attempt = make_trajectory("5", prompt="?")
    with pytest.raises(UsageError, match="has a success: .* Say `success:` in the spec"):
        gap((attempt, Reward(0.5, None, step_rewards=(0.5,))))


def test_a_run_whose_input_has_changed_is_refused(gap, write_run, tmp_path):
    folder = write_run(*attempts("a", True))
    (tmp_path / "run-0.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="the file has changed since"):
        gap_of(open_run(folder, registry_of()))


def test_thresholds_are_read_from_text():
    assert thresholds_of(["least=5", "holds=0.5"]) == Thresholds(least=5, holds=0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leest=5", "Did you mean `least`"),
        ("least", "write NAME=VALUE"),
        ("least=x", "`--set least=x`: .*integer"),
        ("holds=2", "`--set holds=2`: .*less than 1"),
    ],
)
def test_a_threshold_that_cannot_be_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        thresholds_of([text])
