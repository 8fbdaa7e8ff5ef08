from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ruamel.yaml import YAML

from rewardhub.contracts import Grader, Judge, JudgeReply, Options, Usage
from rewardhub.host import Card, GraderCard, JudgeCard, registry_of
from rewardhub.records import Trajectory
from rewardhub.spec import Spec, check

MistakesOf = Callable[..., list[str]]
UNIT_TESTS = "stages: [{name: outcome, graders: [{use: code/unit-tests%s}]}]\n"
WHERE = "Stage `outcome`, grader `unit_tests`"


def bound(spec: Spec) -> dict[str, object]:
    return dict(next(spec.entries).bind)


def test_binds_a_parameter_to_the_resource_of_its_name(parsed: Callable[[str], Spec]) -> None:
    spec = parsed("resources: {other: {use: docker}, sandbox: {use: local}}\n" + UNIT_TESTS % "")
    assert bound(spec) == {"sandbox": "sandbox"}


def test_binds_a_parameter_to_the_only_resource_of_its_kind(
    parsed: Callable[[str], Spec],
) -> None:
    assert bound(parsed("resources: {box: {use: docker}}\n" + UNIT_TESTS % "")) == {
        "sandbox": "box"
    }


def test_binds_a_parameter_as_the_entry_says(parsed: Callable[[str], Spec]) -> None:
    resources = "resources: {box: {use: docker}, sandbox: {use: local}}\n"
    assert bound(parsed(resources + UNIT_TESTS % ", bind: {sandbox: box}")) == {"sandbox": "box"}


JUDGES = "resources: {one: {use: openai, model: a}, other: {use: openai, model: b}}\n"
PANEL = "stages: [{name: outcome, graders: [{use: jury/votes%s}]}]\n"


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("", ("one", "other")),
        (", bind: {judges: [other]}", ("other",)),
        (", bind: {judges: [other, one]}", ("other", "one")),
        (", bind: {judges: other}", ("other",)),
    ],
)
def test_binds_several_resources_to_one_parameter(
    parsed: Callable[[str], Spec], said: str, names: tuple[str, ...]
) -> None:
    assert bound(parsed(JUDGES + PANEL % said)) == {"judges": names}


@pytest.mark.parametrize(
    ("resources", "said", "message"),
    [
        (JUDGES, "judges: [one, ohter]", "there is no resource `ohter`. Did you mean `other`?"),
        (JUDGES, "judges: [one, one]", "`judges` names `one` twice."),
        (JUDGES, "judges: []", "`judges` is empty. Name the resources that it gets."),
        (
            "resources: {one: {use: openai, model: a}, box: {use: local}}\n",
            "judges: [one, box]",
            "`judges` is a judge, and the resource `box` is a sandbox. Known: `one`.",
        ),
    ],
)
def test_says_what_is_wrong_with_several_resources(
    mistakes: MistakesOf, resources: str, said: str, message: str
) -> None:
    found = [
        each for each in mistakes(resources + PANEL % f", bind: {{{said}}}") if "warn" not in each
    ]
    assert [each.partition("`bind`: ")[2] for each in found] == [message]


def test_a_parameter_for_one_resource_takes_no_list(mistakes: MistakesOf) -> None:
    resources = "resources: {a: {use: local}, b: {use: docker}}\n"
    found = mistakes(resources + UNIT_TESTS % ", bind: {sandbox: [a, b]}")
    assert any("`bind`: `sandbox` takes one resource, not a list." in each for each in found)


def test_a_panel_without_any_judge_is_a_mistake(mistakes: MistakesOf) -> None:
    (found,) = mistakes(PANEL % "")
    assert "`jury/votes` needs a judge for its parameter `judges`, and the spec has none" in found


def test_workers_need_no_resource(parsed: Callable[[str], Spec]) -> None:
    spec = parsed("stages: [{name: outcome, graders: [{use: math/equivalent}]}]")
    assert bound(spec) == {}


def test_keeps_what_is_the_engines_apart_from_the_options(parsed: Callable[[str], Spec]) -> None:
    spec = parsed(
        "resources: {sandbox: {use: local, max_concurrency: 4, max_per_minute: 90, max_calls: 7}}\n"
        + UNIT_TESTS % ""
    )
    entry = spec.resources["sandbox"]
    assert (entry.max_concurrency, entry.max_per_minute, entry.max_calls) == (4, 90.0, 7)
    assert entry.options == {"level": 1}


def test_a_name_of_two_kinds_is_told_by_the_parameter_that_needs_it(
    parsed: Callable[[str], Spec],
) -> None:
    spec = parsed("resources: {sandbox: {use: either}}\n" + UNIT_TESTS % "")
    assert spec.resources["sandbox"].resource.kind == "sandbox"


@pytest.mark.parametrize(
    ("resources", "fields", "message"),
    [
        (
            "{}",
            "",
            (
                "4:36: {where}: `code/unit-tests` needs a sandbox for its parameter `sandbox`, and "
                "the spec has none. Add it: `resources: {{sandbox: {{use: docker}}}}` (`docker`, "
                "`either`, `local` are installed)."
            ),
        ),
        (
            "{a: {use: local}, b: {use: docker}}",
            "",
            (
                "4:36: {where}: `code/unit-tests` needs a sandbox for its parameter `sandbox`, and "
                "it may be `a` or `b`. Say which: `bind: {{sandbox: a}}`."
            ),
        ),
        (
            "{sandbox: {use: openai, model: m}}",
            "",
            (
                "4:36: {where}: `code/unit-tests` needs a sandbox for its parameter `sandbox`, and "
                "the resource `sandbox` is a judge. Add it: `resources: {{sandbox: {{use: "
                "docker}}}}` (`docker`, `either`, `local` are installed)."
            ),
        ),
        (
            "{sandbox: {use: local}}",
            ", bind: {sandbox: sandbx}",
            "4:75: {where}: `bind`: there is no resource `sandbx`. Did you mean `sandbox`?",
        ),
        (
            "{sandbox: {use: local}, judge: {use: openai, model: m}}",
            ", bind: {sandbox: judge}",
            (
                "4:75: {where}: `bind`: `sandbox` is a sandbox, and the resource `judge` is a "
                "judge. Known: `sandbox`."
            ),
        ),
        (
            "{sandbox: {use: local}}",
            ", bind: {sandbx: sandbox}",
            (
                "4:66: {where}: `bind`: `code/unit-tests` has no parameter `sandbx` for a "
                "resource. Did you mean `sandbox`?"
            ),
        ),
        (
            "{sandbox: {use: lcal}}",
            "",
            "3:28: No sandbox is called `lcal` (resource `sandbox`). Did you mean `local`?",
        ),
        (
            "{sandbox: {use: local}, other: {use: lcal}}",
            "",
            (
                "3:49: No sandbox, judge or model is called `lcal` (resource `other`). Did you "
                "mean `local`?"
            ),
        ),
        (
            "{sandbox: {use: local}, other: {use: either}}",
            "",
            (
                "3:49: Resource `other`: `use: either` may be the sandbox `either` or the model "
                "`either`, and no grader's parameter says which. Give the resource the name of the "
                "parameter that it serves."
            ),
        ),
        (
            "{sandbox: {level: 1}}",
            "",
            "3:22: Resource `sandbox`: A resource needs `use`.",
        ),
        (
            "{sandbox: local}",
            "",
            "3:22: Resource `sandbox` must be a mapping, not the text `local`.",
        ),
        (
            "{sandbox: {use: local, lvel: 1}}",
            "",
            "3:35: Resource `sandbox`: `local` has no option `lvel`. Did you mean `level`?",
        ),
        (
            "{sandbox: {use: local, max_concurrency: 0}}",
            "",
            "3:52: Resource `sandbox`: `max_concurrency` must be at least 1, not 0.",
        ),
    ],
)
def test_explains_what_cannot_be_bound(
    mistakes: MistakesOf, resources: str, fields: str, message: str
) -> None:
    found = mistakes(f"resources: {resources}\n" + UNIT_TESTS % fields)
    errors = [each for each in found if not each.startswith("warning: ")]
    assert errors == [f"spec.yaml:{message.format(where=WHERE)}"]


def test_refuses_to_bind_workers(mistakes: MistakesOf) -> None:
    found = mistakes(
        "resources: {sandbox: {use: local}}\n"
        "stages: [{name: outcome, graders: [{use: math/equivalent, bind: {workers: sandbox}}]}]"
    )
    assert found[-1] == (
        "spec.yaml:4:66: Stage `outcome`, grader `equivalent`: `bind`: the engine itself provides "
        "`workers`. Take the line out."
    )


def test_refuses_to_bind_what_a_grader_does_not_have(mistakes: MistakesOf) -> None:
    found = mistakes(
        "stages: [{name: outcome, graders: [{use: math/same-number, bind: {sandbox: sandbox}}]}]"
    )
    assert found == [
        (
            "spec.yaml:3:67: Stage `outcome`, grader `same_number`: `bind`: `math/same-number` has "
            "no parameter `sandbox` for a resource. It has none."
        )
    ]


def test_says_so_if_nothing_that_would_help_is_installed(cards: tuple[Card, ...]) -> None:
    registry = registry_of(*(card for card in cards if isinstance(card, GraderCard)))
    assert not registry.all(JudgeCard)
    spec = {
        "rewardhub": 1,
        "name": "own/spec",
        "stages": [{"name": "outcome", "graders": [{"use": "judge/criteria"}]}],
    }
    assert [str(mistake) for mistake in check(spec, registry).errors] == [
        (
            "Stage `outcome`, grader `criteria`: `judge/criteria` needs a judge for its parameter "
            "`judge`, and the spec has none. No judge is installed either: install a pack that "
            "brings one."
        )
    ]


def test_warns_of_a_resource_that_no_grader_uses(mistakes: MistakesOf) -> None:
    found = mistakes(
        "resources: {box: {use: local}}\n"
        "stages: [{name: outcome, graders: [{use: math/same-number}]}]"
    )
    assert found == ["warning: spec.yaml:3:13: Resource `box`: no grader uses it."]


def test_a_resource_with_a_mistake_is_not_also_missing(mistakes: MistakesOf) -> None:
    found = mistakes("resources: {box: {use: local, level: high}}\n" + UNIT_TESTS % "")
    assert found == [
        "spec.yaml:3:38: Resource `box`: `level` must be a whole number, not the text `high`."
    ]


# --- limits of judges -----------------------------------------------------------------------------


class Counted(Options, Judge):
    """A judge that tells what a call uses at most."""

    price: float = 0.0

    def at_most(self, messages: Any, *, schema: Any = None) -> Usage:
        return Usage(prompt_tokens=10, cost=self.price)

    async def ask(
        self, messages: Any, *, schema: Any = None, seed: Any = None, logprobs: int = 0
    ) -> JudgeReply:
        return JudgeReply(text="yes")


class Uncounted(Counted):
    """A judge that does not."""

    def at_most(self, messages: Any, *, schema: Any = None) -> None:  # type: ignore[override]
        return None


class Asks(Grader):
    async def grade(self, trajectory: Trajectory, judge: Judge) -> float:
        return float(bool(await judge.ask([])))


def judged(resource: str) -> list[str]:
    """Return the mistakes of a spec whose only resource is this one."""
    cards = (
        GraderCard(name="test/asks", grader=Asks),
        JudgeCard(name="counted", judge=Counted),
        JudgeCard(name="uncounted", judge=Uncounted),
    )
    source = {
        "rewardhub": 1,
        "name": "test",
        "resources": {"judge": YAML(typ="safe").load(resource)},
        "stages": [{"name": "outcome", "graders": [{"use": "test/asks"}]}],
    }
    return [mistake.message for mistake in check(source, registry_of(*cards)).errors]


@pytest.mark.parametrize(
    "resource",
    [
        "{use: counted, max_tokens: 9, max_tokens_per_minute: 9, deadline: 0.5, retries: 0}",
        "{use: counted, max_cost: 0.5, price: 0.1}",
        "{use: uncounted, max_calls: 9, deadline: 5, retries: 1}",
    ],
)
def test_a_judge_has_limits_of_its_own(resource: str) -> None:
    assert judged(resource) == []


@pytest.mark.parametrize("limit", ["max_tokens", "max_tokens_per_minute", "max_cost"])
def test_tokens_that_nobody_can_bound_cannot_be_limited(limit: str) -> None:
    (mistake,) = judged(f"{{use: uncounted, {limit}: 9}}")
    assert mistake == (
        f"Resource `judge`: `{limit}` cannot be held: `uncounted` does not tell how many tokens a "
        "call uses at most. Use `max_calls`."
    )


def test_money_without_prices_cannot_be_limited() -> None:
    (mistake,) = judged("{use: counted, max_cost: 0.5}")
    assert "`max_cost` needs prices, and there are none" in mistake


@pytest.mark.parametrize(
    "limit",
    ["max_tokens: 9", "max_tokens_per_minute: 9", "max_cost: 9", "deadline: 9", "retries: 9"],
)
def test_limits_of_judges_are_for_judges(limit: str, mistakes: MistakesOf) -> None:
    name = limit.partition(":")[0]
    found = mistakes(f"resources: {{sandbox: {{use: local, {limit}}}}}\n" + UNIT_TESTS % "")
    expected = f"Resource `sandbox`: `{name}` is for judges, and `local` is a sandbox. Take it out."
    assert any(each.endswith(expected) for each in found)


@pytest.mark.parametrize("limit", ["max_tokens: 0", "max_cost: 0", "deadline: 0", "retries: -1"])
def test_limits_that_let_nothing_through_are_refused(limit: str) -> None:
    assert judged(f"{{use: counted, {limit}}}")


def test_no_limit_changes_what_a_reward_is(parsed: Callable[[str], Spec]) -> None:
    judge = "resources: {judge: {use: openai, model: m%s}}\nstages: [{name: outcome, graders: "
    judge += "[{use: judge/criteria}]}]"
    limited = parsed(judge % ", max_calls: 5, deadline: 5, retries: 2")
    assert limited.digest == parsed(judge % "").digest
    assert limited.resources["judge"].limits == {"max_calls": 5, "deadline": 5.0, "retries": 2}
