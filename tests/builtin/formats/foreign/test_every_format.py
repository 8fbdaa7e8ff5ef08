"""What holds for the reader of every foreign format: recognised, lossless, never at a loss."""

import copy
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardhub.builtin.formats import reader_cards, reader_for
from rewardhub.contracts import RawRow, ReadOptions
from rewardhub.errors import RowError
from rewardhub.host import registry_of
from rewardhub.records import Trajectory
from rewardhub.testing import ReaderContract

CARDS = {card.name: card for card in reader_cards()}
DATA = Path(os.environ.get("REWARDHUB_DATA", Path(__file__).parents[5] / "shared" / "data"))
OPTIONS = ReadOptions(source="sample")

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def call(number: int, arguments: str = '{"at": "door"}') -> dict[str, Any]:
    function = {"name": f"look_{number}", "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is behind it?"}, IMAGE]},
]
DONE: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I have to look.",
        "tool_calls": [call(1), call(2, "{broken")],
    },
    {"role": "tool", "tool_call_id": "call_1", "name": "look_1", "content": "a cat"},
    {
        "role": "tool",
        "tool_call_id": "call_9",
        "content": [{"type": "text", "text": "whose?"}, IMAGE],
    },
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": [{"type": "text", "text": "A cat."}], "logprobs": [-0.25]},
]
ITEMS: list[dict[str, Any]] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "I look."}],
        "encrypted_content": "gAAAA",
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "look",
        "arguments": "{}",
        "status": "done",
    },
    {"type": "function_call_output", "id": "fo_1", "call_id": "call_1", "output": "a cat"},
    {"type": "web_search_call", "id": "ws_1", "action": {"query": "cats"}},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [
            {
                "type": "output_text",
                "text": "A cat.",
                "annotations": [{"url": "https://cat.example"}],
            },
            {"type": "refusal", "refusal": "No more."},
        ],
    },
]
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "small-1",
    "output": ITEMS,
    "usage": {"input_tokens": 31, "output_tokens": 17},
}
ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "session-1",
    "trajectory_id": "trajectory-1",
    "agent": {
        "name": "walker",
        "version": "2.1",
        "model_name": "small-1",
        "tool_definitions": [TOOL],
        "extra": {"mood": "calm"},
    },
    "notes": "a note",
    "steps": [
        {
            "step_id": 1,
            "source": "system",
            "message": "Be brief.",
            "observation": {"results": [{"content": "reset"}]},
        },
        {"step_id": 2, "timestamp": "2026-01-01T00:00:00Z", "source": "user", "message": "Look."},
        {
            "step_id": 3,
            "source": "agent",
            "message": "I look.",
            "reasoning_content": "hm",
            "model_name": "small-2",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "look", "arguments": {"at": "door"}},
                {"tool_call_id": "c2", "function_name": "wait", "arguments": {}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "a cat"},
                    {"source_call_id": "c7", "content": "a dog", "extra": {"who": "knows"}},
                    {
                        "content": [
                            {"type": "text", "text": "a picture"},
                            {"type": "image", "source": {"path": "images/cat.png"}},
                        ]
                    },
                ]
            },
            "metrics": {
                "prompt_tokens": 520,
                "completion_tokens": 81,
                "cost_usd": 0.25,
                "logprobs": [-0.5, -0.75],
            },
        },
        {"step_id": 4, "source": "user", "message": "And?"},
        {"step_id": 5, "source": "system", "message": "Memory was cut."},
        {"step_id": 6, "source": "agent", "message": "A cat.", "extra": {"final": "yes"}},
    ],
    "final_metrics": {"total_completion_tokens": 99, "total_cost_usd": 0.5, "total_steps": 66},
    "subagent_trajectories": [{"trajectory_id": "sub-1", "steps": [{"message": "deep"}]}],
}
SWE_AGENT: dict[str, Any] = {
    "environment": "main",
    "trajectory": [
        {
            "action": "find_file a.py",
            "observation": "Found 1",
            "response": "I search.",
            "thought": "I search.",
            "execution_time": 0.25,
            "state": '{"open_file": "n/a"}',
            "query": [{"role": "system", "content": "Fix it."}],
            "extra_info": {"retry": "none"},
        },
        {
            "action": "ls -a",
            "observation": "a.py",
            "response": "I list:\n```\nls -a\n```",
            "thought": "Listing now.",
            "execution_time": 0.5,
            "state": {"open_file": "a.py"},
        },
        {"action": "submit", "observation": "diff", "response": "", "thought": "", "state": {}},
    ],
    "history": [
        {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
        {"role": "assistant", "content": "Like this.", "is_demo": True, "agent": "main"},
        {"role": "user", "content": "The issue.", "agent": "main", "message_type": "observation"},
        {
            "role": "assistant",
            "content": "I search.",
            "action": "find_file a.py",
            "thought": "I search.",
            "tool_calls": [
                {
                    "id": "call_7",
                    "type": "function",
                    "function": {"name": "find_file", "arguments": '{"name":"a.py"}'},
                }
            ],
        },
        {"role": "tool", "content": "OBSERVATION: Found 1", "tool_call_ids": ["call_7"]},
        {"role": "assistant", "content": "I list:\n```\nls -a\n```", "action": "ls -a"},
    ],
    "info": {
        "exit_status": "submitted",
        "submission": "diff --git a b",
        "model_stats": {"instance_cost": 0.75, "tokens_sent": 700, "tokens_received": 24},
    },
    "replay_config": '{"problem_statement": {"id": "repo__repo-1", "text": "The issue."}}',
}
TAU: dict[str, Any] = {
    "task_id": 12,
    "reward": 1.0,
    "info": {
        "task": {
            "user_id": "user_7",
            "actions": [{"name": "cancel", "kwargs": {"id": "R1"}}],
            "instruction": "You want to cancel.",
            "outputs": ["327"],
        },
        "user_cost": 0.125,
        "reward_info": {"reward": 1.0, "info": {"gt_data_hash": "abc"}},
    },
    "traj": [*ASKED, *DONE],
    "trial": 3,
}
NEMO_GYM: dict[str, Any] = {
    "responses_create_params": {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "What is there?", "type": "message"},
            {"type": "function_call", "call_id": "old_1", "name": "peek", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "old_1", "output": "dark"},
            {"role": "user", "content": [{"type": "input_text", "text": "Now?"}]},
        ],
        "tools": [{"type": "function", "name": "look", "strict": True}],
        "temperature": 0.7,
    },
    "response": RESPONSE,
    "reward": 0.5,
    "expected_answer": "cat",
    "verifier": {"type": "words", "found": ["cat"]},
    "agent_ref": {"name": "simple_agent"},
}
SAMPLE: dict[str, Any] = {
    "id": 5,
    "epoch": 2,
    "input": [{"role": "user", "content": "What is behind it?"}],
    "target": ["cat", "a cat"],
    "choices": ["cat", "dog"],
    "messages": [
        {"id": "m0", "role": "assistant", "content": "An example.", "source": "input"},
        {"id": "m1", "role": "user", "content": "attachment://abc", "source": "input"},
        {
            "id": "m2",
            "role": "assistant",
            "source": "generate",
            "model": "small-1",
            "content": [
                {"type": "reasoning", "reasoning": "I look.", "signature": "sig"},
                {"type": "text", "text": "Looking."},
            ],
            "tool_calls": [
                {"id": "c1", "function": "look", "arguments": {"at": "door"}},
                {"id": "c2", "function": "wait", "arguments": {}, "parse_error": "no JSON"},
            ],
        },
        {
            "id": "m3",
            "role": "tool",
            "tool_call_id": "c1",
            "function": "look",
            "content": "",
            "error": {"type": "timeout", "message": "It took too long."},
        },
        {
            "id": "m4",
            "role": "user",
            "content": [{"type": "image", "image": "AAAA"}, {"type": "text", "text": "See?"}],
        },
        {"id": "m5", "role": "assistant", "content": "A cat.", "source": "generate"},
    ],
    "output": {
        "model": "small-1",
        "choices": [{"message": {"role": "assistant", "content": "A cat."}, "stop_reason": "stop"}],
        "time": 1.25,
    },
    "scores": {"match": {"value": "C", "answer": "A cat."}, "length": {"value": 0.375}},
    "metadata": {"level": "easy"},
    "store": {"seen": "cat"},
    "model_usage": {"lab/small-1": {"input_tokens": 61, "output_tokens": 7}},
    "total_time": 2.5,
    "uuid": "uuid-1",
    "attachments": {"abc": "What is behind it?"},
}
LOG: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "doors", "run_id": "run-1", "model": "lab/small-1", "created": "2026-01-01"},
    "plan": {"name": "plan", "steps": [{"samples": [1, 2]}]},
    "samples": [
        SAMPLE,
        SAMPLE | {"uuid": "uuid-2", "error": {"message": "boom", "traceback": "at"}},
    ],
}
VERIFIERS: dict[str, Any] = {
    "example_id": 4,
    "task": "doors",
    "prompt": ASKED,
    "completion": DONE,
    "answer": "cat",
    "info": '{"level": "easy"}',
    "reward": 0.625,
    "metrics": {"exact": 0.875},
    "error": None,
    "timing": {"total": 3.5},
    "is_completed": True,
    "is_truncated": False,
    "stop_condition": "no_tools_called",
    "tool_defs": [{"name": "look", "description": "looks", "parameters": {}}],
    "token_usage": {"input_tokens": 41.0, "output_tokens": 43.0},
}


def action(number: int, name: str, call_id: str, **args: Any) -> dict[str, Any]:
    function = {"name": f"execute_{name}", "arguments": json.dumps({"command": f"raw {number}"})}
    response = {
        "id": "response-1",
        "choices": [{"message": {"tool_calls": [{"id": call_id, "function": function}]}}],
        "usage": {"completion_tokens": 104},
    }
    metadata = {
        "function_name": f"execute_{name}",
        "tool_call_id": call_id,
        "model_response": response,
    }
    return {
        "id": number,
        "timestamp": "2026-01-01",
        "source": "agent",
        "action": name,
        "args": args,
        "tool_call_metadata": metadata,
    }


OPENHANDS: dict[str, Any] = {
    "instance_id": "repo__repo-2",
    "test_result": {"git_patch": "diff --git", "resolved": True},
    "instruction": "Fix it now.",
    "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "small-1"}},
    "history": [
        {
            "id": 0,
            "source": "agent",
            "action": "system",
            "args": {"content": "Be brief.", "tools": [TOOL]},
        },
        {
            "id": 1,
            "source": "user",
            "action": "message",
            "args": {"content": "Fix it.", "image_urls": []},
        },
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "Fix it."}},
        action(3, "run", "c3", command="ls", thought="I list."),
        {
            "id": 4,
            "source": "agent",
            "cause": 3,
            "observation": "run",
            "content": "a.py",
            "extras": {"command": "ls", "metadata": {"exit_code": 3, "pid": 77}},
        },
        action(5, "run", "c5", command="cat a.py", thought=""),
        {
            "id": 6,
            "source": "agent",
            "cause": 5,
            "observation": "error",
            "content": "No such file",
            "extras": {},
        },
        {
            "id": 7,
            "source": "agent",
            "action": "finish",
            "args": {"final_thought": "It is fixed.", "thought": "Done now.", "outputs": {}},
        },
    ],
    "metrics": {
        "accumulated_cost": 0.375,
        "accumulated_token_usage": {"prompt_tokens": 3000, "completion_tokens": 230},
    },
    "error": None,
}
EVENTS: list[dict[str, Any]] = [
    {
        "kind": "SystemPromptEvent",
        "source": "agent",
        "system_prompt": {"type": "text", "text": "Be brief."},
        "tools": [TOOL],
    },
    {
        "kind": "MessageEvent",
        "id": "e1",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
    },
    {
        "kind": "ActionEvent",
        "id": "e2",
        "source": "agent",
        "thought": [{"type": "text", "text": "I list."}],
        "reasoning_content": "List first.",
        "action": {"kind": "TerminalAction", "command": "ls"},
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "tool_call": {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}'},
        "llm_response_id": "r1",
    },
    {
        "kind": "ObservationEvent",
        "id": "e3",
        "source": "environment",
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "action_id": "e2",
        "observation": {
            "kind": "TerminalObservation",
            "content": [{"type": "text", "text": "a.py"}],
            "is_error": False,
            "exit_code": 3,
        },
    },
    {
        "kind": "AgentErrorEvent",
        "id": "e4",
        "source": "agent",
        "error": "bad call",
        "tool_call_id": "c2",
    },
    {
        "kind": "ActionEvent",
        "id": "e5",
        "source": "agent",
        "thought": [],
        "action": {"kind": "FinishAction", "message": "It is fixed."},
        "tool_name": "finish",
        "tool_call_id": "c3",
        "llm_response_id": "r2",
    },
]
PREFERENCE: dict[str, Any] = {
    "chosen": [*ASKED, {"role": "assistant", "content": "A cat."}],
    "rejected": [*ASKED, {"role": "assistant", "content": "A dog."}],
    "score_chosen": 8.5,
}
STEPWISE: dict[str, Any] = {
    "prompt": "What is 2 + 2 + 2?",
    "completions": ["2 + 2 is 4.", "4 + 2 is 7."],
    "labels": [True, False],
}
VERL: dict[str, Any] = {
    "data_source": "openai/gsm8k",
    "prompt": [{"role": "user", "content": "What is 3 + 4?"}],
    "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "7"},
    "extra_info": {"split": "train", "index": 33},
    "responses": ["It is 7.", "It is 8."],
}
VERL_DUMP: dict[str, Any] = {
    "input": "user\nWhat is 3 + 4?",
    "output": "It is 7.",
    "gts": "7",
    "score": 0.75,
    "step": 150,
    "acc": 0.875,
}
OPENRLHF: dict[str, Any] = {
    "input": "What is 3 + 4?",
    "label": "7",
    "output": "It is 7.",
    "reward": 0.875,
    "datasource": "math",
}
PROCESS: dict[str, Any] = {
    "total_index": 26,
    "query_index": 5,
    "sample_index": 1,
    "question": "What is behind it?",
    "data_source": "doors",
    "ground_truth": {"target": ["cat"]},
    "answer_text": "cat",
    "messages": [*ASKED, *DONE],
    "step_labels": {"2": 1, "6": -1},
    "final_label": -1,
    "judge_predictions": {"judge-1": {"explanation": "seems right"}},
}


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def archive(log: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    header = {key: value for key, value in log.items() if key != "samples"}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("_journal/start.json", json.dumps({"eval": log["eval"]}))
        for sample in log["samples"]:
            packed.writestr(f"samples/{sample['uuid']}.json", json.dumps(sample))
        packed.writestr("summaries.json", "[]")
        packed.writestr("header.json", json.dumps(header))
    return stream.getvalue()


FILES: dict[str, tuple[str, bytes]] = {
    "agent-process-bench": ("agent-process-bench", lines(PROCESS, PROCESS)),
    "atif": ("atif", json.dumps(ATIF, indent=2).encode()),
    "atif lines": ("atif", lines(ATIF, ATIF | {"trajectory_id": "trajectory-2"})),
    "inspect": ("inspect", json.dumps(LOG, indent=2).encode()),
    "inspect on one line": ("inspect", json.dumps(LOG).encode()),
    "inspect archive": ("inspect", archive(LOG)),
    "nemo-gym": ("nemo-gym", lines(NEMO_GYM, NEMO_GYM)),
    "openhands": ("openhands", lines(OPENHANDS, OPENHANDS)),
    "openhands events": ("openhands", json.dumps(OPENHANDS["history"], indent=1).encode()),
    "openhands events by kind": ("openhands", lines(*EVENTS)),
    "openhands by kind": ("openhands", lines(OPENHANDS | {"history": EVENTS})),
    "openrlhf": ("openrlhf", lines(OPENRLHF, OPENRLHF)),
    "responses": ("responses", lines(RESPONSE, {"input": "Look.", "output": ITEMS})),
    "swe-agent": ("swe-agent", json.dumps(SWE_AGENT, indent=2).encode()),
    "tau-bench": ("tau-bench", json.dumps([TAU, TAU], indent=2).encode()),
    "tau-bench lines": ("tau-bench", lines({"policy": "Be kind."}, TAU)),
    "trl preference": ("trl", lines(PREFERENCE)),
    "trl stepwise": ("trl", lines(STEPWISE, STEPWISE)),
    "verifiers": ("verifiers", lines(VERIFIERS, VERIFIERS)),
    "verl": ("verl", lines(VERL)),
    "verl dump": ("verl", lines(VERL_DUMP, VERL_DUMP)),
    "chat": ("chat", lines({"messages": [*ASKED, DONE[-1]], "label": 1})),
    "completion": ("completion", lines({"prompt": "1+1?", "completion": "2", "score": 1})),
    "native": (
        "native",
        Trajectory.model_validate({"id": "1", "task": {}, "steps": [{"text": "2"}]}).to_json(),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_recognises_each_format_as_its_own(name: str, tmp_path: Path) -> None:
    reader, data = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    assert reader_for(path, registry_of(), mapping={}).card.name == reader


def test_a_column_behind_a_long_one_tells_the_format(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(lines({**VERL_DUMP, "output": "x" * 200_000}))
    assert reader_for(path, registry_of(), mapping={}).card.name == "verl"


@pytest.mark.parametrize("name", FILES)
def test_one_reader_of_the_highest_rank_claims_each_file(name: str) -> None:
    reader, data = FILES[name]
    claiming = [card for card in CARDS.values() if card.recognises(data[:65536])]
    top = max((card.rank for card in claiming), default=0)
    if name != "tau-bench lines":  # its first row is a remark, which nobody knows
        assert [card.name for card in claiming if card.rank == top] == [reader]


ROWS: dict[str, tuple[str, Any]] = {
    "agent-process-bench": ("agent-process-bench", PROCESS),
    "atif": ("atif", ATIF),
    "inspect": ("inspect", {"log": LOG["eval"], "sample": SAMPLE}),
    "nemo-gym": ("nemo-gym", NEMO_GYM),
    "openhands": ("openhands", OPENHANDS),
    "openhands by kind": ("openhands", {"history": EVENTS}),
    "openrlhf": ("openrlhf", OPENRLHF),
    "responses": ("responses", RESPONSE | {"input": ASKED}),
    "swe-agent": ("swe-agent", SWE_AGENT),
    "tau-bench": ("tau-bench", TAU),
    "trl preference": (
        "trl",
        {"prompt": ASKED, "completion": DONE, "chosen": True, "score_chosen": 8.5},
    ),
    "trl stepwise": ("trl", STEPWISE),
    "verifiers": ("verifiers", VERIFIERS),
    "verl": ("verl", {**VERL, "responses": None, "response": "It is 7."}),
    "verl dump": ("verl", VERL_DUMP),
}
"""Rows as they reach `parse`."""

IMPLIED = frozenset({"role", "type", "source", "kind", "action"})
"""Names of fields whose value says what a thing is; the record says it by where it puts it."""
LEFT_OUT = {
    "inspect": {"attachment://abc"},  # the text that it stands for is put there instead
    "verifiers": {"is_truncated"},  # says the status
}
REPEATED = {"swe-agent": ("query",)}
"""The history once more, in every step."""


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, name)
    elif value is not None and value != "":
        yield name, value


def parse(name: str, row: Any, options: ReadOptions = OPTIONS) -> Trajectory:
    data = json.dumps(row).encode()
    return CARDS[name].reader().parse(RawRow(1, data), options)


@pytest.mark.parametrize("name", ROWS)
def test_every_value_of_a_row_is_in_the_record(name: str) -> None:
    reader, row = ROWS[name]
    record = json.loads(parse(reader, row).to_json())
    known = {leaf if isinstance(leaf, str) else float(leaf) for _, leaf in leaves(record)}
    joined = "\n".join(leaf for leaf in known if isinstance(leaf, str))
    lost = [
        (field, leaf)
        for field, leaf in leaves(without(row, REPEATED.get(reader, ())))
        if field not in IMPLIED
        and field not in LEFT_OUT.get(reader, ())
        and leaf not in LEFT_OUT.get(reader, ())
        and not is_in(leaf, known, joined)
    ]
    assert lost == []


def is_in(leaf: Any, known: set[Any], joined: str) -> bool:
    if isinstance(leaf, str):
        # Texts are joined (reasoning, paragraphs), and what is JSON in a text may be unfolded.
        return leaf in joined or unfolded(leaf) <= known
    return float(leaf) in known or str(leaf) in joined


def unfolded(text: str) -> set[Any]:
    try:
        return {leaf for _, leaf in leaves(json.loads(text))} or {text}
    except ValueError:
        return {text}


def without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def test_a_lost_value_is_noticed() -> None:
    assert not is_in("cat", {"dog", 1.0}, "dog")
    assert not is_in(2, {"dog", 1.0}, "dog")


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from nodes(item, (*path, key))
        else:
            yield (*path, key)


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 0.5, 10**30, "", "x", "{", "[1", '{"a": 1}', "\ud800"),
        *([], {}, [[]], [None], [{}], ["x"], [1.5, "y"], {"text": 1}, {"message": 3}),
        *([{"type": "text"}], [{"type": "text", "text": None}]),
        {"role": "assistant", "content": 5},
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("name", ROWS)
@given(data=st.data())
def test_a_damaged_row_is_a_trajectory_or_a_row_error(name: str, data: st.DataObject) -> None:
    reader, original = ROWS[name]
    row = copy.deepcopy(original)
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(nodes(row))
        if not paths:
            break
        *above, last = data.draw(st.sampled_from(paths))
        holder = row
        for key in above:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = copy.deepcopy(data.draw(JUNK))
        else:
            del holder[last]
    try:
        trajectory = parse(reader, row)
    except RowError:
        return
    assert Trajectory.model_validate_json(trajectory.to_json()) == trajectory


@pytest.mark.parametrize("name", sorted({reader for reader, _ in ROWS.values()}))
@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b"null", b'"x"', b"\xff", b"NaN"])
def test_a_row_of_something_else_is_a_row_error(name: str, data: bytes) -> None:
    with pytest.raises(RowError):
        CARDS[name].reader().parse(RawRow(1, data), OPTIONS)


@pytest.mark.parametrize("name", sorted({reader for reader, _ in ROWS.values()}))
def test_fields_of_ours_are_filled_from_any_column(name: str) -> None:
    row = next(row for reader, row in ROWS.values() if reader == name)
    options = ReadOptions(source="s", mapping={"reference": "own.answer", "checks.code": "own"})
    trajectory = parse(name, row | {"own": {"answer": "42"}}, options)
    assert trajectory.task.reference == "42"
    assert trajectory.task.checks == {"code": {"answer": "42"}}
    assert trajectory.metadata["own"] == {"answer": "42"}


class _Foreign(ReaderContract):
    broken_rows = (b"", b"{", b"[]", b"{}", b'"\xff"', b'{"id": 1.5}')


class TestAgentProcessBench(_Foreign):
    card = CARDS["agent-process-bench"]
    sample = FILES["agent-process-bench"][1]


class TestAtif(_Foreign):
    card = CARDS["atif"]
    sample = FILES["atif lines"][1]


class TestInspect(_Foreign):
    card = CARDS["inspect"]
    sample = FILES["inspect"][1]


class TestInspectArchive(_Foreign):
    card = CARDS["inspect"]
    sample = FILES["inspect archive"][1]


class TestNemoGym(_Foreign):
    card = CARDS["nemo-gym"]
    sample = FILES["nemo-gym"][1]


class TestOpenHands(_Foreign):
    card = CARDS["openhands"]
    sample = FILES["openhands"][1]


class TestOpenRlhf(_Foreign):
    card = CARDS["openrlhf"]
    sample = FILES["openrlhf"][1]


class TestResponses(_Foreign):
    card = CARDS["responses"]
    sample = FILES["responses"][1]


class TestSweAgent(_Foreign):
    card = CARDS["swe-agent"]
    sample = FILES["swe-agent"][1] * 2


class TestTauBench(_Foreign):
    card = CARDS["tau-bench"]
    sample = FILES["tau-bench"][1]


class TestTrl(_Foreign):
    card = CARDS["trl"]
    sample = FILES["trl preference"][1]


class TestVerifiers(_Foreign):
    card = CARDS["verifiers"]
    sample = FILES["verifiers"][1]


class TestVerl(_Foreign):
    card = CARDS["verl"]
    sample = FILES["verl"][1]
