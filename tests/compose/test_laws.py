"""The laws of the reward arithmetic, over random specs and Scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from rewardhub.host import Registry
from rewardhub.records import Reward, Score, StepValue, Task
from rewardhub.spec import Route, Spec, load

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]
Stages = list[dict[str, Any]]

TOLERANCE = 1e-9
LAW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])

VALUES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
COMBINE = st.sampled_from(["mean", "min", "max", "product", "cascade", "formula"])
RULES = st.sampled_from(["mean", "min", "last", "product"])
WEIGHTS = st.sampled_from([0.125, 0.5, 1.0, 3.0])
CONDITIONS = ("{} == 1", "{} >= 0.5", "{} > 0", "{} + {} >= 1", "{} > 0 and {} == 1")
FORMULAS = ("min({0}, {1})", "max({0}, {1})", "0.25 * {0} + 0.75 * {1}", "{0} * {1}")


@st.composite
def _stages(draw: DrawFn) -> Stages:
    """Return stages with every feature that a spec may have, and that keeps its rules."""
    readable: list[str] = []
    stages: Stages = []
    for number in range(draw(st.integers(1, 3))):
        stage = draw(_stage(number, tuple(readable)))
        stages.append(stage)
        ids = [entry["as"] for entry in stage["graders"]]
        # What a cascade skips counts as 0, so that a condition on it can fall as another part
        # rises: conditions read the first part of a cascade only.
        readable += ids[:1] if stage.get("combine") == "cascade" else ids
    # No gate may pay more than passing it can, and who passes it may fail a later one.
    floor = sum(stage["weight"] for stage in stages if stage["weight"] < 0)
    for stage in reversed(stages):
        if "gate" in stage:
            floor -= draw(st.sampled_from([0.0, 0.5]))
            stage["gate"]["reward"] = floor
    return stages


@st.composite
def _stage(draw: DrawFn, number: int, readable: tuple[str, ...]) -> dict[str, Any]:
    combine = draw(COMBINE)
    count = 2 if combine == "formula" else draw(st.integers(1, 3))
    gate = draw(st.booleans())
    weight = draw(WEIGHTS) * draw(st.sampled_from([1, 1, -1]))
    forgiving = not gate and weight > 0
    stage: dict[str, Any] = {"name": f"s{number}", "weight": weight, "graders": []}
    for part in range(count):
        entry: dict[str, Any] = {"as": f"p{number}{part}", "weight": draw(WEIGHTS)}
        own = [each["as"] for each in stage["graders"]]
        names = [*readable, *(own[:1] if combine == "cascade" else own)]
        waits: bool = draw(st.booleans())
        if names and waits:
            condition = draw(st.sampled_from(CONDITIONS))
            entry["when"] = condition.format(*(draw(st.sampled_from(names)) for _ in range(2)))
        if forgiving and draw(st.booleans()):
            entry["optional"] = True
        stage["graders"].append(entry)
    if combine == "formula":
        stage["formula"] = draw(st.sampled_from(FORMULAS)).format(f"p{number}0", f"p{number}1")
    else:
        stage["combine"] = combine
    if draw(st.booleans()):
        stage["steps"] = draw(RULES)
    if gate:
        stage["gate"] = {"below": draw(st.sampled_from([0.25, 0.5, 1.0]))}
    elif forgiving and draw(st.booleans()):
        stage["optional"] = True
    return stage


@cache
def _graded(steps: int) -> SearchStrategy[Score]:
    places = st.tuples(st.integers(0, steps - 1), st.none() | VALUES, st.none() | st.integers(0, 9))
    return st.tuples(VALUES, st.lists(places, max_size=3)).map(lambda drawn: _score(*drawn))


def _score(value: float, places: list[tuple[int, float | None, int | None]]) -> Score:
    values = [
        StepValue(step, each, start, None if start is None else start + 3)
        for step, each, start in places
    ]
    return Score.of(value, step_values=values)


@cache
def _any_score(steps: int) -> SearchStrategy[Score]:
    graded = _graded(steps)
    return st.one_of(graded, graded, graded, st.sampled_from(WITHOUT_A_VALUE))


@cache
def _low(_steps: int) -> SearchStrategy[Score]:
    """Scores that close most gates."""
    low = st.sampled_from([0.0, 0.25]).map(Score.of)
    return st.one_of(low, low, low, st.sampled_from(WITHOUT_A_VALUE))


WITHOUT_A_VALUE = (
    Score.abstain("no reference"),
    Score.fail("it broke", fault="grader"),
    Score.fail("it broke", fault="infrastructure"),
)


@st.composite
def _cases(
    draw: DrawFn, scores: Callable[[int], SearchStrategy[Score]] = _any_score
) -> tuple[Stages, dict[str, Score], int, str]:
    """Return stages, a Score for each part, the number of steps, and what credit says."""
    stages = draw(_stages())
    steps = draw(st.integers(1, 3))
    ids = [entry["as"] for stage in stages for entry in stage["graders"]]
    return stages, {part: draw(scores(steps)) for part in ids}, steps, draw(CREDIT)


CREDIT = st.sampled_from(["last", "spread"])


# --- range ----------------------------------------------------------------------------------------


@LAW
@given(case=_cases())
def test_a_reward_lies_in_the_reachable_range_or_is_a_gates(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    if reward.value is None:
        return
    if reward.decided_by is not None:
        (gate,) = (each["gate"] for each in stages if each["name"] == reward.decided_by)
        assert reward.value == gate["reward"]
        return
    least = sum(stage["weight"] for stage in stages if stage["weight"] < 0)
    most = sum(stage["weight"] for stage in stages if stage["weight"] > 0)
    assert least - TOLERANCE <= reward.value <= most + TOLERANCE


# --- decomposition --------------------------------------------------------------------------------


@LAW
@given(case=_cases())
def test_step_rewards_add_up_to_the_value(case: Any, make_spec: MakeSpec, finish: Finish) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    if reward.value is None:
        assert (reward.step_rewards, reward.span_rewards, reward.unplaced) == ((), (), 0.0)
        return
    assert len(reward.step_rewards) == steps
    assert abs(math.fsum(reward.step_rewards) - reward.value) <= TOLERANCE


@LAW
@given(case=_cases())
def test_contributions_add_up_to_the_value(case: Any, make_spec: MakeSpec, finish: Finish) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    contributions = [part.contribution for part in reward.parts]
    if reward.value is None or reward.decided_by is not None:
        assert set(contributions) == {None if reward.value is None else 0.0}
        return
    unsaid = {stage["name"] for stage in stages if _lands_by_credit(stage)}
    for part in reward.parts:
        left_out = part.status in {"abstained", "failed"}
        by_formula = part.stage in unsaid and not left_out and not _adds_nothing(part, reward)
        assert (part.contribution is None) == by_formula
    if not unsaid:
        assert math.fsum(c or 0.0 for c in contributions) == _near(reward.value)


def _lands_by_credit(stage: Mapping[str, Any]) -> bool:
    return "formula" in stage or stage.get("combine") == "product"


def _adds_nothing(part: Any, reward: Reward) -> bool:
    """Whether the part's stage, which is optional, has no value."""
    siblings = [each for each in reward.parts if each.stage == part.stage]
    return all(each.contribution == 0.0 for each in siblings)


def _near(value: float) -> Any:
    return pytest.approx(value, abs=TOLERANCE)


@LAW
@given(
    rule=RULES,
    weight=WEIGHTS.flatmap(lambda weight: st.sampled_from([weight, -weight])),
    spans=st.lists(st.tuples(st.integers(0, 2), VALUES), min_size=1, max_size=6),
)
def test_spans_of_a_step_add_up_to_its_share(
    rule: str, weight: float, spans: list[tuple[int, float]], make_spec: MakeSpec, finish: Finish
) -> None:
    values = [StepValue(step, value, 2 * n, 2 * n + 1) for n, (step, value) in enumerate(spans)]
    spec = make_spec({"steps": rule, "weight": weight, "graders": ["a"]})
    reward = finish(spec, {"a": Score.of(0.5, step_values=values)}, steps=3)
    for step, share in enumerate(reward.step_rewards):
        own = math.fsum(each.value for each in reward.span_rewards if each.step == step)
        assert own == _near(share)


# --- monotonicity ---------------------------------------------------------------------------------


@st.composite
def _better(draw: DrawFn, score: Score) -> Score:
    """Return the same Score with some of its values raised."""
    assert score.value is not None
    raised = [
        StepValue(each.step, _raised(draw, each.value), each.start, each.end)
        for each in score.step_values
    ]
    return Score.of(_raised(draw, score.value) or 0.0, step_values=raised)


def _raised(draw: DrawFn, value: float | None) -> float | None:
    if value is None:
        return None
    return draw(st.sampled_from([value, 1.0]) | st.floats(value, 1.0))


@LAW
@given(case=_cases(_graded), data=st.data())
def test_a_better_value_never_lowers_the_reward(
    case: Any, data: st.DataObject, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    spec = make_spec(*stages, credit=credit)
    part = data.draw(st.sampled_from(sorted(scores)), "the part that gets better")
    better = {**scores, part: data.draw(_better(scores[part]), "its better Score")}
    before, after = finish(spec, scores, steps), finish(spec, better, steps)
    assert before.value is not None
    assert after.value is not None
    assert after.value >= before.value - TOLERANCE


@LAW
@given(case=_cases(_graded), data=st.data())
def test_a_better_value_never_takes_success_away(
    case: Any, data: st.DataObject, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    spec = make_spec(*stages, credit=credit)
    part = data.draw(st.sampled_from(sorted(scores)), "the part that gets better")
    better = {**scores, part: data.draw(_better(scores[part]), "its better Score")}
    before, after = finish(spec, scores, steps), finish(spec, better, steps)
    assert after.success or not before.success


# --- what has no value ----------------------------------------------------------------------------


@LAW
@given(case=_cases())
def test_a_reward_is_never_a_number_where_a_grader_broke_unless_a_gate_decided(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    broke = any(part.score is not None and part.score.fault == "grader" for part in reward.parts)
    if broke and reward.decided_by is None:
        assert reward.value is None


@LAW
@given(case=_cases(_graded))
def test_a_skipped_part_counts_as_if_it_were_graded_zero(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    skipped = {part.id for part in reward.parts if part.status == "skipped"}
    if reward.decided_by is not None or any(each.get("combine") == "cascade" for each in stages):
        return
    bare = [
        {**stage, "graders": [_unconditional(entry) for entry in stage["graders"]]}
        for stage in stages
    ]
    zeroed = {part: Score.of(0.0) if part in skipped else scores[part] for part in scores}
    again = finish(make_spec(*bare, credit=credit), zeroed, steps)
    assert again.value == _near(reward.value or 0.0)


def _unconditional(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "when"}


@LAW
@given(
    values=st.lists(VALUES, min_size=1, max_size=3),
    combine=st.sampled_from(["mean", "min", "max", "product", "cascade"]),
    weight=WEIGHTS.flatmap(lambda weight: st.sampled_from([weight, -weight])),
    place=st.integers(0, 3),
)
def test_a_part_that_abstains_counts_as_if_it_were_not_there(
    values: list[float],
    combine: str,
    weight: float,
    place: int,
    make_spec: MakeSpec,
    finish: Finish,
) -> None:
    ids = [f"p{number}" for number in range(len(values))]
    more = [*ids[:place], "absent", *ids[place:]]
    scores: dict[str, Any] = dict(zip(ids, values, strict=True))
    stage = {"combine": combine, "weight": weight}
    with_it = make_spec({**stage, "graders": more}, success="p0 == 1")
    without = make_spec({**stage, "graders": ids}, success="p0 == 1")
    there = finish(with_it, {**scores, "absent": Score.abstain("no reference")})
    assert there.value == _near(finish(without, scores).value or 0.0)
    assert there.part("absent").contribution in {0.0, None}


@LAW
@given(case=_cases())
def test_a_fault_is_that_of_a_part_that_has_it(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    faults = {part.score.fault for part in reward.parts if part.score is not None}
    assert reward.fault is None or reward.fault in faults


# --- gates ----------------------------------------------------------------------------------------


@LAW
@given(case=_cases(_low))
def test_a_gate_that_closes_hides_all_that_is_behind_it(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    asked: list[str] = []
    reward = finish(make_spec(*stages, credit=credit), scores, steps, asked=asked)
    if reward.decided_by is None:
        return
    names = [stage["name"] for stage in stages]
    behind = names[names.index(reward.decided_by) + 1 :]
    for part in reward.parts:
        assert part.contribution == 0.0
        assert part.stage not in behind or (part.status == "skipped" and part.id not in asked)
    assert reward.success is False
    assert reward.step_rewards == (0.0,) * (steps - 1) + (reward.value,)
    assert reward.unplaced == reward.value


@LAW
@given(case=_cases(_graded))
def test_passing_a_gate_never_pays_less_than_failing_it(
    case: Any, make_spec: MakeSpec, finish: Finish
) -> None:
    stages, scores, steps, credit = case
    reward = finish(make_spec(*stages, credit=credit), scores, steps)
    names = [stage["name"] for stage in stages]
    until = len(names) if reward.decided_by is None else names.index(reward.decided_by)
    passed = [stage["gate"]["reward"] for stage in stages[:until] if "gate" in stage]
    assert reward.value is not None
    assert all(reward.value >= paid - TOLERANCE for paid in passed)


# --- routes ---------------------------------------------------------------------------------------

DOMAINS = ("math", "code", "default")


@LAW
@given(
    specs=st.tuples(_stages(), _stages(), _stages()),
    domain=st.sampled_from(DOMAINS) | st.text(max_size=5),
)
def test_a_route_is_the_spec_that_it_leads_to(
    specs: tuple[Stages, Stages, Stages], domain: str, make_spec: MakeSpec, registry: Registry
) -> None:
    made = {name: make_spec(*stages) for name, stages in zip(DOMAINS, specs, strict=True)}
    raw = {name: dict(spec.raw) for name, spec in made.items()}
    route = load({"rewardhub": 1, "route": {"by": "task.domain", **raw}}, registry)
    assert isinstance(route, Route)
    picked = route.spec_for(Task(domain=domain))
    assert picked is not None
    assert picked.digest == made.get(domain, made["default"]).digest
