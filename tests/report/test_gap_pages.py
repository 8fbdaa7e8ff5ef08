"""The gap report as people see it."""

import io

import pytest

from rewardhub.host import registry_of
from rewardhub.records import Reward
from rewardhub.report.console import console_for
from rewardhub.report.gap import gap_of
from rewardhub.report.gap_pages import gap_markdown, show_gap
from rewardhub.report.scored import open_run
from rewardhub.testing import make_task, make_trajectory

EVIDENCE = (
    "6 of 6 unsuccessful attempts (0 of 5 successful ones): it ended without a final text "
    "[no-answer], as odd|one-1, odd|one-2, odd|one-3"
)


@pytest.fixture
def report(write_run):
    def pairs():
        for task, successes in (("easy", 4), ("odd|one", 1), ("lost", 0)):
            asked = make_task(f"Do {task}.", id=task)
            for number in range(4):
                success = number < successes
                reward = Reward(float(success), success, step_rewards=(float(success),))
                if task == "lost" and number == 3:
                    reward = Reward.unscored("task", "no reference")
                reply = f"yes {number}" if success else ""
                yield make_trajectory(reply, task=asked, id=f"{task}-{number}"), reward

    return gap_of(open_run(write_run(*pairs()), registry_of()))


def shown(report, tasks=20):
    stream = io.StringIO()
    show_gap(console_for(stream), report, tasks=tasks)
    return stream.getvalue().splitlines()


def test_shows_domains_evidence_and_the_hardest_tasks(report):
    assert [" ".join(line.split()) for line in shown(report)] == [
        "a/b: 3 tasks, 12 attempts",
        "",
        "Domain Tasks Attempts Unjudged pass@1 pass@2 majority@2 Deficit",
        "(no domain) 3 12 1 0.417 [unknown] 0.500 [unknown] 0.750 [unknown] unknown",
        "",
        "(no domain): unknown",
        "1 attempt left out (task 1)",
        "Signs in unsuccessful attempts, mean over tasks: usage 100%, behaviour 0%, knowledge 0%",
        EVIDENCE,
        "By task: none 1, usage 2",
        "Sample more attempts for each task (8 or more), or look at examples by hand.",
        "",
        "Hardest tasks (2 of 3)",
        "Task Domain Judged pass@1 pass@2 majority@2 Deficit Evidence",
        "lost (no domain) 3 0.000 [0.000, 0.561] 0.000 - usage no-answer 3 of 3",
        "odd|one (no domain) 4 0.250 [0.046, 0.699] 0.500 0.500 usage no-answer 3 of 3",
    ]


def test_lists_as_many_tasks_as_are_asked_for(report):
    assert [line for line in shown(report, tasks=1) if line.startswith("  odd|one")] == []
    assert "Hardest" not in "\n".join(shown(report, tasks=0))


def test_markdown_has_the_same_and_breaks_no_table(report):
    lines = gap_markdown(report, tasks=20).splitlines()
    assert lines[0] == "# a/b: 3 tasks, 12 attempts"
    assert "## (no domain): unknown" in lines
    (row,) = [line for line in lines if line.startswith("| odd")]
    assert row == (
        r"| odd\|one | (no domain) | 4 | 0.250 [0.046, 0.699] | 0.500 | 0.500 | usage "
        "| no-answer 3 of 3 |"
    )


def test_json_has_every_task(report):
    told = report.to_json()
    assert [task["task"] for task in told["tasks"]] == ["easy", "odd|one", "lost"]
    assert told["tasks"][2]["evidence"][0]["examples"] == ["lost-0", "lost-1", "lost-2"]
    assert told["domains"][0]["unjudged"] == {"task": 1}
