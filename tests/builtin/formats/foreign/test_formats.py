"""What each reader makes of its own format: turns, status, ids, verdicts."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rewardhub.builtin.formats import reader_cards
from rewardhub.builtin.recorded import Recorded
from rewardhub.contracts import RawRow, ReadOptions
from rewardhub.errors import RowError, UsageError
from rewardhub.records import Trajectory

CARDS = {card.name: card for card in reader_cards()}
SAID = {"role": "assistant", "content": "A cat."}
ASKED = {"role": "user", "content": "What?"}


def parse(reader: str, row: Any) -> Trajectory:
    data = json.dumps(row).encode()
    return CARDS[reader].reader().parse(RawRow(7, data), ReadOptions(source="file"))


def read(reader: str, path: Path) -> list[Trajectory | RowError]:
    return list(CARDS[reader].reader().read(path, ReadOptions(source=path.name)))


def recorded(trajectory: Trajectory, key: str) -> float | None:
    return Recorded(key=key).grade(trajectory).value


def saved(folder: Path, *rows: Any) -> Path:
    path = folder / "file"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


# ATIF


def atif(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    agent = {"name": "walker", "version": "2"}
    return {"schema_version": "ATIF-v1.4", "agent": agent, "steps": list(steps), **fields}


def test_atif_steps_of_the_agent_are_steps() -> None:
    read = parse(
        "atif",
        atif(
            {"source": "user", "message": "Look."},
            {
                "source": "agent",
                "message": "",
                "tool_calls": [
                    {"tool_call_id": "a", "function_name": "look", "arguments": {"at": 1}}
                ],
                "observation": {"results": [{"source_call_id": "a", "content": "a cat"}]},
                "metrics": {"completion_tokens": 5, "cost_usd": 0.5},
            },
            {"source": "agent", "message": "A cat."},
            session_id="s",
        ),
    )
    assert (read.id, read.final_text, read.status) == ("s", "A cat.", "completed")
    assert (read.policy and read.policy.name, read.task.prompt) == ("walker", "Look.")
    first = read.steps[0]
    assert first.tool_calls[0].parsed == {"at": 1}
    assert (first.observations[0].call_id, first.observations[0].content) == ("a", "a cat")
    assert (first.tokens, first.cost) == (5, 0.5)


def test_an_atif_file_without_an_agents_step_is_a_bad_row() -> None:
    with pytest.raises(RowError, match="no turn of the policy"):
        parse("atif", atif({"source": "user", "message": "Look."}))


def test_an_unknown_source_of_atif_is_a_bad_row() -> None:
    with pytest.raises(RowError, match=r"`steps\[0\].source` is 'robot'"):
        parse("atif", atif({"source": "robot", "message": "x"}))


# SWE-agent


def swe(status: Any, **fields: Any) -> dict[str, Any]:
    step = {"action": "ls", "observation": "a.py", "response": "I list.", "thought": "I list."}
    return {"trajectory": [step], "history": [ASKED], "info": {"exit_status": status}, **fields}


@pytest.mark.parametrize(
    ("exit_status", "status"),
    [
        ("submitted", "completed"),
        ("exit_format", "completed"),
        ("exit_forfeit", "completed"),
        ("submitted (exit_context)", "truncated"),
        ("exit_cost", "truncated"),
        (None, "truncated"),
        ("exit_environment_error", "broken"),
        ("submitted (exit_api)", "broken"),
    ],
)
def test_the_exit_status_of_swe_agent_is_the_status(exit_status: Any, status: str) -> None:
    read = parse("swe-agent", swe(exit_status))
    assert read.status == status
    assert (read.fault == "infrastructure") == (status == "broken")


def test_an_action_that_was_parsed_out_of_text_is_a_call_of_bash() -> None:
    step = parse("swe-agent", swe("submitted")).steps[0]
    assert (step.text, step.tool_calls[0].name) == ("I list.", "bash")
    assert step.tool_calls[0].parsed == {"command": "ls"}
    assert step.observations[0].call_id == step.tool_calls[0].id == "step-1"


def test_the_submission_of_swe_agent_is_an_artifact() -> None:
    row = swe("submitted")
    row["info"]["submission"] = "diff"
    assert parse("swe-agent", row).artifacts == {"submission": "diff"}


def test_ten_thousand_steps_are_read() -> None:
    row = swe("submitted")
    row["trajectory"] = row["trajectory"] * 10_000
    assert len(parse("swe-agent", row).steps) == 10_000


# tau-bench


def test_a_tau_bench_result_carries_its_reward_and_hides_what_is_expected() -> None:
    task = {"actions": [{"name": "cancel"}], "outputs": ["327"]}
    row = {"task_id": 3, "reward": 0.0, "traj": [ASKED, SAID], "info": {"task": task}, "trial": 1}
    read = parse("tau-bench", row)
    assert recorded(read, "reward") == 0.0
    assert read.task.id == read.group == "3"
    assert read.task.metadata["outputs"] == ("327",)
    assert not read.task.for_policy().metadata


def test_a_tau_bench_run_that_raised_is_broken_and_no_zero() -> None:
    row = {"task_id": 3, "reward": 0.0, "traj": [], "info": {"error": "timed out"}, "trial": 1}
    read = parse("tau-bench", row)
    assert (read.status, read.fault, read.reason) == ("broken", "infrastructure", "timed out")


# Responses and NeMo Gym


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text}
    return {"type": "message", "role": "assistant", "content": [part]}


def function_call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "seen"}


def test_items_of_one_turn_are_one_step() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    items = [thought, message("I look."), function_call("a"), function_call("b")]
    read = parse("responses", {"output": [*items, output("a"), output("b"), message("A cat.")]})
    first, last = read.steps
    assert (first.text, first.reasoning) == ("I look.", "hm")
    assert [call.id for call in first.tool_calls] == ["a", "b"]
    assert [each.call_id for each in first.observations] == ["a", "b"]
    assert last.text == "A cat."


def test_a_model_that_speaks_anew_begins_a_new_step() -> None:
    read = parse("responses", {"output": [function_call("a"), message("x"), message("y")]})
    assert [step.text for step in read.steps] == ["", "x", "y"]


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"status": "completed"}, "completed", ""),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "truncated",
            "max_output_tokens",
        ),
        ({"status": "failed", "error": {"message": "no server"}}, "broken", "no server"),
        ({"status": "cancelled"}, "broken", "cancelled"),
    ],
)
def test_the_status_of_a_response_is_the_status(
    fields: dict[str, Any], status: str, reason: str
) -> None:
    read = parse("responses", {"object": "response", "output": [message("x")], **fields})
    assert read.status == status
    assert reason in read.reason


def test_a_completed_response_without_output_is_an_empty_answer() -> None:
    read = parse("responses", {"object": "response", "status": "completed", "output": []})
    assert (read.status, read.final_text, len(read.steps)) == ("completed", "", 1)


def test_a_nemo_gym_rollout_carries_its_reward() -> None:
    row = {
        "responses_create_params": {"input": "What?"},
        "response": {"output": [message("A cat.")]},
        "reward": 0.25,
        "expected_answer": "cat",
    }
    read = parse("nemo-gym", row)
    assert (read.task.prompt, read.task.reference, recorded(read, "reward")) == (
        "What?",
        "cat",
        0.25,
    )


# Inspect


def sample(**fields: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "epoch": 1,
        "input": "What?",
        "target": "cat",
        "messages": [ASKED, SAID],
    } | fields


def inspected(**fields: Any) -> Trajectory:
    return parse("inspect", {"log": {"task": "doors"}, "sample": sample(**fields)})


def test_a_sample_of_inspect_is_an_attempt_at_its_task() -> None:
    read = inspected()
    assert (read.task.id, read.task.reference, read.final_text) == ("doors/1", "cat", "A cat.")
    assert read.id == "file:7"


def test_scores_of_inspect_are_numbers_for_recorded_value() -> None:
    scores = {
        "a": {"value": "C"},
        "b": {"value": "P"},
        "c": {"value": 0.3},
        "d": {"value": {"x": 1}},
    }
    read = inspected(scores=scores)
    assert read.metadata["values"] == {"a": 1.0, "b": 0.5, "c": 0.3}
    assert recorded(read, "values.b") == 0.5
    assert read.metadata["sample"]["scores"]["a"] == {"value": "C"}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "completed"),
        ({"error": {"message": "boom"}}, "broken"),
        ({"limit": {"type": "token", "limit": 100}}, "truncated"),
        ({"output": {"choices": [{"stop_reason": "max_tokens"}]}}, "truncated"),
        ({"output": {"choices": [{"stop_reason": "content_filter"}]}}, "completed"),
    ],
)
def test_what_ended_a_sample_is_the_status(fields: dict[str, Any], status: str) -> None:
    assert inspected(**fields).status == status


def test_examples_in_the_input_of_a_sample_are_no_steps() -> None:
    example = {"role": "assistant", "content": "Like this.", "source": "input"}
    read = inspected(messages=[ASKED, example, ASKED, SAID])
    assert [step.text for step in read.steps] == ["A cat."]
    assert [message.role for message in read.task.messages] == ["user", "assistant", "user"]


def test_arguments_that_inspect_could_not_parse_are_not_parsed() -> None:
    call = {"id": "a", "function": "look", "arguments": {}, "parse_error": "no JSON"}
    read = inspected(messages=[ASKED, {"role": "assistant", "content": "", "tool_calls": [call]}])
    assert read.tool_calls[0].parsed is None


def test_errors_of_tools_are_errors_of_observations() -> None:
    call = {"id": "a", "function": "look", "arguments": {}}
    error = {"type": "timeout", "message": "too slow"}
    result = {"role": "tool", "tool_call_id": "a", "content": "", "error": error}
    acted = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert inspected(messages=[ASKED, acted, result]).steps[0].observations[0].error == "too slow"


def test_a_sample_without_messages_gives_its_completion() -> None:
    read = inspected(messages=[], output={"completion": "A cat."})
    assert (read.task.prompt, read.final_text) == ("What?", "A cat.")


def archive(folder: Path, **entries: str | bytes) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in entries.items():
            packed.writestr(name.replace("__", "/"), text)
    return path


def test_a_zip_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, **{"samples__1.json": "{}"})
    with pytest.raises(UsageError, match="is a zip archive, and no log of Inspect"):
        read("inspect", path)


def test_a_log_that_was_not_finished_is_read(tmp_path: Path) -> None:
    start = json.dumps({"eval": {"task": "doors"}})
    entries = {"_journal__start.json": start, "samples__1_epoch_1.json": json.dumps(sample())}
    (found,) = read("inspect", archive(tmp_path, **entries))
    assert isinstance(found, Trajectory)
    assert found.task.id == "doors/1"


def test_a_broken_sample_in_an_archive_is_one_bad_row(tmp_path: Path) -> None:
    entries = {
        "header.json": json.dumps({"eval": {"task": "doors"}}),
        "samples__1.json": "{broken",
        "samples__2__sample.json": "{}",
        "samples__2__messages__0.json": "[]",
        "samples__3.json": json.dumps(sample()),
    }
    broken, in_pieces, good = read("inspect", archive(tmp_path, **entries))
    assert "no JSON" in str(broken)
    assert "stored in pieces" in str(in_pieces)
    assert isinstance(good, Trajectory)


def test_a_damaged_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = archive(tmp_path, **{"header.json": "{}"})
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UsageError, match="no readable zip archive"):
        read("inspect", path)


# verifiers


def rollout(**fields: Any) -> dict[str, Any]:
    return {"example_id": 4, "prompt": [ASKED], "completion": [SAID], "reward": 0.5} | fields


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "completed"),
        ({"is_truncated": True}, "truncated"),
        ({"error": {"error": "ModelError", "message": "no server"}}, "broken"),
        ({"error": "no server", "completion": None}, "broken"),
        ({"completion": []}, "completed"),
    ],
)
def test_what_ended_a_verifiers_rollout_is_the_status(fields: dict[str, Any], status: str) -> None:
    assert parse("verifiers", rollout(**fields)).status == status


def test_a_verifiers_rollout_carries_reward_and_metrics() -> None:
    read = parse("verifiers", rollout(task="doors", answer="cat", metrics={"exact": 1.0}))
    assert (read.task.id, read.task.reference) == ("doors/4", "cat")
    assert (recorded(read, "reward"), recorded(read, "metrics.exact")) == (0.5, 1.0)


def test_texts_instead_of_messages_are_read() -> None:
    read = parse("verifiers", rollout(prompt="What?", completion="A cat."))
    assert (read.task.prompt, read.final_text) == ("What?", "A cat.")


# OpenHands


def run(number: int, call_id: str | None, response: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "tool_call_metadata": {"tool_call_id": call_id, "function_name": "bash"}
    }
    if response:
        made["tool_call_metadata"]["model_response"] = {"id": response}
    args = {"command": "ls", "thought": f"thought {number}"}
    event = {"id": number, "source": "agent", "action": "run", "args": args}
    return event | (made if call_id else {})


def ran(number: int, cause: int, **fields: Any) -> dict[str, Any]:
    extras = {"metadata": {"exit_code": 2}}
    event = {"id": number, "cause": cause, "source": "agent", "observation": "run"}
    return event | {"content": "a.py", "extras": extras} | fields


def history(*events: Any, **fields: Any) -> dict[str, Any]:
    asked = {"id": 0, "source": "user", "action": "message", "args": {"content": "Fix it."}}
    return {"instance_id": "i-1", "history": [asked, *events], "test_result": {}, **fields}


def test_an_event_and_its_cause_are_a_call_and_its_result() -> None:
    read = parse("openhands", history(run(1, None), ran(2, 1)))
    (step,) = read.steps
    assert (read.task.id, read.task.prompt, step.text) == ("i-1", "Fix it.", "thought 1")
    assert step.tool_calls[0].name == "run"
    assert step.observations[0].call_id == step.tool_calls[0].id == "event-1"
    assert step.observations[0].exit_code == 2


def test_events_of_one_response_are_one_step() -> None:
    read = parse("openhands", history(run(1, "a", "r"), run(2, "b", "r"), ran(3, 1), ran(4, 2)))
    (step,) = read.steps
    assert [call.id for call in step.tool_calls] == ["a", "b"]
    assert [each.call_id for each in step.observations] == ["a", "b"]


def test_pairs_of_events_are_read() -> None:
    row = history()
    row["history"] = [[run(1, "a"), ran(2, 1)], [run(3, "b"), ran(4, 3)]]
    assert len(parse("openhands", row).steps) == 2


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "completed"),
        ("RuntimeError: Agent reached maximum iteration. Current: 30", "truncated"),
        ("AgentStuckInLoopError: Agent got stuck in a loop", "truncated"),
        ("AgentRuntimeDisconnectedError: gone", "broken"),
    ],
)
def test_the_error_of_an_instance_is_the_status(error: str | None, status: str) -> None:
    assert parse("openhands", history(run(1, "a"), error=error)).status == status


def test_an_agent_in_the_state_error_is_broken() -> None:
    extras = {"agent_state": "error", "reason": "no server"}
    changed = {"id": 2, "source": "environment", "observation": "agent_state_changed"}
    row = history(run(1, "a"), changed | {"content": "", "extras": extras})
    assert (parse("openhands", row).status, parse("openhands", row).reason) == (
        "broken",
        "no server",
    )


def test_finish_gives_the_text_of_the_last_step() -> None:
    finish = {"id": 3, "source": "agent", "action": "finish", "args": {"final_thought": "Fixed."}}
    assert parse("openhands", history(run(1, "a"), finish)).final_text == "Fixed."


def test_a_file_of_events_is_one_trajectory(tmp_path: Path) -> None:
    events = history(run(1, "a"), ran(2, 1))["history"]
    lines = saved(tmp_path, *events)
    (from_lines,) = read("openhands", lines)
    lines.write_text(json.dumps(events, indent=2))
    (from_array,) = read("openhands", lines)
    assert isinstance(from_lines, Trajectory)
    assert from_lines == from_array


# Trainers


def test_preference_rows_are_two_attempts_of_one_group(tmp_path: Path) -> None:
    row = {"prompt": "What?", "chosen": "A cat.", "rejected": "A dog."}
    chosen, rejected = read("trl", saved(tmp_path, row))
    assert isinstance(chosen, Trajectory)
    assert isinstance(rejected, Trajectory)
    assert (chosen.final_text, rejected.final_text) == ("A cat.", "A dog.")
    assert chosen.group == rejected.group
    assert (chosen.id, rejected.id) == ("file:1", "file:2")
    assert (recorded(chosen, "chosen"), recorded(rejected, "chosen")) == (1.0, 0.0)


def test_what_both_answers_begin_with_is_the_prompt(tmp_path: Path) -> None:
    other = {"role": "assistant", "content": "A dog."}
    before = {"role": "assistant", "content": "Ask me."}
    row = {"chosen": [before, ASKED, SAID], "rejected": [before, ASKED, other]}
    chosen, _ = read("trl", saved(tmp_path, row))
    assert isinstance(chosen, Trajectory)
    assert [message.text for message in chosen.task.messages] == ["Ask me.", "What?"]
    assert [step.text for step in chosen.steps] == ["A cat."]


def test_stepwise_rows_keep_a_label_for_each_paragraph() -> None:
    row = {"prompt": "2+2+2?", "completions": ["Four.", "Seven."], "labels": [True, False]}
    read = parse("trl", row)
    assert read.final_text == "Four.\nSeven."
    assert [read.final_text[:end] for end in read.metadata["ends"]] == ["Four.", "Four.\nSeven."]
    assert read.metadata["labels"] == (True, False)


def verl(**fields: Any) -> dict[str, Any]:
    model = {"style": "rule", "ground_truth": "7"}
    return {"data_source": "gsm8k", "prompt": [ASKED], "reward_model": model} | fields


def test_each_response_of_a_verl_row_is_an_attempt_of_one_group(tmp_path: Path) -> None:
    first, second, third = read(
        "verl", saved(tmp_path, verl(responses=["7", "8"]), verl(responses=["9"]))
    )
    assert isinstance(first, Trajectory)
    assert isinstance(second, Trajectory)
    assert isinstance(third, Trajectory)
    assert (first.final_text, second.final_text, third.id) == ("7", "8", "file:3")
    assert first.group == second.group
    assert (first.task.reference, first.task.domain) == ("7", "gsm8k")


def test_a_verl_row_in_parquet_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    table = pyarrow.Table.from_pylist([verl(responses=["7", "8"], extra_info={"split": "train"})])
    parquet.write_table(table, path)
    first, _ = read("verl", path)
    assert isinstance(first, Trajectory)
    assert (first.final_text, first.task.split, first.task.prompt) == ("7", "train", "What?")


@pytest.mark.parametrize(
    ("reader", "row"),
    [
        ("verl", verl()),
        ("verl", verl(responses=[])),
        ("openrlhf", {"input": "What?", "label": "7"}),
    ],
)
def test_a_row_without_an_answer_is_a_task_and_no_attempt(
    reader: str, row: dict[str, Any], tmp_path: Path
) -> None:
    (error,) = read(reader, saved(tmp_path, row))
    assert "the row has no answer: it is a task" in str(error)


def test_an_empty_output_is_an_answer() -> None:
    read = parse("openrlhf", {"input": "What?", "label": "7", "output": ""})
    assert (read.status, read.final_text) == ("completed", "")


def test_a_rollout_that_verl_dumped_carries_its_score() -> None:
    read = parse("verl", {"input": "What?", "output": "7", "gts": "7", "score": 1.0, "step": 3})
    assert (read.task.reference, recorded(read, "score")) == ("7", 1.0)


def test_a_row_of_a_broken_file_stays_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(json.dumps(verl(responses=["7"])).encode() + b"\n{broken\n")
    good, bad = read("verl", path)
    assert isinstance(good, Trajectory)
    assert "no JSON" in str(bad)


# AgentProcessBench


def test_labels_of_messages_become_labels_of_steps() -> None:
    row = {"messages": [ASKED, SAID, ASKED, SAID], "step_labels": {"3": -1}, "ground_truth": "cat"}
    read = parse("agent-process-bench", row)
    assert read.metadata["labels"] == (None, -1)
    assert read.task.reference == "cat"
