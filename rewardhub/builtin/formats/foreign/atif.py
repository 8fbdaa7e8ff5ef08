"""ATIF: the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8."""

from __future__ import annotations

from typing import Any

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import Turns, take_words, tool_call
from rewardhub.errors import RowError


def is_atif(row: Fields) -> bool:
    """Whether ``row`` says that it is of a version of ATIF."""
    version = row.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF-")


class AtifReader(ForeignReader):
    """Reads ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8.

    One JSON document is one trajectory. Steps of the source ``agent`` are steps; those of
    ``system`` and ``user`` are the task's messages where they stand before, and observations
    after. Results join their call by ``source_call_id``. ATIF does not record how an attempt
    ended: it counts as completed. Time stamps, token ids, log probabilities, rewards of single
    steps and subagents stay in the metadata, in the shape of the file (``metadata.steps``).
    """

    format = "ATIF"

    def _read(self, row: Node, draft: Draft) -> None:
        if not is_atif(row.fields):
            raise RowError("the row has no `schema_version` of the form `ATIF-v1.x`")
        agent = row.object("agent")
        draft.fields["policy"] = {
            "name": agent.take_text("name"),
            "version": agent.take_text("version"),
        }
        draft.fields["id"] = row.take_id("trajectory_id") or row.take_id("session_id")
        totals = row.object("final_metrics")
        draft.fields["tokens"] = totals.take_count("total_completion_tokens")
        draft.fields["cost"] = totals.take_number("total_cost_usd")
        draft.task["tools"] = _tools(agent)
        for step in row.objects("steps"):
            _add_step(draft.turns, step)


def _tools(agent: Node) -> list[Fields]:
    agent.objects("tool_definitions")
    return agent.take("tool_definitions") or []


def _add_step(turns: Turns, step: Node) -> None:
    source = step.take_text("source")
    if source == "agent":
        _act(turns, step)
    elif source in ("system", "user"):
        if turns.steps:
            text, _ = take_words(step, "message")
            turns.say(source, text)
            if source == "system":
                step.fields["source"] = source  # an observation does not tell who spoke
        else:
            turns.ask(source, _content(step))
    else:
        raise RowError(f"`{step.where('source')}` is {source!r}, not system, user or agent")
    _add_results(turns, step)


def _content(step: Node) -> Any:
    if not isinstance(step.fields.get("message"), str | None):
        step.objects("message")
    return step.take("message") or ""


def _act(turns: Turns, step: Node) -> None:
    calls: list[Fields] = []
    for call in step.objects("tool_calls"):
        name = call.take_text("function_name")
        if not name:
            raise RowError(f"`{call.place}` is a tool call without `function_name`")
        calls.append(tool_call(name, call.take("arguments"), call.take_id("tool_call_id")))
    metrics = step.object("metrics")
    text, thoughts = take_words(step, "message")
    turns.act(
        text,
        reasoning=[step.take_text("reasoning_content"), *thoughts],
        calls=calls,
        tokens=metrics.take_count("completion_tokens"),
        cost=metrics.take_number("cost_usd"),
    )


def _add_results(turns: Turns, step: Node) -> None:
    if not turns.steps:
        return  # what the system did before the first turn stays in the metadata
    for result in step.object("observation").objects("results"):
        text, _ = take_words(result)
        turns.observe(text, result.take_id("source_call_id"))
