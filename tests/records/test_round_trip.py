"""Every record survives being written as JSON and read again."""

from hypothesis import given
from hypothesis import strategies as st

from rewardhub.records import (
    Message,
    Observation,
    Part,
    PolicyInfo,
    Reward,
    Score,
    SpanReward,
    SpecInfo,
    Step,
    StepValue,
    Task,
    ToolCall,
    Trajectory,
    read_reward,
    read_score,
    read_task,
    read_trajectory,
    write_record,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
UNIT = st.floats(0, 1)
POSITIVE = st.none() | st.floats(0, 1e9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOAT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
FAULT = st.sampled_from(["task", "grader", "infrastructure"])

CALLS = st.lists(st.builds(ToolCall, id=TEXT, name=TEXT, arguments=TEXT, parsed=JSON), max_size=2)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
        content=TEXT | st.lists(OBJECT, max_size=2),
        name=st.none() | TEXT,
        tool_calls=CALLS,
        tool_call_id=st.none() | TEXT,
    ),
    max_size=3,
)
TASKS = st.builds(
    Task,
    id=TEXT,
    domain=TEXT,
    messages=MESSAGES,
    tools=st.lists(OBJECT, max_size=2),
    reference=JSON,
    checks=OBJECT,
    files=st.dictionaries(TEXT, TEXT, max_size=2),
    environment=st.none() | OBJECT,
    split=st.none() | TEXT,
    metadata=OBJECT,
)
STEPS = st.lists(
    st.builds(
        Step,
        text=TEXT,
        reasoning=st.none() | TEXT,
        tool_calls=CALLS,
        observations=st.lists(
            st.builds(
                Observation,
                call_id=TEXT,
                content=TEXT,
                error=st.none() | TEXT,
                exit_code=st.none() | st.integers(-255, 255),
            ),
            max_size=2,
        ),
        seconds=POSITIVE,
        tokens=st.none() | st.integers(0, 10**9),
        cost=POSITIVE,
        state=JSON,
    ),
    min_size=1,
    max_size=3,
)
TRAJECTORIES = st.builds(
    Trajectory,
    id=TEXT,
    task=TASKS,
    group=TEXT,
    group_size=st.none() | st.integers(1, 64),
    steps=STEPS,
    status=st.sampled_from(["completed", "truncated"]),
    reason=TEXT,
    artifacts=OBJECT,
    policy=st.none() | st.builds(PolicyInfo, name=TEXT, version=TEXT),
    seconds=POSITIVE,
    metadata=OBJECT,
) | st.builds(
    Trajectory,
    task=TASKS,
    status=st.just("broken"),
    fault=FAULT,
    reason=st.text(st.characters(codec="utf-8"), min_size=1, max_size=5),
)
STEP_VALUES = st.builds(
    StepValue,
    step=st.integers(0, 9),
    value=st.none() | UNIT,
    start=st.none(),
    end=st.none(),
    field=st.sampled_from(["text", "reasoning"]),
    reason=TEXT,
) | st.builds(StepValue, st.integers(0, 9), UNIT, st.integers(0, 5), st.integers(5, 9))
SCORES = st.one_of(
    st.builds(
        Score.of,
        UNIT,
        TEXT,
        step_values=st.lists(STEP_VALUES, max_size=2),
        metrics=st.dictionaries(TEXT, FLOAT, max_size=2),
        evidence=OBJECT,
        cost=st.floats(0, 10),
    ),
    st.builds(Score.abstain, TEXT, evidence=OBJECT),
    st.builds(Score.fail, TEXT, fault=st.sampled_from(["grader", "infrastructure"])),
)
SPECS = st.builds(SpecInfo, name=TEXT, version=TEXT, digest=TEXT)


@st.composite
def rewards(draw):
    parts = st.builds(Part, TEXT, TEXT, FLOAT, st.none() | SCORES, st.none(), TEXT)
    drawn = tuple(draw(st.lists(parts, max_size=2)))
    spec = draw(SPECS)
    if draw(st.booleans()):
        return Reward.unscored(draw(FAULT), draw(TEXT), parts=drawn, spec=spec)
    steps = draw(st.lists(st.floats(-1, 1), min_size=1, max_size=4))
    spans = st.builds(SpanReward, st.integers(0, 3), st.integers(0, 4), st.integers(4, 9), FLOAT)
    return Reward(
        sum(steps),
        draw(st.none() | st.booleans()),
        reason=draw(TEXT),
        step_rewards=tuple(steps),
        span_rewards=tuple(draw(st.lists(spans, max_size=2))),
        unplaced=draw(st.floats(-1, 1)),
        parts=drawn,
        decided_by=draw(st.none() | TEXT),
        spec=spec,
    )


@given(TASKS)
def test_a_task_loses_nothing(task):
    back = read_task(task.to_json())
    assert back == task
    assert back.digest == task.digest


@given(TRAJECTORIES)
def test_a_trajectory_loses_nothing(trajectory):
    assert read_trajectory(trajectory.to_json()) == trajectory


@given(SCORES)
def test_a_score_loses_nothing(score):
    assert read_score(write_record(score)) == score


@given(rewards())
def test_a_reward_loses_nothing(reward):
    assert read_reward(write_record(reward)) == reward


@given(TRAJECTORIES)
def test_a_record_is_one_line(trajectory):
    assert b"\n" not in trajectory.to_json()


@given(st.text())
def test_any_text_can_be_written(text):
    trajectory = Trajectory(task=Task(reference=text), steps=(Step(text=text),))
    back = read_trajectory(trajectory.to_json())
    assert back.final_text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
