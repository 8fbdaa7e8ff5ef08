"""One attempt: the policy acts, its calls are run, what came back is observed, until it is over."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast

from rewardhub import (
    Environment,
    InfrastructureError,
    Message,
    Observation,
    PolicyInfo,
    Step,
    Task,
    TaskError,
    Trajectory,
    Turn,
)
from rewardhub_policies.acting import ActingPolicy, Action, OutsideError, seed_of
from rewardhub_policies.limits import AttemptLimits, cut
from rewardhub_policies.snapshots import digest_of

Fault = Literal["task", "grader", "infrastructure"]

RESERVED = ("use", "limits", "chat")
"""Keys of ``task.environment`` that are no options of the environment."""


async def attempt(
    policy: ActingPolicy,
    task: Task,
    environment: Environment | None,
    *,
    seed: int = 0,
    limits: AttemptLimits | None = None,
    resources: Mapping[str, object] | None = None,
) -> Trajectory:
    """Return one attempt of ``policy`` at ``task``; whatever breaks in it is a *broken* one.

    The environment is closed at the end, on cancellation too. If it dies during an action, it is
    built anew and the recorded actions are played again: dying again at the same action, the
    attempt is over and *completed*, with that as its observation; otherwise it is *broken*.

    Args:
        policy: who acts.
        task: what is asked; the policy sees `Task.for_policy` of it.
        environment: of this attempt alone; None for a task that is answered in one turn.
        seed: of this attempt.
        limits: where the task sets none.
        resources: what the environment's `reset` may ask for, by parameter: a sandbox, a judge.
    """
    course = _Course(policy, task, environment, seed=seed, resources=resources or {})
    try:
        await course.run(limits or AttemptLimits())
    finally:
        if environment is not None:
            await _closed(environment)
    return course.trajectory()


@dataclass(frozen=True, slots=True)
class _End:
    """How the attempt ended."""

    status: Literal["completed", "truncated", "broken"] = "completed"
    reason: str = ""
    fault: Fault | None = None
    broke: str = ""


class _Ended(Exception):  # noqa: N818  # it is no error
    def __init__(self, end: _End) -> None:
        super().__init__(end.reason)
        self.end = end


@dataclass(slots=True)
class _Course:
    """One attempt while it runs."""

    policy: ActingPolicy
    task: Task
    environment: Environment | None
    seed: int
    resources: Mapping[str, object]
    shown: Task = field(init=False)
    steps: list[Step] = field(default_factory=list[Step])
    acts: list[Any] = field(default_factory=list[Any])
    turns: list[Any] = field(default_factory=list[Any])
    initial: Turn = field(default_factory=Turn)
    end: _End = field(default_factory=_End)
    left: Mapping[str, Any] = field(default_factory=dict[str, Any])
    began: float = field(default_factory=time.monotonic)
    limits: AttemptLimits = field(default_factory=AttemptLimits)
    dead: bool = False

    async def run(self, limits: AttemptLimits) -> None:
        """Run to the end, whatever it is."""
        import asyncio

        self.shown = self.task.for_policy()
        try:
            self.limits = limits.of(self.task)
            await self._reset()
            async with asyncio.timeout(self.limits.seconds):
                await self._turns()
        except _Ended as ended:
            self.end = ended.end
        except TimeoutError:
            self.end = self._cut(f"the limit of {self.limits.seconds:g} seconds was reached")
        except TaskError as error:
            self.end = _End("broken", str(error), "task", "task")
        if self.end.status != "broken" and self.environment is not None:
            await self._collect(self.environment)

    def _cut(self, reason: str) -> _End:
        """Return the end at a limit; before any step there is nothing to be graded but a wait."""
        if not self.steps:
            self.steps.append(Step())
        return _End("truncated", reason)

    async def _reset(self) -> None:
        if self.environment is None:
            return
        try:
            self.initial = await reset(self.environment, self.task, self.resources)
        except (TaskError, InfrastructureError) as error:
            fault: Fault = "task" if isinstance(error, TaskError) else "infrastructure"
            reason = f"the environment could not be built: {error}"
            raise _Ended(_End("broken", reason, fault, "environment")) from error
        except Exception as error:
            raise _Ended(_bug("the environment", error)) from error
        self.task = _with_tools(self.task, self.initial)
        self.shown = _shown(self.task, self.environment)

    async def _turns(self) -> None:
        while True:
            self._check_limits()
            began = time.monotonic()
            action = await self._act()
            step, done = await self._answered(action.step)
            self.steps.append(step.replace(seconds=time.monotonic() - began))
            if action.finish in {"length", "context_length"}:
                what = "its reply was cut off" if action.finish == "length" else "no room was left"
                raise _Ended(_End("truncated", f"the policy stopped: {what}"))
            if done:
                return

    def _check_limits(self) -> None:
        spent = sum(step.tokens or 0 for step in self.steps)
        if len(self.steps) >= self.limits.steps:
            raise _Ended(self._cut(f"the limit of {self.limits.steps} steps was reached"))
        if self.limits.tokens is not None and spent >= self.limits.tokens:
            raise _Ended(self._cut(f"the limit of {self.limits.tokens} tokens was reached"))

    async def _act(self) -> Action:
        turn = len(self.steps)
        try:
            action = await self.policy.act(
                self.shown, tuple(self.steps), seed=seed_of(self.seed, turn)
            )
        except InfrastructureError as error:
            reason = f"the policy could not be asked: {error}"
            raise _Ended(_End("broken", reason, "infrastructure", "policy")) from error
        except Exception as error:
            raise _Ended(_bug("the policy", error)) from error
        seconds = {} if action.step.seconds is None else {"seconds": action.step.seconds}
        self.acts.append(dict(action.metadata) | {"finish": action.finish} | seconds)
        return action

    async def _answered(self, step: Step) -> tuple[Step, bool]:
        """Return the step with what came back, and whether the attempt is over."""
        from asyncio import CancelledError

        if self.environment is None:
            return step, True
        try:
            turn = await self.environment.act(step, step.tool_calls)
        except OutsideError as error:
            self.steps.append(step)
            raise _Ended(_End("broken", str(error), "infrastructure", "outside")) from error
        except InfrastructureError as error:
            return await self._died(self.environment, step, error)
        except CancelledError:  # at the limit on seconds, too
            self.steps.append(step)
            raise
        except Exception as error:
            self.steps.append(step)
            raise _Ended(_bug("the environment", error)) from error
        return self._observed(step, turn), turn.done

    def _observed(self, step: Step, turn: Turn) -> Step:
        self.turns.append(dict(turn.metadata))
        most = self.limits.output_chars
        seen = tuple(
            each.replace(content=cut(each.content, most)) if len(each.content) > most else each
            for each in turn.observations
        )
        return step.replace(observations=seen, state=turn.state)

    async def _died(
        self, environment: Environment, step: Step, error: InfrastructureError
    ) -> tuple[Step, bool]:
        """Return what an action means that killed its environment: see `attempt`."""
        try:
            await environment.close()
            await reset(environment, self.task, self.resources)
            for before in self.steps:
                await environment.act(before, before.tool_calls)
        except Exception as again:
            self.steps.append(step)
            reason = f"the environment died ({error}) and could not be rebuilt: {again}"
            raise _Ended(_End("broken", reason, "infrastructure", "environment")) from again
        try:
            await environment.act(step, step.tool_calls)
        except OutsideError as again:
            self.steps.append(step)
            raise _Ended(_End("broken", str(again), "infrastructure", "outside")) from again
        except InfrastructureError as again:
            told = f"the environment died twice at this action: {again}"
            ids = [call.id for call in step.tool_calls] or [""]
            seen = tuple(Observation(call_id=each, error=told) for each in ids)
            self.turns.append({"died": str(again)})
            self.dead = True
            return step.replace(observations=seen), True
        self.steps.append(step)
        reason = f"the environment died, and not again when rebuilt: {error}"
        raise _Ended(_End("broken", reason, "infrastructure", "environment"))

    async def _collect(self, environment: Environment) -> None:
        try:
            self.left = await environment.artifacts()
        except InfrastructureError as error:
            if self.dead:
                return
            reason = f"what the attempt left could not be collected: {error}"
            self.end = _End("broken", reason, "infrastructure", "environment")
        except Exception as error:  # noqa: BLE001  # a bug of one environment ends one attempt
            self.end = _bug("the environment", error)

    def trajectory(self) -> Trajectory:
        """Return the record of the attempt."""
        steps, end = self.steps, self.end
        costs = [step.cost for step in steps if step.cost is not None]
        tokens = [step.tokens for step in steps if step.tokens is not None]
        return Trajectory(
            task=self.task,
            steps=tuple(steps),
            status=end.status,
            reason=end.reason,
            fault=end.fault,
            artifacts=dict(self.left),
            policy=PolicyInfo(name=self.policy.name, version=self.policy.version),
            seconds=time.monotonic() - self.began,
            tokens=sum(tokens) if tokens else None,
            cost=sum(costs) if costs else None,
            metadata=self._metadata(),
        )

    def _metadata(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "seed": self.seed,
            "repeatable": self.policy.repeatable,
            "sampling": dict(self.policy.sampling),
            "limits": self.limits.model_dump(),
            "acts": self.acts,
        }
        if self.end.broke:
            told["broke"] = self.end.broke
        if self.environment is not None:
            described = dict(self.task.environment or {})
            identity = dict(self.environment.identity)
            pinned = [described, identity, dict(self.task.files)]
            told["environment"] = {
                "digest": digest_of(pinned),
                "identity": identity,
                "initial": {"state": self.initial.state, **self.initial.metadata},
                "turns": self.turns,
            }
        return told


async def reset(environment: Environment, task: Task, resources: Mapping[str, object]) -> Turn:
    """Reset ``environment`` with those of ``resources`` that it asks for.

    Raises:
        TaskError: if it asks for one that is not there, or as its `reset` does.
        InfrastructureError: as its `reset` does.
    """
    given = {name: each for name, each in resources.items() if name in _asked(type(environment))}
    missing = [
        name for name, needed in _asked(type(environment)).items() if needed and name not in given
    ]
    if missing:
        raise TaskError(
            f"an environment `{type(environment).__name__}` needs a {missing[0]}, and none is given"
        )
    return await environment.reset(task, **given)


@cache
def _asked(environment: type[Environment]) -> Mapping[str, bool]:
    """Return the resources that a class asks for, and whether it cannot do without."""
    parameters = list(inspect.signature(environment.reset).parameters.values())[2:]
    return {
        each.name: each.default is each.empty
        for each in parameters
        if each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
    }


async def _closed(environment: Environment) -> None:
    """Close for certain: a cancellation waits, and what close raises ends nobody's attempt."""
    import asyncio

    closing = asyncio.ensure_future(environment.close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await asyncio.wait([closing])
        raise
    except Exception:  # noqa: BLE001  # the attempt is over, and its record does not change
        _log().exception("an environment could not be closed")


def _log() -> Any:
    import logging

    return logging.getLogger(__name__)


def _bug(who: str, error: Exception) -> _End:
    broke = who.removeprefix("the ")
    return _End("broken", f"{who} raised {type(error).__name__}: {error}", "grader", broke)


def _with_tools(task: Task, turn: Turn) -> Task:
    """Return the task with the environment's tools after its own, and what the user opens with."""
    names = {_name_of(tool) for tool in task.tools}
    tools = [tool for tool in turn.tools if _name_of(tool) not in names]
    said = [Message(role="user", content=each.content) for each in turn.observations]
    if not tools and not said:
        return task
    return task.replace(id=task.id, tools=(*task.tools, *tools), messages=(*task.messages, *said))


def _name_of(tool: Mapping[str, Any]) -> Any:
    function = tool.get("function", tool)
    return cast("Mapping[str, Any]", function).get("name") if function else None


def _shown(task: Task, environment: Environment) -> Task:
    """Return what the policy sees of the task."""
    shown = task.for_policy()
    if not environment.hidden or shown.environment is None:
        return shown
    kept = {key: each for key, each in shown.environment.items() if key not in environment.hidden}
    return shown.replace(environment=kept)
