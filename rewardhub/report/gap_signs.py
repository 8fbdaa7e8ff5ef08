"""What can be seen in one attempt: in its Reward, in its calls, in its texts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic_core import to_jsonable_python

from rewardhub.records import Observation, Reward, Step, ToolCall, Trajectory
from rewardhub.report.gap_answers import answer_of, reaches, references_of
from rewardhub.report.gap_rules import Thresholds
from rewardhub.report.scored import ScoredPair

_ERROR = re.compile(
    r"\s*\W{0,3}(?:(?:error|exception|traceback)\b|\w*(?:error|exception):)", re.IGNORECASE
)
_CALL_IN_TEXT = re.compile(r"<tool_call>|<function=|<\|python_tag\|>|\[TOOL_CALLS\]")
_WORD = re.compile(r"\w{4,}")
_PIECE = 1000
_FORMAT_PACK = "rules/"


@dataclass(frozen=True, slots=True)
class Seen:
    """One attempt, as far as the gap report looks at it.

    Attributes:
        id: of the trajectory.
        success: True, False, or None where that cannot be said.
        fault: whose fault an unscored attempt is.
        answer: its answer, in the form in which equal answers are equal; empty for none.
        reached: whether it names the reference; None where nobody can say.
        signs: names of the signs in it that need no look at its siblings.
        completed: whether it ended by itself; ``steps``: how many it took.
    """

    id: str
    success: bool | None
    fault: str | None
    answer: str
    reached: bool | None
    signs: frozenset[str]
    completed: bool
    steps: int


def look_at(pair: ScoredPair, limits: Thresholds) -> Seen:
    """Return what is seen in one attempt."""
    trajectory, reward = pair.trajectory, pair.reward
    judged = reward.success is not None
    answer = answer_of(trajectory.final_text) if judged else ""
    references = references_of(trajectory.task) if judged else ()
    return Seen(
        id=trajectory.id,
        success=reward.success,
        fault=reward.fault,
        answer=answer,
        reached=reaches(trajectory, answer, references),
        signs=frozenset(_signs(trajectory, reward, limits)) if judged else frozenset(),
        completed=trajectory.status == "completed",
        steps=len(trajectory.steps),
    )


def _signs(trajectory: Trajectory, reward: Reward, limits: Thresholds) -> Iterator[str]:
    calls = [call for step in trajectory.steps for call in _calls_of(step)]
    yield from _of_form(trajectory, reward, limits)
    yield from _of_calls(trajectory, calls)
    if _metrics(reward, "agent/valid-calls").get("faults"):
        yield "invalid-call"
    repeated = _metrics(reward, "agent/no-loops").get("faults", 0.0) + 1 >= limits.loop_calls
    if repeated or _most_alike(trajectory, calls) >= limits.loop_calls:
        yield "loop"
    if any(one.error and one.key == next_.key for one, next_ in pairwise(calls)):
        yield "same-call-after-error"
    if _leaves_error(calls, _metrics(reward, "agent/recovers")):
        yield "error-left"
    if trajectory.task.tools and not calls and trajectory.status == "completed":
        yield "stopped-early"


def _metrics(reward: Reward, grader: str) -> Mapping[str, float]:
    """Return the metrics of a grader's Score, where the spec has that grader."""
    scores = (part.score for part in reward.parts if part.score is not None)
    return next((score.metrics for score in scores if score.grader == grader), {})


# --- the form -----------------------------------------------------------------------------------


def _of_form(trajectory: Trajectory, reward: Reward, limits: Thresholds) -> Iterator[str]:
    if reward.decided_by is not None and _is_format(reward, reward.decided_by, limits):
        yield "wrong-format"
    if trajectory.status == "truncated":
        yield "truncated"
    elif trajectory.task.environment is None and _says_nothing(trajectory):
        yield "no-answer"
    if _is_unread(trajectory, limits):
        yield "unread-input"


def _is_format(reward: Reward, gate: str, limits: Thresholds) -> bool:
    if any(word and word in gate.casefold() for word in limits.format_gates.split("|")):
        return True
    graders = [part.score.grader for part in reward.parts if part.stage == gate and part.score]
    return bool(graders) and all(grader.startswith(_FORMAT_PACK) for grader in graders)


def _says_nothing(trajectory: Trajectory) -> bool:
    last = trajectory.steps[-1] if trajectory.steps else Step()
    return not last.text.strip() and not last.tool_calls


def _is_unread(trajectory: Trajectory, limits: Thresholds) -> bool:
    """Whether a long input hardly comes up: by words that stand in one piece of it alone."""
    task = trajectory.task
    texts = [message.text for message in task.messages]
    files = {path: str(text) for path, text in task.files.items()}
    if sum(map(len, (*texts, *files.values()))) < limits.long_input:
        return False
    written = " ".join(
        text
        for step in trajectory.steps
        for text in (step.text, step.reasoning or "", *(call.arguments for call in step.tool_calls))
    )
    opened = [path for path in files if path.rpartition("/")[2] in written]
    pieces = [piece for text in texts for piece in _pieces(text)]
    closed = [piece for path in files if path not in opened for piece in _pieces(files[path])]
    known = Counter(word for piece in (*pieces, *closed) for word in piece)
    said = set(_WORD.findall(written.casefold()))
    read = sum(any(known[word] == 1 for word in piece & said) for piece in (*pieces, *closed))
    of_opened = sum(len(_pieces(files[path])) for path in opened)
    return read + of_opened < limits.read_share * (len(pieces) + len(closed) + of_opened)


def _pieces(text: str) -> list[set[str]]:
    cut = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return [set(_WORD.findall(piece.casefold())) for piece in cut]


# --- the calls ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    key: str
    broken: bool
    result: str | None
    error: bool


def _calls_of(step: Step) -> Iterator[_Call]:
    by_id = {each.call_id: each for each in step.observations if each.call_id}
    nameless = iter([each for each in step.observations if not each.call_id])
    for call in step.tool_calls:
        result = by_id.get(call.id) or next(nameless, None)
        arguments = _arguments_of(call)
        asked = call.arguments if arguments is None else json.dumps(arguments, sort_keys=True)
        yield _Call(
            name=call.name,
            key=f"{call.name}({asked})",
            broken=arguments is None,
            result=None if result is None else result.error or result.content,
            error=result is not None and _is_error(result),
        )


def _arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments as plain JSON, or None where they are no JSON object."""
    value: Any = call.parsed
    if value is None:
        try:
            value = json.loads(call.arguments.strip() or "{}")
        except (ValueError, RecursionError):
            return None
    return dict(to_jsonable_python(value)) if isinstance(value, Mapping) else None


def _is_error(result: Observation) -> bool:
    return result.error is not None or bool(result.exit_code) or bool(_ERROR.match(result.content))


def _of_calls(trajectory: Trajectory, calls: list[_Call]) -> Iterator[str]:
    task = trajectory.task
    names = {name for name in map(_name_of, task.tools) if name}
    if names and any(call.name not in names for call in calls):
        yield "unknown-tool"
    if any(call.broken for call in calls):
        yield "broken-arguments"
    if task.tools and any(_CALL_IN_TEXT.search(step.text) for step in trajectory.steps):
        yield "call-in-text"


def _name_of(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return str(named.get("name", ""))


def _most_alike(trajectory: Trajectory, calls: list[_Call]) -> int:
    """Return how often the same call gave the same result, or the same text came."""
    alike = Counter(f"{call.key} -> {call.result}" for call in calls if call.result is not None)
    texts = Counter(step.text.strip() for step in trajectory.steps if not step.tool_calls)
    del texts[""]
    return max((*alike.values(), *texts.values()), default=0)


def _leaves_error(calls: list[_Call], recovers: Mapping[str, float]) -> bool:
    if "errors" in recovers:
        return recovers["errors"] > recovers.get("recovered", 0.0)
    answered = [call for call in calls if call.result is not None]
    return bool(answered) and answered[-1].error
