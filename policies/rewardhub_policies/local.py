"""The policy `transformers`: a local model with its own chat template and its own way to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from rewardhub import (
    Generated,
    Lease,
    Message,
    ModelFiles,
    Observation,
    Step,
    Task,
    TextGenerator,
    ToolCall,
    Usage,
)
from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.budget import Budget, with_retries
from rewardhub_policies.chat import ChatFormat, chat_of
from rewardhub_policies.chat_parsing import ParsedTurn
from rewardhub_policies.chat_tokenizer import end_ids_of

History = Literal["append", "rerender"]


class LocalPolicy(ActingPolicy):
    """A causal language model on this machine, asked in batches.

    With `history: append` the model is shown the very tokens that it was shown and wrote before,
    and after them what the template adds for what came back, as in training. A template that
    writes the past anew (as those do that drop earlier reasoning) is refused by name; `rerender`
    writes the whole chat for each turn.
    """

    name: ClassVar[str] = "transformers"

    model: str = Field(min_length=1)
    """A folder, or a name of the Hugging Face hub, which is downloaded if it is not there."""

    gguf_file: str | None = None
    """A GGUF file in that folder."""

    device: str = "auto"
    """auto, cpu, cuda or cuda:NUMBER."""

    dtype: str = "auto"
    """auto (bfloat16 on a GPU, float32 on a CPU), bfloat16, float16 or float32."""

    chat: str | Mapping[str, Any] | None = None
    """The chat format, where it is not the model's own; a task may name another one in
    `environment.chat`."""

    history: History = "append"
    """`append`: token in, token out. `rerender`: the chat is rendered anew for each turn."""

    temperature: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How freely tokens are drawn; 0 takes the likeliest."""

    top_p: float = Field(default=1.0, gt=0, le=1)
    """The share of the likeliest tokens that are drawn from."""

    max_new_tokens: int = Field(default=1024, ge=1)
    """How many tokens one turn may have, reasoning included."""

    stop: tuple[str, ...] = ()
    """Texts that end a turn."""

    logprobs: bool = False
    """Whether the log probability of each token is recorded."""

    retries: int = Field(default=2, ge=0)
    """How often a turn is asked for again after a fault that may pass."""

    _lease: Lease[TextGenerator] | None = PrivateAttr(default=None)
    _budget: Budget = PrivateAttr(default_factory=Budget)

    @cached_property
    def files(self) -> ModelFiles:
        """Where the model lies.

        Raises:
            UsageError: if it is not there, or is no model.
        """
        return ModelFiles.find(self.model, gguf_file=self.gguf_file)

    @property
    def version(self) -> str:
        """The digest of the model's files."""
        return self.files.digest

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same trajectories: in float32; see `TextGenerator`."""
        return self._generator.repeatable

    @property
    def sampling(self) -> Mapping[str, Any]:
        """What the model was asked with."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_new_tokens": self.max_new_tokens,
            "stop": list(self.stop),
            "history": self.history,
        }

    def open(self) -> None:
        """Load the model.

        Raises:
            UsageError: if it cannot be loaded, or its template cannot be used.
        """
        if self._lease is None:
            self._lease = TextGenerator.lease(self.files, device=self.device, dtype=self.dtype)
        _check_history(self.own_chat, self.history)

    def close(self) -> None:
        """Give the model back."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def spend_from(self, budget: Budget) -> None:
        """Let every turn be paid from ``budget``; a local model costs tokens only."""
        self._budget = budget

    @property
    def _generator(self) -> TextGenerator:
        if self._lease is None:
            self.open()
        assert self._lease is not None
        return self._lease.model

    @cached_property
    def own_chat(self) -> ChatFormat:
        """The format that `chat` names, else the model's own."""
        if self.chat is not None:
            return chat_of(self.chat)
        tokenizer = self._generator.tokenizer
        return ChatFormat.of_tokenizer(tokenizer, end_ids_of(self.files.path))

    def chat_for(self, task: Task) -> ChatFormat:
        """Return the format of the chats about ``task``."""
        described = (task.environment or {}).get("chat")
        return self.own_chat if described is None else chat_of(described)

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        """Return the model's next turn.

        Raises:
            InfrastructureError: if the device is lost or out of memory.
            UsageError: if the template cannot render the chat, or is not prefix-stable.
        """
        chat = self.chat_for(task)
        turn = self._prompt(chat, task, steps)
        room = self._generator.context_length - len(turn.prompt_ids)
        if room < 1:
            return Action(step=Step(tokens=0), finish="context_length", metadata=turn.told)
        most = min(room, self.max_new_tokens)

        async def ask() -> Generated:
            bound = Usage(prompt_tokens=len(turn.prompt_ids), completion_tokens=most)
            async with self._budget.reserve(bound) as spend:
                made = await self._generator.generate(
                    turn.prompt_ids,
                    max_new_tokens=most,
                    temperature=self.temperature,
                    top_p=self.top_p,
                    seed=seed,
                    logprobs=int(self.logprobs),
                    stop=self.stop,
                )
                written = len(made.token_ids)
                spend(Usage(prompt_tokens=len(turn.prompt_ids), completion_tokens=written))
                return made

        made = await with_retries(ask, retries=self.retries, seed=seed)
        return self._action(chat, task, steps, turn, made)

    def _action(
        self, chat: ChatFormat, task: Task, steps: Sequence[Step], turn: _Turn, made: Generated
    ) -> Action:
        raw = self._decoded(made.token_ids)
        # A stop text is a token's part as often as not, and what follows it was not asked for.
        for stop in self.stop:
            raw = raw.partition(stop)[0]
        first = sum(len(step.tool_calls) for step in steps)
        said = chat.parse(raw, chat.tools(task), first_call=first)
        step = Step(
            text=said.text,
            reasoning=said.reasoning,
            tool_calls=said.tool_calls,
            tokens=len(made.token_ids),
        )
        _past.set(_Past(self, task.id, (*steps, step), (*turn.prompt_ids, *made.token_ids), said))
        told = {
            **turn.told,
            "raw": raw,
            "token_ids": list(made.token_ids),
            "problems": list(said.problems),
        }
        if self.logprobs:
            told["logprobs"] = [next(iter(each.values())) for each in made.logprobs]
        calls = made.finish_reason == "stop" and said.tool_calls
        finish = "tool_calls" if calls else made.finish_reason
        return Action(step=step, finish=finish, metadata=told)

    def _prompt(self, chat: ChatFormat, task: Task, steps: Sequence[Step]) -> _Turn:
        tools = chat.tools(task)
        past = _past.get()
        known = past is not None and past.is_of(self, task, steps)
        if past is None or not known or self.history == "rerender" or not steps:
            ids = self._encoded(chat.render(chat.messages(task, steps), tools))
            history: History = "rerender" if steps else self.history
            return _Turn(ids, {"history": history, "prompt_ids": ids})
        silent = steps[-1].replace(observations=())
        before = chat.messages(task, (*steps[:-1], silent))
        after = chat.messages(task, steps)
        added = self._encoded(chat.delta(before, after, tools, ended=past.said.ended))
        return _Turn([*past.token_ids, *added], {"history": "append", "prompt_ids": added})

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self._generator.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _decoded(self, ids: Sequence[int]) -> str:
        text: str = self._generator.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a turn is asked with; ``told`` says which of the tokens are new."""

    prompt_ids: list[int]
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Past:
    """The tokens of an attempt so far, its last turn included."""

    policy: LocalPolicy
    task_id: str
    steps: tuple[Step, ...]
    token_ids: tuple[int, ...]
    said: ParsedTurn

    def is_of(self, policy: LocalPolicy, task: Task, steps: Sequence[Step]) -> bool:
        """Return whether these are the tokens of the attempt with ``steps``."""
        return (
            self.policy is policy
            and self.task_id == task.id
            and len(self.steps) == len(steps)
            and all(map(_same_turn, self.steps, steps))
        )


def _same_turn(one: Step, other: Step) -> bool:
    return (one.text, one.reasoning, one.tool_calls) == (
        other.text,
        other.reasoning,
        other.tool_calls,
    )


_past: ContextVar[_Past | None] = ContextVar("rewardhub_policies_past", default=None)
"""Of the attempt that runs in this asyncio task. An attempt that is taken up elsewhere is rendered
anew for one turn, which is recorded with that turn."""


def _check_history(chat: ChatFormat, history: History) -> None:
    """Refuse, before the long job starts, a template that cannot be added to."""
    if history == "rerender" or chat.calls == "none":
        return
    asked = Message(role="user", content="Hello")
    task = Task(id="probe", messages=(asked,), tools=({"name": "probe", "parameters": {}},))
    call = ToolCall(id="call00000", name="probe", arguments="{}", parsed={})
    silent = Step(tool_calls=(call,))
    step = silent.replace(observations=(Observation(call_id=call.id, content="ok"),))
    before, after = chat.messages(task, (silent,)), chat.messages(task, (step,))
    chat.delta(before, after, chat.tools(task))
