"""Trajectories of SWE-agent: one ``.traj`` file, one attempt."""

from __future__ import annotations

from typing import Any

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import add_message, take_calls, take_words, tool_call
from rewardhub.errors import RowError

_LIMITS = ("exit_context", "exit_cost", "exit_total_execution_time", "exit_command_timeout")
_BREAKS = ("exit_api", "exit_environment_error", "exit_error")


def is_swe_agent(row: Fields) -> bool:
    """Whether ``row`` has the ``trajectory`` of a ``.traj`` file: actions and responses."""
    steps: Any = row.get("trajectory")
    first = steps[0] if isinstance(steps, list) and steps else None
    if not isinstance(first, dict):
        return steps == [] and "history" in row and "info" in row
    has_step = "action" in first and "args" not in first and "source" not in first
    return has_step and ("observation" in first or "environment" in row)


class SweAgentReader(ForeignReader):
    """Reads ``.traj`` files of SWE-agent 0.x and 1.x.

    A file is one attempt. The messages of ``history`` before the model's first are the task's;
    each entry of ``trajectory`` is a step: its response, the call, the observation, the state
    behind it, the seconds it took. Where the model called functions, the calls are those of
    ``history``; where its action was parsed out of text, it is a call of ``bash`` with an id made
    of the step's number. The submitted patch is ``artifacts.submission``. ``exit_status`` decides
    the status: over a limit is truncated, an API or environment error is broken, a missing one
    means that the run was stopped (truncated). ``trajectory[].query`` is left out: it repeats the
    whole history for each step.
    """

    format = "SWE-agent"

    def _read(self, row: Node, draft: Draft) -> None:
        steps = row.objects("trajectory")
        if "trajectory" not in row.fields:
            raise RowError("the row has no `trajectory`")
        history = list(row.objects("history"))
        asked = next((at for at, each in enumerate(history) if _is_act(each)), len(history))
        queries = [query for step in steps[:1] for query in step.objects("query")]
        for message in history[:asked] or queries:
            if message.has("role"):
                add_message(draft.turns, message, is_policy=False)
        _add_steps(draft, steps, history[asked:])
        _add_info(draft, row.object("info"))
        row.unfold("replay_config")
        if isinstance(row.fields.get("replay_config"), dict):
            draft.task["id"] = _problem_of(row.object("replay_config"))


def _is_act(message: Node) -> bool:
    return message.fields.get("role") == "assistant" and not message.fields.get("is_demo")


def _problem_of(config: Node) -> str:
    problem = config.fields.get("problem_statement")
    return config.object("problem_statement").take_id("id") if isinstance(problem, dict) else ""


def _add_steps(draft: Draft, steps: Any, history: list[Node]) -> None:
    acts = [message for message in history if _is_act(message)]
    at = 0
    for number, step in enumerate(steps, start=1):
        step.take("query")
        action, response = step.fields.get("action"), step.take_text("response")
        # Attempts that were asked for again stand in `trajectory` only, the last one often, too.
        if at < len(acts) and acts[at].fields.get("action") == action:
            calls = take_calls(acts[at])
            at += 1
        else:
            calls = []
        if not calls and step.take_text("action"):
            calls = [tool_call("bash", {"command": action}, f"step-{number}")]
        thought = step.take_text("thought")
        if thought and thought.strip() not in response:
            step.fields["thought"] = thought
        text = response or thought
        reasoning = [text for block in step.objects("thinking_blocks") for text in _thought(block)]
        draft.turns.act(
            text,
            reasoning=reasoning,
            calls=calls,
            seconds=step.take_number("execution_time"),
            state=_state(step),
        )
        if step.has("observation"):  # an empty one, too: the command ran and printed nothing
            observation, _ = take_words(step, "observation")
            draft.turns.observe(observation, calls[-1]["id"] if calls else "")


def _thought(block: Node) -> list[str]:
    return [block.take_text("thinking")]


def _state(step: Node) -> Any:
    step.unfold("state")
    return step.take("state")


def _add_info(draft: Draft, info: Node) -> None:
    stats = info.object("model_stats")
    draft.fields["cost"] = stats.take_number("instance_cost")
    draft.fields["tokens"] = stats.take_count("tokens_received")
    if info.has("submission"):
        draft.fields["artifacts"] = {"submission": info.take_text("submission")}
    status = info.fields.get("exit_status")
    if status is None:
        draft.truncate("the run was stopped before it ended: there is no `exit_status`")
        return
    if not isinstance(status, str):
        raise info.wrong("exit_status", "a text")
    if any(name in status for name in _BREAKS):
        draft.break_off(f"exit status {status}")
    elif any(name in status for name in _LIMITS):
        draft.truncate(f"exit status {status}")
    else:
        draft.complete()
