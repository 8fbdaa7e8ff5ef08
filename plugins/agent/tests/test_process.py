"""Step values: which steps have one, and what it is."""

from typing import Any

import pytest
import rewardhub_agent

from rewardhub import Score
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_agent)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find",
            "parameters": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
    },
    {"name": "pay", "input_schema": {"type": "dict", "properties": {"sum": {"type": "float"}}}},
]


def call(name: str, arguments: Any = None, result: str | None = "ok") -> tuple[Any, Any]:
    made = {"name": name, "arguments": {} if arguments is None else arguments}
    return made, result


def step(*calls: tuple[Any, Any], text: str = "", state: Any = None) -> dict[str, Any]:
    made = [{**each, "id": str(number)} for number, (each, _) in enumerate(calls)]
    came = [
        {"call_id": str(number), "content": result}
        for number, (_, result) in enumerate(calls)
        if result is not None
    ]
    return {"text": text, "tool_calls": made, "observations": came, "state": state}


def find(name: Any, result: str | None = None) -> tuple[Any, Any]:
    return call("find", {"name": name}, f"found {name}" if result is None else result)


def score(name: str, *steps: Any, options: Any = None, **fields: Any) -> Score:
    fields.setdefault("tools", TOOLS)
    card = REGISTRY.grader(f"agent/{name}").card
    return grade(card, make_trajectory(list(steps), **fields), options=options or {})


def values(found: Score) -> dict[int, float | None]:
    return {each.step: each.value for each in found.step_values}


NO = "Error: no such name"


def test_a_step_has_the_share_of_its_calls_that_are_valid() -> None:
    found = score("valid-calls", step(find("Ada"), find(7)), "Well.", step(find("Bo")))
    assert values(found) == {0: 0.5, 2: 1.0}
    assert found.value == 0.5


def test_a_valid_call_earns_once_and_a_wrong_one_costs_each_time() -> None:
    found = score("valid-calls", step(find("Ada")), step(find("Ada")), step(find(7)), step(find(7)))
    assert values(found) == {0: 1.0, 2: 0.0, 3: 0.0}
    assert found.value == 0.25


def test_says_what_breaks_the_schema() -> None:
    assert "`find`, name: 7 is not of type 'string'" in score("valid-calls", step(find(7))).reason


def test_knows_types_by_the_names_that_datasets_use() -> None:
    assert score("valid-calls", step(call("pay", {"sum": 1.5}))).value == 1
    assert score("valid-calls", step(call("pay", {"sum": "1.5"}))).value == 0


def test_arguments_over_the_limit_are_a_fault() -> None:
    found = score("valid-calls", step(find("x" * 99)), options={"max_characters": 50})
    assert (found.value, "over 50 characters" in found.reason) == (0, True)


def test_references_inside_of_the_schema_are_followed() -> None:
    tool = {
        "name": "find",
        "parameters": {
            "$defs": {"text": {"type": "string"}},
            "properties": {"name": {"$ref": "#/$defs/text"}},
        },
    }
    assert score("valid-calls", step(find("Ada")), tools=[tool]).value == 1
    assert score("valid-calls", step(find(7)), tools=[tool]).value == 0


def test_a_pattern_that_is_none_is_the_fault_of_the_task() -> None:
    schema = {"properties": {"name": {"type": "string", "pattern": "("}}}
    found = score("valid-calls", step(find("Ada")), tools=[{"name": "find", "parameters": schema}])
    assert (found.status, found.fault) == ("abstained", "task")


@pytest.mark.parametrize(
    "schema",
    [{"required": True}, {"properties": {"name": {"type": 7}}}, {"properties": {"name": None}}],
)
def test_tool_calls_takes_what_is_no_type_for_any(schema: dict[str, Any]) -> None:
    checks = {"tool_calls": {"accepted": [{"find": {"name": ["Ada"]}}]}}
    tools = [{"name": "find", "parameters": schema}]
    assert score("tool-calls", step(find("Ada")), checks=checks, tools=tools).value == 1
    assert score("tool-calls", step(find("Bo")), checks=checks, tools=tools).value == 0


def test_the_call_that_ends_the_attempt_needs_no_result() -> None:
    checks = {"stops": {"done": [{"call": "pay"}]}}
    ending = step(call("pay", {"sum": 1}, result=None))
    assert score("stops", step(find("Ada")), ending, checks=checks).value == 1


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Which date?", True),
        ("\u5728\u54ea\u91cc\uff1f", True),
        ("Please tell me the date.", True),
        ("See https://example.org/?q=date", False),
        ("The date is Monday.", False),
    ],
)
def test_a_question_is_seen_by_its_mark_or_its_words(text: str, asks: bool) -> None:
    checks = {"asks": {"needed": [["date", "\u54ea\u91cc"]], "before": ["pay"]}}
    assert values(score("asks-when-needed", text, checks=checks)) == ({0: 1.0} if asks else {})


@pytest.mark.parametrize("tool", [{"description": "no name"}, {"name": "x", "parameters": [1]}])
def test_a_tool_that_cannot_be_read_is_the_fault_of_the_task(tool: Any) -> None:
    assert score("valid-calls", step(find("Ada")), tools=[tool]).fault == "task"


def test_a_step_has_the_share_of_its_calls_that_worked() -> None:
    found = score("call-success", step(find("Ada"), find("x", NO)), step(find("Bo")))
    assert values(found) == {0: 0.5, 1: 1.0}


def test_reports_the_plain_rate_beside_the_value() -> None:
    found = score("call-success", *[step(find("Ada"))] * 3, step(find("x", NO)))
    assert found.metrics["tool_call_success_rate"] == 0.75
    assert found.metrics["tool_calls_judged"] == 4
    assert found.value == 0.5


def test_a_call_without_a_result_is_not_judged() -> None:
    found = score("call-success", step(find("Ada"), call("pay", result=None)), step(find("Bo")))
    assert found.value == 1
    assert found.metrics["tool_calls_judged"] == 2


def test_only_the_repetition_has_0() -> None:
    found = score("no-loops", step(find("Ada")), "Hm.", step(find("Bo")), step(find("Ada")))
    assert values(found) == {0: 1.0, 2: 1.0, 3: 0.0}


def test_a_repetition_in_one_step_counts() -> None:
    assert values(score("no-loops", step(find("Ada"), find("Ada")))) == {0: 0.5}


def test_a_text_that_comes_again_has_0() -> None:
    found = score("no-loops", step(find("Ada")), "I am done.", "I  am done. ")
    assert values(found) == {0: 1.0, 2: 0.0}


def test_a_change_that_is_a_repetition_itself_makes_nothing_new() -> None:
    edit, test = step(call("pay", {"sum": 1})), step(find("Ada"))
    found = score("no-loops", edit, test, edit, test, options={"changing": ["pay"]})
    assert values(found) == {0: 1.0, 1: 1.0, 2: 0.0, 3: 0.0}


def test_a_new_call_whose_result_was_seen_is_not_judged_without_a_state() -> None:
    steps = [step(call("pay", {"sum": n})) for n in (1, 2)]
    assert values(score("no-op-free", *steps)) == {0: 1.0}


def test_a_call_that_leaves_the_state_as_it_was_has_0() -> None:
    steps = [step(call("pay", {"sum": n}), state={"paid": 1}) for n in (1, 2)]
    assert values(score("no-op-free", *steps)) == {0: 1.0, 1: 0.0}


def test_the_same_call_with_the_same_result_has_0() -> None:
    assert values(score("no-op-free", step(find("Ada")), step(find("Ada")))) == {0: 1.0, 1: 0.0}


def test_reading_something_new_is_good_although_the_state_stays() -> None:
    steps = [step(find(name), state={"n": 1}) for name in ("Ada", "Bo")]
    assert values(score("no-op-free", *steps)) == {0: 1.0, 1: 1.0}


def test_an_empty_turn_has_0_and_a_spoken_one_none() -> None:
    assert values(score("no-op-free", step(find("Ada")), "", "Done.")) == {0: 1.0, 1: 0.0}


def test_the_turn_in_which_the_error_goes_away_has_1() -> None:
    found = score("recovers", step(find("x", NO)), "Hm.", step(find("Ada")))
    assert values(found) == {2: 1.0}
    assert found.value == 1


def test_the_same_failing_call_again_has_0() -> None:
    found = score("recovers", step(find("x", NO)), step(find("x", NO)), step(find("Ada")))
    assert values(found) == {1: 0.0, 2: 1.0}
    assert found.metrics == {"errors": 1.0, "recovered": 1.0}


def test_the_last_turn_of_its_time_has_0_if_the_error_stays() -> None:
    pays = [step(call("pay", {"sum": n})) for n in range(4)]
    found = score("recovers", step(find("x", NO)), *pays, options={"within": 2})
    assert values(found) == {2: 0.0}
    assert found.value == 0.5


def test_the_failing_turn_has_0_if_none_follows() -> None:
    assert values(score("recovers", step(find("x", NO)), "I give up.")) == {0: 0.0}


def test_an_unchanged_call_that_works_the_second_time_is_worth_half() -> None:
    assert values(score("recovers", step(find("Ada", NO)), step(find("Ada")))) == {1: 0.5}


def test_it_is_worth_all_if_something_was_done_in_between() -> None:
    steps = [step(find("Ada", NO)), step(call("pay", {"sum": 1})), step(find("Ada"))]
    assert values(score("recovers", *steps)) == {2: 1.0}


def test_a_call_of_the_same_turn_does_not_mend_it() -> None:
    found = score("recovers", step(find("x", NO), find("Ada")))
    assert (found.value, values(found)) == (0.5, {0: 0.0})


def test_broken_arguments_are_an_error_that_can_go_away() -> None:
    broken = {"tool_calls": [{"name": "find", "arguments": "{"}], "observations": []}
    assert values(score("recovers", broken, step(find("Ada")))) == {1: 1.0}


def test_attempts_without_errors_have_no_step_values() -> None:
    found = score("recovers", step(find("Ada")))
    assert (found.value, values(found)) == (1, {})


def test_progress_has_1_where_a_milestone_is_reached_for_the_first_time() -> None:
    checks = {"progress": {"milestones": [{"call": "find"}, {"said": "done"}]}}
    found = score("progress", step(find("Ada")), step(find("Bo")), "Done.", checks=checks)
    assert values(found) == {0: 1.0, 1: 0.0, 2: 1.0}


def test_stops_has_1_where_it_is_done_and_0_for_what_comes_after() -> None:
    checks = {"stops": {"done": [{"call": "pay"}]}}
    paid = step(call("pay", {"sum": 1}))
    found = score("stops", step(find("Ada")), paid, step(find("Bo")), "Done.", checks=checks)
    assert values(found) == {1: 1.0, 2: 0.0}
    assert found.metrics["steps_too_many"] == 1


def test_stops_has_0_at_the_end_of_what_is_not_done() -> None:
    checks = {"stops": {"done": [{"call": "pay"}]}}
    assert values(score("stops", step(find("Ada")), "Done.", checks=checks)) == {1: 0.0}


def test_order_has_the_share_of_pairs_where_their_second_call_is_made() -> None:
    checks = {"call_order": {"before": [["find", "pay"], ["confirm", "pay"]]}}
    paid = step(call("pay", {"sum": 1}))
    found = score("order", step(find("Ada")), paid, paid, checks=checks)
    assert values(found) == {1: 0.5}
    assert "`confirm` never worked" in found.reason


def test_order_tells_calls_apart_by_their_arguments() -> None:
    pair = [{"find": {"name": ["Ada"]}}, {"find": {"name": ["Bo"]}}]
    checks = {"call_order": {"before": [pair]}}
    assert score("order", step(find("Ada")), step(find("Bo")), checks=checks).value == 1
    assert score("order", step(find("Bo")), step(find("Ada")), checks=checks).value == 0


def test_asks_has_a_value_for_each_question_and_for_the_first_act() -> None:
    checks = {"asks": {"needed": ["date", "account"], "before": ["pay"]}}
    paid = step(call("pay", {"sum": 1}))
    steps = [step(find("Ada")), "Which date?", "Nice day, is it not?", paid, "Anything else?"]
    found = score("asks-when-needed", *steps, checks=checks)
    assert values(found) == {1: 1.0, 2: 0.0, 3: 0.5}
    assert found.value == 0.25


def test_a_step_has_the_share_of_its_calls_that_found_a_place() -> None:
    checks = {"tool_calls": {"accepted": [{"find": {"name": ["Ada"]}}]}}
    found = score(
        "tool-calls", step(find("Bo"), find("Ada")), "Hm.", step(find("Ada")), checks=checks
    )
    assert values(found) == {0: 0.5, 2: 0.0}
    assert found.metrics == {"matched": 1.0, "wrong": 2.0, "missing": 0.0}


def test_says_how_the_closest_call_misses() -> None:
    checks = {"tool_calls": {"accepted": ["pay", {"find": {"name": ["Ada"]}}]}}
    found = score("tool-calls", step(find("Bo")), checks=checks)
    assert 'step 0: `name` is "Bo", not "Ada"' in found.reason


def test_a_dot_in_a_name_may_be_an_underscore() -> None:
    checks = {"tool_calls": {"accepted": ["math.add"]}}
    tools = [{"name": "math.add"}]
    for name, value in (("math.add", 1), ("math_add", 1), ("math-add", 0)):
        found = score("tool-calls", step(call(name)), checks=checks, tools=tools)
        assert found.value == value


@pytest.mark.parametrize(
    "name", ["valid-calls", "call-success", "no-loops", "no-op-free", "recovers"]
)
def test_doing_nothing_is_worth_what_the_spec_says(name: str) -> None:
    assert score(name, "Hello.").value == 0
    assert score(name, "Hello.", options={"without_calls": 1.0}).value == 1


@pytest.mark.parametrize("name", ["valid-calls", "call-success", "no-loops"])
def test_padding_neither_adds_step_values_nor_brings_the_value_back(name: str) -> None:
    faulty = [step(find("Ada")), step(find("Ada"), find(7, NO)), step(find(7, NO))]
    pads = [step(find("Bo"))] * 50
    one, more = score(name, *faulty), score(name, *faulty, pads[0])
    padded = score(name, *faulty, *pads)
    assert more.value == one.value
    assert (padded.value or 0.0) <= (more.value or 0.0)
    good = [each for each in padded.step_values if each.step > 3 and each.value]
    assert good == []


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    "card", tuple(rewardhub_agent.rewardhub_graders()), ids=lambda card: card.name
)
def test_images_in_the_messages_change_nothing(card: Any) -> None:
    checks = {
        "tool_calls": {"accepted": ["find"]},
        "goal_state": {"expected": {"n": 1}},
        "outputs": {"told": ["Ada"]},
        "progress": {"milestones": [{"call": "find"}]},
        "stops": {"done": [{"call": "find"}]},
        "asks": {"needed": ["name"]},
        "call_order": {"before": [["find", "pay"]]},
    }
    steps = [step(find("Ada"), state={"n": 1}), step(call("pay", {"sum": 1}), state={"n": 1})]
    made = [
        make_trajectory(
            steps,
            messages=[{"role": "user", "content": content}],
            tools=TOOLS,
            checks=checks,
            metadata={"success": True},
        )
        for content in ([{"type": "text", "text": "Who?"}, PICTURE], "Who?")
    ]
    registered = REGISTRY.grader(card.name).card
    one, other = (grade(registered, each) for each in made)
    assert one.status == "graded"
    assert (one.value, one.reason) == (other.value, other.reason)
