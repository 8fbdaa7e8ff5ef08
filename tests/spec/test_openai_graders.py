"""OpenAI grader JSON as reward specs."""

import json
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Engine
from rewardhub.errors import SpecError
from rewardhub.host import registry_of
from rewardhub.spec import RewardSpec, check, load
from rewardhub.spec.load import Checked
from rewardhub.testing import make_trajectory

TEXT, REFERENCE = "{{ sample.output_text }}", "{{ item.reference }}"


def string_check(**fields: Any) -> dict[str, Any]:
    grader = {"type": "string_check", "name": "Same city", "operation": "eq"}
    return grader | {"input": TEXT, "reference": REFERENCE} | fields


def multi(formula: str, **graders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi", "name": "both", "graders": graders, "calculate_output": formula}


def checked(folder: Path, grader: dict[str, Any]) -> Checked:
    path = folder / "grader.json"
    path.write_text(json.dumps(grader, indent=2))
    return check(path, registry_of())


def loaded(folder: Path, grader: dict[str, Any]) -> RewardSpec:
    path = folder / "grader.json"
    path.write_text(json.dumps(grader, indent=2))
    return load(path, registry_of())


def mistakes(folder: Path, grader: dict[str, Any]) -> str:
    found = checked(folder, grader)
    assert found.spec is None
    assert all(mistake.line for mistake in found.mistakes)
    return "\n".join(mistake.message for mistake in found.mistakes)


def reward(spec: RewardSpec, reply: str, **task: Any) -> tuple[float | None, bool | None]:
    with Engine(spec) as engine:
        found = engine.score(make_trajectory(reply, **task))
    return found.value, found.success


def test_a_string_check_is_the_outcome(tmp_path: Path) -> None:
    spec = loaded(tmp_path, string_check())
    assert reward(spec, "Rome", reference="Rome") == (1.0, True)
    assert reward(spec, "Milan", reference="Rome") == (0.0, False)


def test_a_task_without_the_named_field_gets_no_reward(tmp_path: Path) -> None:
    spec = loaded(tmp_path, string_check(reference="{{ item.city }}"))
    assert reward(spec, "Rome", reference="Rome") == (None, None)


def test_a_multi_grader_is_a_formula_over_its_graders(tmp_path: Path) -> None:
    contains = string_check(operation="ilike", name="contains")
    spec = loaded(tmp_path, multi("0.75 * same + 0.25 * near", same=string_check(), near=contains))
    assert reward(spec, "It is Rome.", reference="Rome") == (0.25, False)
    assert reward(spec, "Rome", reference="Rome") == (1.0, True)


def test_the_threshold_decides_success(tmp_path: Path) -> None:
    contains = string_check(operation="ilike", name="contains")
    grader = multi("0.75 * same + 0.25 * near", same=string_check(), near=contains)
    spec = loaded(tmp_path, grader | {"pass_threshold": 0.2})
    assert reward(spec, "It is Rome.", reference="Rome") == (0.25, True)


def test_one_grader_may_stand_in_a_multi_without_a_name(tmp_path: Path) -> None:
    grader = multi("1 * Same_city") | {"graders": string_check()}
    assert reward(loaded(tmp_path, grader), "Rome", reference="Rome") == (1.0, True)


def test_a_text_similarity_is_the_outcome(tmp_path: Path) -> None:
    pytest.importorskip("rapidfuzz")
    grader = string_check(type="text_similarity", evaluation_metric="fuzzy_match")
    del grader["operation"]
    spec = loaded(tmp_path, grader | {"pass_threshold": 0.7})
    assert reward(spec, "abcd", reference="abcx") == (0.75, True)


@pytest.mark.parametrize(
    ("grader", "why"),
    [
        ({"type": "score_model", "name": "a"}, "A `score_model` grader asks a model for a score"),
        ({"type": "label_model", "name": "a"}, "A `label_model` grader asks a model for a label"),
        ({"type": "python", "name": "a", "source": "x"}, "A `python` grader runs code of its own"),
        ({"type": "endpoint"}, "A `endpoint` grader asks a server of yours"),
        ({"type": "other"}, "A `other` grader is not known here"),
        ({"type": 5}, "The `type` of a grader is text, not 5"),
        ({"type": "multi"}, "A `multi` grader has `graders`"),
        (multi("a", a=multi("b")), "A `multi` grader stands inside of another one"),
        (multi("a"), "A `multi` grader has `graders`"),
        ({**multi("a", a=string_check()), "calculate_output": 5}, "has `calculate_output`"),
        (multi("floor(a)", a=string_check()), "uses `floor`"),
        (multi("a ^ 2", a=string_check()), "uses `^`"),
        (multi("a % 2", a=string_check()), "uses `%`"),
        (multi("2 * a", a=string_check()), "0 to 2"),
        (multi("a + b", a=string_check()), "`b`"),
        (multi("1 - a", a=string_check()), "monotone"),
        (multi("a", **{"no name": string_check()}), "`no name` is no name"),
        (string_check(operation="is"), "operation"),
        (string_check(input="{{ sample.choices }}"), "sample.choices"),
        (string_check(colour="red"), "`colour` of a `string_check` grader is not known"),
        ({"type": "string_check", "name": "a"}, "A `string_check` grader has `input`"),
        (string_check(pass_threshold="high"), "`pass_threshold` is a number"),
        (string_check(type="text_similarity", evaluation_metric="cosine"), "`operation`"),
    ],
)
def test_refuses_by_name_what_a_spec_cannot_say(
    grader: dict[str, Any], why: str, tmp_path: Path
) -> None:
    assert why in mistakes(tmp_path, grader)


@pytest.mark.parametrize("metric", ["cosine", "meteor"])
def test_refuses_metrics_that_need_more_than_a_package(metric: str, tmp_path: Path) -> None:
    grader = string_check(type="text_similarity", evaluation_metric=metric)
    del grader["operation"]
    assert f"`{metric}` needs" in mistakes(tmp_path, grader)


def test_finds_all_mistakes_of_a_multi_at_once(tmp_path: Path) -> None:
    grader = multi("floor(a) + b", a={"type": "python"}, b={"type": "label_model"})
    assert len(checked(tmp_path, grader).mistakes) == 3


def test_a_reward_spec_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("name: a\ntype: b\nstages: []\n")
    with pytest.raises(SpecError, match="`rewardhub: 1`"):
        load(path, registry_of())
