from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import Field

from rewardhub.contracts import Grader
from rewardhub.host import GraderCard, Registry, registry_of
from rewardhub.records import Trajectory
from rewardhub.spec import Route, Spec, load, show

TEXT = """
resources: {sandbox: {use: local, max_calls: 5}}
success: unit_tests == 1
stages:
  - name: gate
    gate: {below: 0.5, reward: -1}
    graders: [{use: math/same-number}]
  - name: outcome
    weight: 0.9
    formula: min(unit_tests, spent)
    graders:
      - {use: code/unit-tests, when: same_number >= 0.9}
      - {use: cost/steps, as: spent, options: {budget: 7}, limits: {wall_seconds: null}}
  - name: more
    weight: -0.25
    steps: min
    graders: [{use: agent/valid-calls}]
"""


@pytest.fixture
def spec(parsed: Callable[[str], Spec]) -> Spec:
    return parsed(TEXT)


def test_what_is_shown_loads_as_the_same_spec(spec: Spec, registry: Registry) -> None:
    Path("shown.yaml").write_text(show(spec), encoding="utf-8")
    again = load("shown.yaml", registry)
    assert again.digest == spec.digest
    assert show(again) == show(spec)


def test_shows_every_default(spec: Spec) -> None:
    assert show(spec).splitlines() == [
        "rewardhub: 1",
        "name: own/spec",
        "version: '1'",
        "range: [-1.0, 1.0]",
        "success: unit_tests == 1",
        "resources:",
        "  sandbox: {use: local, max_calls: 5, level: 1}",
        "stages:",
        "- name: gate",
        "  weight: 0.0",
        "  gate: {below: 0.5, reward: -1.0}",
        "  combine: mean",
        "  optional: false",
        "  monotone: true",
        "  graders:",
        "  - use: math/same-number",
        "    as: same_number",
        "    weight: 1.0",
        "    optional: false",
        "    options: {}",
        "    bind: {}",
        "    limits: {cpu_seconds: 10.0, wall_seconds: 60.0, memory_mb: 2048}",
        "- name: outcome",
        "  weight: 0.9",
        "  combine: formula",
        '  formula: "min(unit_tests, spent)"',
        "  optional: false",
        "  monotone: true",
        "  graders:",
        "  - use: code/unit-tests",
        "    as: unit_tests",
        "    weight: 1.0",
        "    when: same_number >= 0.9",
        "    optional: false",
        "    options: {timeout: 30.0}",
        "    bind: {sandbox: sandbox}",
        "    limits: {cpu_seconds: 10.0, wall_seconds: 60.0, memory_mb: 2048}",
        "  - use: cost/steps",
        "    as: spent",
        "    weight: 1.0",
        "    optional: false",
        "    options:",
        "      budget: 7",
        "      unit: steps",
        "      strict: false",
        "      weights: []",
        "    bind: {}",
        "    limits: {cpu_seconds: 10.0, wall_seconds: null, memory_mb: 2048}",
        "- name: more",
        "  weight: -0.25",
        "  combine: mean",
        "  steps: min",
        "  optional: false",
        "  monotone: true",
        "  graders:",
        "  - use: agent/valid-calls",
        "    as: valid_calls",
        "    weight: 1.0",
        "    optional: false",
        "    options: {}",
        "    bind: {}",
        "    limits: {cpu_seconds: 10.0, wall_seconds: 60.0, memory_mb: 2048}",
        "credit: last",
        "training: {unscored_reward: 0.0, stop_above: 0.2}",
    ]


def test_a_secret_is_shown_as_its_variable(
    parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-hidden-17")
    text = show(
        parsed(
            "resources: {judge: {use: openai, model: m, api_key: {env: JUDGE_KEY}}}\n"
            "stages: [{name: outcome, graders: [{use: judge/criteria}]}]"
        )
    )
    assert "api_key: {env: JUDGE_KEY}" in text
    assert "sk-hidden-17" not in text


def test_a_route_is_shown_with_its_specs(
    spec: Spec, registry: Registry, write: Callable[..., str]
) -> None:
    write(
        "rewardhub: 1\nname: o\nstages: [{name: outcome, graders: [{use: judge/rank}]}]\n", "o.yaml"
    )
    name = write(
        "rewardhub: 1\nroute: {by: task.domain, a: spec.yaml, b: o.yaml, default: spec.yaml}\n",
        "route.yaml",
    )
    route = load(name, registry)
    assert isinstance(route, Route)
    Path("elsewhere").mkdir()
    Path("elsewhere/shown.yaml").write_text(show(route), encoding="utf-8")
    assert load("elsewhere/shown.yaml", registry).digest == route.digest


Lists = dict[str, list[float | str | bool | None]]


class Wordy(Grader):
    text: str = ""
    lists: Lists = Field(default_factory=dict[str, list[float | str | bool | None]])

    def grade(self, trajectory: Trajectory) -> float:
        return 1.0


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
SCALARS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), TEXTS, st.booleans(), st.none()
)


@example("\x85\u2028", {"\u2029": ["a\n b", "\x07", "- #", "?0", "-"]})
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=TEXTS, lists=st.dictionaries(TEXTS, st.lists(SCALARS, max_size=3), max_size=3))
def test_any_option_survives_being_shown(
    folder: Path, text: str, lists: dict[str, list[object]]
) -> None:
    registry = registry_of(GraderCard(name="own/wordy", grader=Wordy))
    options = {"text": text, "lists": lists}
    spec = load(
        {
            "rewardhub": 1,
            "name": "own/spec",
            "stages": [{"name": "outcome", "graders": [{"use": "own/wordy", "options": options}]}],
        },
        registry,
    )
    (folder / "shown.yaml").write_text(show(spec), encoding="utf-8", newline="")
    assert load("shown.yaml", registry).digest == spec.digest
