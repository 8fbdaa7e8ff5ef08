"""The policy `script`: turns that were written beforehand, or that a function makes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeAlias, cast

from pydantic import AfterValidator, Field, PrivateAttr, ValidationError

from rewardhub import Step, Task, UsageError, explain_validation
from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.chat_messages import plain

Said: TypeAlias = Action | Step | str | Mapping[str, Any] | None
"""What a script says in one turn: an Action, a Step or its fields, a text; None: nothing more."""

Script: TypeAlias = Callable[[Task, Sequence[Step], int], Said | Awaitable[Said]]
"""``script(task, steps, seed)``: what is said after ``steps``."""

ANY_TASK = "*"
"""Stands for every task that a script does not name."""


class ScriptPolicy(ActingPolicy):
    """Says what a file says, for tests and demonstrations.

    A Python file has a function ``act(task, steps, seed)``, which gets the task as a policy sees
    it, and hangs on nothing but its arguments. Otherwise there is a list of turns for each task
    id, or for ``*``: a text, or the fields of a step, where the ``arguments`` of a call may be a
    mapping. When the turns are used up, it says nothing more.
    """

    name: ClassVar[str] = "script"

    file: str | None = None
    """A Python file, or a JSON or YAML file of turns by task id."""

    turns: Annotated[Mapping[str, Any], AfterValidator(plain)] = Field(default_factory=dict)
    """Turns by task id, where there is no file."""

    _function: Script | None = PrivateAttr(default=None)
    _marked: str = PrivateAttr(default="")

    @classmethod
    def calling(cls, function: Script, *, version: str = "1") -> Self:
        """Return a policy that asks ``function`` for each turn."""
        made = cls(turns={ANY_TASK: []})
        made._function = function
        made._marked = version
        return made

    @property
    def version(self) -> str:
        """The digest of what it says."""
        if self._marked:
            return self._marked
        data = self._data if self.file else json.dumps(self.turns, sort_keys=True).encode()
        return blake2b(data, digest_size=16).hexdigest()

    @property
    def repeatable(self) -> bool:
        """Yes: a function is to hang on its arguments alone."""
        return True

    def open(self) -> None:
        """Read the file.

        Raises:
            UsageError: if it cannot be read, or is no script.
        """
        if self.file is None and not self.turns:
            raise UsageError("The policy `script` needs `file` or `turns`.")
        if self.file is not None and self.turns:
            raise UsageError("The policy `script` takes `file` or `turns`, not both.")
        _ = self._script

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        """Return the next turn of the script.

        Raises:
            UsageError: if there is none for this task, or what is said is no turn.
        """
        said = self._script(task, steps, seed)
        if inspect.isawaitable(said):
            said = await said
        return _action(said, len(steps), f"The script, turn {len(steps)} of task `{task.id}`")

    @cached_property
    def _data(self) -> bytes:
        try:
            return Path(self.file or "").read_bytes()
        except OSError as error:
            raise UsageError(
                f"The script `{self.file}` cannot be read: {error.strerror}."
            ) from None

    @cached_property
    def _script(self) -> Script:
        if self._function is not None:
            return self._function
        if self.file is not None and self.file.endswith(".py"):
            return _function_in(Path(self.file), self._data)
        turns = self.turns if self.file is None else _turns_in(self.file, self._data)
        return _Listed(turns)


class _Listed:
    """Says the turns of a list, one after the other."""

    def __init__(self, turns: Mapping[str, Any]) -> None:
        self.turns = turns
        wrong = next((key for key, listed in turns.items() if not isinstance(listed, list)), None)
        if wrong is not None:
            raise UsageError(f"The script has no list of turns under `{wrong}`.")

    def __call__(
        self,
        task: Task,
        steps: Sequence[Step],
        seed: int,  # noqa: ARG002  # nothing is drawn
    ) -> Said:
        turns = self.turns.get(task.id, self.turns.get(ANY_TASK))
        if turns is None:
            raise UsageError(
                f"The script says nothing of task `{task.id}`: name it, or `{ANY_TASK}` for all."
            )
        return turns[len(steps)] if len(steps) < len(turns) else None


def _action(said: Said, turn: int, where: str) -> Action:
    if isinstance(said, Action):
        return said
    if said is None:
        said = ""
    step = said if isinstance(said, Step) else _step(said, turn, where)
    return Action(step=step, finish="tool_calls" if step.tool_calls else "stop")


def _step(said: str | Mapping[str, Any], turn: int, where: str) -> Step:
    fields: dict[str, Any] = {"text": said} if isinstance(said, str) else dict(said)
    calls = fields.get("tool_calls", ())
    if calls:
        fields["tool_calls"] = [_call(call, f"turn{turn}call{n}") for n, call in enumerate(calls)]
    try:
        return Step.model_validate(fields)
    except ValidationError as error:
        raise UsageError(f"{where}: {explain_validation(error, Step)}") from None


def _call(call: Any, identity: str) -> Any:
    """Fill what follows from the rest: the id, and ``parsed`` or ``arguments`` from each other."""
    if not isinstance(call, Mapping):
        return call
    fields: dict[str, Any] = {"id": identity, "arguments": "{}", **call}
    if not isinstance(fields["arguments"], str):
        fields["arguments"] = json.dumps(fields["arguments"], ensure_ascii=False)
    if "parsed" not in fields:
        try:
            fields["parsed"] = json.loads(fields["arguments"])
        except ValueError:
            fields["parsed"] = None
    return fields


def _function_in(path: Path, source: bytes) -> Script:
    import sys
    from types import ModuleType

    name = f"rewardhub_script_{blake2b(source, digest_size=8).hexdigest()}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # Where dataclasses and pickles look for it.
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102  # the user named it
    except Exception as error:
        raise UsageError(f"The script `{path}` cannot be run: {error!r}") from error
    function: Any = getattr(module, "act", None)
    if not callable(function):
        raise UsageError(f"The script `{path}` has no function `act(task, steps, seed)`.")
    return cast("Script", function)


def _turns_in(file: str, data: bytes) -> Mapping[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # JSON is YAML, but for its tabs and a few escapes.
        turns = json.loads(data) if file.endswith(".json") else YAML(typ="safe").load(data)
    except (ValueError, YAMLError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"The script `{file}` is no JSON or YAML: {first}") from None
    if not isinstance(turns, Mapping):
        raise UsageError(f"The script `{file}` is no mapping from task ids to lists of turns.")
    checked: Mapping[str, Any] = plain(turns)
    return checked
