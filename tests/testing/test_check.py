"""`check_cases`: every mistake at once, each with file, line and fix."""

import itertools
import json
import threading
from collections.abc import Mapping

import pytest
from pydantic import BaseModel, PrivateAttr

from rewardhub import BatchGrader, Grader, GraderCard, GroupGrader, Judge, TaskError, Workers
from rewardhub.testing import check_cases, fake_judge, fake_sandbox, registry_of


class Same(Grader):
    """Full marks for the reference, half for another case of it, nothing for anything else."""

    half: float = 0.5

    def grade(self, trajectory):
        reference = trajectory.task.reference
        if not isinstance(reference, str):
            raise TaskError("the reference is no text")
        if trajectory.final_text == reference:
            return 1.0
        return self.half if trajectory.final_text.lower() == reference.lower() else 0.0


SAME = GraderCard(name="test/same", grader=Same)
FULL = {"kind": "full", "why": "it is the same", "trajectory": {"reply": "A", "reference": "A"}}
ZERO = {"kind": "zero", "why": "it differs", "trajectory": {"reply": "B", "reference": "A"}}
HALF = {"kind": "partial", "why": "small", "trajectory": {"reply": "a", "reference": "A"}}
EXPLOIT = {"kind": "exploit", "why": "says both", "trajectory": {"reply": "A B", "reference": "A"}}
BROKEN = {"reply": "", "status": "broken", "fault": "task", "reason": "gone"}


@pytest.fixture
def check(tmp_path):
    """Write cases (of the one grader unless they say another) and check them."""

    def checked(cards, *cases, complete=True, **arguments):
        cards = cards if isinstance(cards, list) else [cards]
        named = [{"grader": cards[0].name, **case} for case in cases]
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(json.dumps(case) for case in named))
        missing = {"full", "zero", "exploit"} - {case["kind"] for case in cases}
        waive = {(cards[0].name, kind): "elsewhere" for kind in missing} if complete else {}
        waive |= arguments.pop("waive", {})
        check_cases(path, registry_of(*cards), waive=waive, **arguments)

    return checked


def lines_of(excinfo):
    return str(excinfo.value).splitlines()[1:]


def test_accepts_a_file_of_right_cases(check):
    check(
        SAME,
        FULL,
        ZERO,
        EXPLOIT,
        {**HALF, "value": 0.5},
        {**HALF, "options": {"half": 0.7}, "between": [0.6, 0.8]},
        {"kind": "abstain", "why": "w", "trajectory": {"reply": "a", "reference": 7}},
        {"kind": "malformed_record", "why": "w", "trajectory": {"reply": "a"}},
        {"kind": "malformed_answer", "why": "w", "trajectory": {"reply": "", "reference": "A"}},
    )


@pytest.mark.parametrize(
    ("case", "expected", "got"),
    [
        ({**ZERO, "kind": "full"}, "expected graded 1", "got graded 0"),
        ({**FULL, "kind": "zero"}, "expected graded 0", "got graded 1"),
        ({**FULL, "kind": "exploit"}, "expected graded 0", "got graded 1"),
        ({**FULL, "kind": "exploit", "at_most": 0.5}, "expected graded between 0 and 0.5", "1"),
        ({**FULL, "kind": "partial", "value": 0.5}, "expected graded 0.5", "got graded 1"),
        ({**FULL, "kind": "abstain"}, "expected abstained", "got graded 1"),
        ({**ZERO, "kind": "malformed_record"}, "expected failed or abstained", "got graded 0"),
        (
            {"kind": "malformed_answer", "why": "w", "trajectory": {"reply": "x"}},
            "expected graded 0",
            "got abstained, fault task (the reference is no text)",
        ),
    ],
)
def test_reports_what_was_expected_and_what_came(check, case, expected, got):
    with pytest.raises(AssertionError) as excinfo:
        check(SAME, case)
    (line,) = lines_of(excinfo)
    assert line.startswith("cases.jsonl:1: `test/same`")
    assert expected in line
    assert got in line
    assert line.endswith(".")


def test_reports_all_mistakes_at_once(check):
    with pytest.raises(AssertionError, match="3 mistakes") as excinfo:
        check(SAME, {**ZERO, "kind": "full"}, {"kind": "odd", "why": "w"}, {**FULL, "kind": "zero"})
    assert [line.split(":")[1] for line in lines_of(excinfo)] == ["1", "2", "3"]


def test_demands_each_kind_of_each_grader(check):
    with pytest.raises(AssertionError, match="has no exploit case") as excinfo:
        check(SAME, FULL, ZERO, complete=False)
    assert len(lines_of(excinfo)) == 1
    assert 'waive={("test/same", "exploit"): "..."}' in str(excinfo.value)


def test_takes_a_waived_kind_with_its_reason(check):
    check(SAME, FULL, ZERO, complete=False, waive={("test/same", "exploit"): "none is known"})


def test_refuses_a_waiver_without_a_reason(check):
    with pytest.raises(AssertionError, match="has no exploit case"):
        check(SAME, FULL, ZERO, complete=False, waive={("test/same", "exploit"): ""})


def test_refuses_a_waiver_of_nothing(check):
    with pytest.raises(AssertionError, match="nothing is missing there"):
        check(SAME, FULL, ZERO, EXPLOIT, waive={("test/same", "full"): "hm"})


def test_refuses_an_empty_file(check):
    with pytest.raises(AssertionError, match="no case in this file"):
        check(SAME, complete=False)


def test_names_the_close_grader(check):
    with pytest.raises(AssertionError, match="Did you mean `test/same`"):
        check(SAME, FULL, ZERO, EXPLOIT, {**FULL, "grader": "test/sane"})


def test_reports_wrong_options(check):
    with pytest.raises(AssertionError, match="Did you mean `half`"):
        check(SAME, {**FULL, "options": {"halve": 0.5}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trajectory": {"prompt": "x"}}, "has a `task`, or it is short"),
        ({"trajectory": {"reply": "A", "referenc": "A"}}, "is not a field"),
        ({"trajectory": None}, "either `trajectory` or `group`"),
        ({"kind": "partial"}, "says `value` or `between`"),
        ({"value": 0.5}, "says `value` or `between`"),
        ({"at_most": 0.5}, "only an `exploit`"),
        ({"why": ""}, "at least 1 character"),
        ({"kynd": "full"}, "Did you mean `kind`"),
        ({"trajectory": BROKEN}, "no grader sees a broken trajectory"),
    ],
)
def test_explains_a_line_that_is_no_case(check, change, said):
    case = {name: value for name, value in {**FULL, **change}.items() if value is not None}
    with pytest.raises(AssertionError) as excinfo:
        check(SAME, FULL, case)
    assert said in lines_of(excinfo)[0]
    assert lines_of(excinfo)[0].startswith("cases.jsonl:2:")


def test_takes_a_whole_record(check):
    record = {"task": {"reference": "A"}, "steps": [{"text": "A"}]}
    check(SAME, {**FULL, "trajectory": record})


def test_finds_state_that_leaks_into_the_second_run(check):
    class Counts(Grader):
        _calls: itertools.count = PrivateAttr(default_factory=itertools.count)

        def grade(self, trajectory):
            return next(self._calls) == 0

    card = GraderCard(name="test/counts", grader=Counts)
    with pytest.raises(AssertionError, match=r"gave another Score the second time: value was 1.0"):
        check(card, FULL)


def test_finds_a_grader_that_works_in_one_thread_only(check):
    class Bound(Grader):
        def grade(self, trajectory):
            return threading.current_thread() is threading.main_thread()

    card = GraderCard(name="test/bound", grader=Bound)
    with pytest.raises(AssertionError, match="gave another Score beside itself"):
        check(card, FULL)


def test_lets_a_declared_chance_vary(check):
    class Chance(Grader):
        _calls: itertools.count = PrivateAttr(default_factory=itertools.count)

        def grade(self, trajectory):
            return next(self._calls) / 10 + 0.1

    card = GraderCard(name="test/chance", grader=Chance, deterministic=False)
    check(card, {**FULL, "kind": "partial", "value": 0.1})


def test_finds_an_undeclared_read(check):
    class Peeks(Grader):
        def grade(self, trajectory):
            return trajectory.task.metadata == {}

    with pytest.raises(AssertionError, match=r"task.metadata`, which its card does not list"):
        check(GraderCard(name="test/peeks", grader=Peeks), FULL)


def test_finds_checks_that_do_not_fit_the_model(check):
    class Rules(BaseModel):
        words: int

    class Any(Grader):
        def grade(self, trajectory):
            return 1.0

    card = GraderCard(name="test/any", grader=Any, checks={"rules": Rules})
    case = {**FULL, "trajectory": {"reply": "A", "checks": {"rules": {"words": "many"}}}}
    with pytest.raises(AssertionError, match="do not fit `test/any`: `rules`: `words`"):
        check(card, case)


class Asks(Grader):
    async def grade(self, trajectory, judge: Judge):
        reply = await judge.ask([{"role": "user", "content": trajectory.final_text}])
        return reply.text == "yes"


ASKS = GraderCard(name="test/asks", grader=Asks)


def test_prepares_a_judge_for_each_run(check):
    case = {**FULL, "resources": {"judge": ["yes"]}}
    check(ASKS, case, {**case, "kind": "zero", "resources": {"judge": ["no"]}})


def test_prepares_several_judges(check):
    class Panel(Grader):
        async def grade(self, trajectory, judges: Mapping[str, Judge]):
            replies = [(await judge.ask([])).text for judge in judges.values()]
            return replies == ["yes", "no"]

    case = {**FULL, "resources": {"judges": [["yes"], ["no"]]}}
    check(GraderCard(name="test/asks", grader=Panel), case)


def test_passes_given_resources_on(check):
    check(ASKS, FULL, judge=fake_judge(["yes"] * 3))


def test_says_which_resource_is_missing(check):
    with pytest.raises(AssertionError, match="asks for a judge as `judge`"):
        check(ASKS, FULL)


def test_refuses_to_prepare_what_nobody_asks_for(check):
    with pytest.raises(AssertionError, match="asks for no judge or sandbox by that name"):
        check(SAME, {**FULL, "resources": {"judge": ["yes"]}})


def test_leaves_out_resources_that_a_grader_does_not_ask_for(check):
    check(SAME, FULL, sandbox=fake_sandbox())


def test_stands_in_for_workers(check):
    class Calls(Grader):
        def grade(self, trajectory, workers: Workers):
            return workers.call(len, trajectory.final_text) == 1

    check(GraderCard(name="test/calls", grader=Calls), FULL)


class Longest(GroupGrader):
    def grade_group(self, trajectories):
        longest = max(len(each.final_text) for each in trajectories)
        return [len(each.final_text) == longest for each in trajectories]


class Lengths(BatchGrader):
    def grade_batch(self, trajectories):
        if any(each.final_text == "boom" for each in trajectories):
            raise ValueError("boom")
        return [len(each.final_text) / 10 for each in trajectories]


def test_grades_a_group_as_one(check):
    case = {"kind": "full", "why": "w", "group": [{"reply": "ab"}, {"reply": "a"}]}
    check(GraderCard(name="test/longest", grader=Longest), {**case, "expected": [1, 0]})


def test_names_the_member_that_is_wrong(check):
    case = {"kind": "full", "why": "w", "group": [{"reply": "ab"}, {"reply": "a"}]}
    with pytest.raises(AssertionError, match=r"full, member 1 \(w\): expected graded 1, got"):
        check(GraderCard(name="test/longest", grader=Longest), {**case, "expected": [1, 1]})


def test_finds_the_row_at_fault_in_a_batch(check):
    group = [{"reply": "ab"}, {"reply": "boom"}, {"reply": "abc"}]
    case = {"kind": "partial", "why": "w", "group": group, "expected": [0.2, "failed", [0.2, 0.4]]}
    check(GraderCard(name="test/lengths", grader=Lengths), case)


def test_finds_an_installed_grader_by_default(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({**FULL, "grader": "nowhere/nothing"}))
    with pytest.raises(AssertionError, match="No grader is called `nowhere/nothing`"):
        check_cases(path)
