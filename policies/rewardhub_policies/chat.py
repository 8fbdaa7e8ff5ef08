"""ChatFormat: chat template and tool-call parser as one object, described by JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, field_validator

from rewardhub import (
    Options,
    Step,
    Task,
    TemplateFacts,
    UnknownNameError,
    UsageError,
    explain_validation,
)
from rewardhub_policies.call_parsers import PARSERS, CallParser
from rewardhub_policies.chat_messages import ArgumentsAs, messages_of, plain, tools_of
from rewardhub_policies.chat_named import FORMATS, template_named
from rewardhub_policies.chat_parsing import ParsedTurn, parse_turn
from rewardhub_policies.chat_template import render as render_template
from rewardhub_policies.chat_tokenizer import calls_in, facts_of_files, facts_of_tokenizer
from rewardhub_policies.chat_words import fenced, with_tools_told

__all__ = ["ChatFormat", "Habits", "chat_of"]

COMMON = TemplateFacts().special_tokens
"""Special tokens of the open families: what a GGUF file says of its own is not always all."""

Messages = Sequence[Mapping[str, Any]]
Plain = Annotated[Mapping[str, Any], AfterValidator(plain)]


@dataclass(frozen=True, slots=True)
class Habits:
    """What a template does, as it was found by rendering.

    Attributes:
        arguments: how it wants the arguments of calls.
        reasoning: where it takes earlier reasoning from: ``field`` (``reasoning_content``),
            ``content`` (between tags in the text), or ``dropped``.
        shows_tools: whether the tools that are given appear at all; if not, `render` tells of
            them in words.
        end: the special token that it writes after a turn of the model; empty for none.
    """

    arguments: ArgumentsAs
    reasoning: str
    shows_tools: bool
    end: str


class ChatFormat(Options):
    """How a model's chats are written, and how what it writes is read.

    One object for both directions: what trains a model, samples from it and grades it agree on
    every character. It needs neither torch nor transformers, and the JSON that describes it may
    stand in a task, under ``environment.chat``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    template: str = Field(min_length=1, repr=False)
    """The chat template: Jinja2 source, as transformers renders it."""
    calls: str = "none"
    """How tool calls are written: hermes, qwen3-coder, llama3, mistral, deepseek, react, none."""
    bos_token: str = ""
    """The template's ``bos_token``."""
    eos_token: str = ""
    """The template's ``eos_token``."""
    special_tokens: tuple[str, ...] = ()
    """Taken off what the model wrote. Default: those of the known open families."""
    end_tokens: tuple[str, ...] = ()
    """Tokens that end a turn, beside the one that the template writes. Default: ``eos_token``."""
    reasoning_tags: tuple[str, str] = ("<think>", "</think>")
    """What opens and closes reasoning."""
    variables: Plain = Field(default_factory=dict)
    """Further names that the template sees: ``{enable_thinking: false}``."""
    today: date | None = None
    """The date that the template may show; None for the day of the attempt."""

    @field_validator("calls")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in PARSERS:
            raise ValueError(str(UnknownNameError("format of tool calls", name, PARSERS)))
        return name

    @classmethod
    def of(cls, description: str | Mapping[str, Any]) -> Self:
        """Return the format that JSON describes.

        Args:
            description: the name of a shipped format or the folder of a tokenizer; or a mapping of
                this class's fields, where ``template`` may be a file, and ``use`` names the format
                or folder that the fields change.

        Raises:
            UsageError: that names what is wrong.
        """
        fields = {"use": description} if isinstance(description, str) else dict(description)
        use = fields.pop("use", None)
        if use is not None:
            fields = {**_named(str(use)), **fields}
        template = fields.get("template")
        if isinstance(template, str) and not _is_source(template):
            fields["template"] = _read(Path(template))
        try:
            made = cls.model_validate(fields)
        except ValidationError as error:
            raise UsageError(f"The chat format: {explain_validation(error, cls)}") from None
        made.check()
        return made

    @classmethod
    def from_tokenizer(cls, folder: str | Path, **changes: Any) -> Self:
        """Return the format of a model by the files of its tokenizer, read without torch.

        How it writes calls is told by its template; ``react`` where that shows no way.

        Args:
            folder: holds ``tokenizer_config.json``, and perhaps ``chat_template.jinja``.
            changes: fields to set otherwise.

        Raises:
            UsageError: if there is no tokenizer, or it has no chat template.
        """
        return cls.of({**facts_of_files(Path(folder)), **changes})._with_calls(changes)

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, end_ids: Sequence[int] = (), **changes: Any) -> Self:
        """Return the format of a tokenizer of transformers; see `from_tokenizer`.

        Args:
            tokenizer: the object itself.
            end_ids: the tokens that end a turn, beside its own ``eos_token``.
            changes: fields to set otherwise.

        Raises:
            UsageError: if it has no chat template.
        """
        return cls.of({**facts_of_tokenizer(tokenizer, end_ids), **changes})._with_calls(changes)

    def _with_calls(self, changes: Mapping[str, Any]) -> Self:
        if "calls" in changes:
            return self
        return self.of({**self.described, "calls": calls_in(self.template)})

    def check(self) -> None:
        """Render one message.

        Raises:
            UsageError: if the template is none, or the tokens and tags cannot be used.
        """
        self.render([{"role": "user", "content": "Hello"}])
        try:
            _ = self.facts
        except ValueError as error:
            raise UsageError(f"The chat format: {error}") from None

    @property
    def described(self) -> dict[str, Any]:
        """The JSON that `of` makes an equal format of: the template itself is in it."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def parser(self) -> CallParser:
        """What reads its calls."""
        return PARSERS[self.calls]

    @cached_property
    def habits(self) -> Habits:
        """What the template does, found by rendering small chats."""
        return _habits_of(self)

    @cached_property
    def facts(self) -> TemplateFacts:
        """What `normalise` has to know; tokens that calls are made of are left to `parse`."""
        prompt = self.render([{"role": "user", "content": "Hello"}]).rstrip()
        kept = {*self.parser.structure, *self.reasoning_tags}
        ends = (*(self.end_tokens or (self.eos_token,)), self.habits.end)
        return TemplateFacts(
            special_tokens=tuple(token for token in self.known_tokens if token not in kept),
            end_tokens=tuple(dict.fromkeys(filter(None, ends))),
            reasoning_tags=self.reasoning_tags,
            opens_reasoning=prompt.endswith(self.reasoning_tags[0]),
        )

    @property
    def known_tokens(self) -> tuple[str, ...]:
        """Every special token that it knows of."""
        special = self.special_tokens or COMMON
        named = (self.bos_token, self.eos_token)
        return tuple(filter(None, (*special, *self.end_tokens, *named)))

    def messages(self, task: Task, steps: Sequence[Step] = ()) -> list[dict[str, Any]]:
        """Return the chat so far as the template wants it; see `chat_messages.messages_of`."""
        messages = messages_of(task, steps, arguments=self.habits.arguments)
        if self.habits.reasoning != "content":
            return messages
        opens, closes = self.reasoning_tags
        return [
            {**message, "content": f"{opens}\n{thought}\n{closes}\n\n{message['content']}"}
            if (thought := message.get("reasoning_content"))
            else message
            for message in messages
        ]

    def tools(self, task: Task) -> list[dict[str, Any]]:
        """Return the task's tools as templates want them."""
        return tools_of(task)

    def render(
        self, messages: Messages, tools: Messages = (), *, generation_prompt: bool = True
    ) -> str:
        """Return the text of a chat, as ``apply_chat_template(tokenize=False)`` gives it.

        Args:
            messages: as `messages` gives them.
            tools: as `tools` gives them.
            generation_prompt: whether the model is to write next.

        Raises:
            UsageError: if the template refuses the chat.
        """
        if self.calls == "react":
            messages, tools = fenced(messages, tools), ()
        elif tools and self.calls != "none" and not self.habits.shows_tools:
            messages, tools = with_tools_told(messages, tools, self.parser), ()
        return self.rendered(messages, tools, generation_prompt=generation_prompt)

    def rendered(self, messages: Messages, tools: Messages, *, generation_prompt: bool) -> str:
        """Return what the template itself makes of a chat; tools it may leave out.

        Raises:
            UsageError: if the template refuses the chat.
        """
        return render_template(
            self.template,
            messages=messages,
            tools=tools,
            generation_prompt=generation_prompt,
            today=self.today,
            variables={
                "bos_token": self.bos_token, "eos_token": self.eos_token, **self.variables
            },
        )  # fmt: skip

    def delta(
        self, before: Messages, after: Messages, tools: Messages = (), *, ended: bool = True
    ) -> str:
        """Return what the template adds to a chat when others have spoken: token in, token out.

        The prompt, what the model wrote, and this text are the chat up to its next turn.

        Args:
            before: the chat up to the model's turn, which is its last message.
            after: the same with what came then: results of tools, words of the user.
            tools: what the chat shows.
            ended: whether the model's text has its end token; without it, the text begins with it.

        Raises:
            UsageError: if the template is not prefix-stable here: it writes the earlier part of a
                longer chat in another way, so that no text could be added to what the model saw.
        """
        prompt = self.render(before[:-1], tools)
        shorter = self.render(before, tools, generation_prompt=False)
        longer = self.render(after, tools)
        problem = _instability(
            prompt, shorter, longer, str(before[-1].get("reasoning_content", ""))
        )
        if problem:
            raise UsageError(
                f"The chat template is not prefix-stable: {problem}. Say `history: rerender`."
            )
        tail = self._tail(shorter)
        end = next((token for token in self.facts.end_tokens if tail.startswith(token)), "")
        return (tail.removeprefix(end) if ended else tail) + longer[len(shorter) :]

    def parse(self, raw: str, tools: Messages = (), *, first_call: int = 0) -> ParsedTurn:
        """Return what the model said in one turn; see `chat_parsing.parse_turn`."""
        facts = replace(self.facts, special_tokens=self._removed)
        return parse_turn(raw, parser=self.parser, facts=facts, tools=tools, first_call=first_call)

    @cached_property
    def _removed(self) -> tuple[str, ...]:
        """What is taken off text, once the calls are out of it."""
        return tuple(each for each in self.known_tokens if each not in self.reasoning_tags)

    def _tail(self, chat: str) -> str:
        """Return what the template writes after a model's turn: an end token, and white space."""
        inner = chat.rstrip()
        found = [token for token in self.facts.end_tokens if inner.endswith(token)]
        longest = max(found, key=len, default="")
        return chat[len(inner) - len(longest) :] if longest else ""


def _instability(prompt: str, shorter: str, longer: str, reasoning: str) -> str:
    """Return how the template writes the past anew, or "" if it only adds to it."""
    if reasoning and reasoning.strip() not in shorter:
        return "it drops the reasoning of the model's turns"
    if not shorter.startswith(prompt):
        return "a turn of the model does not begin with what its prompt ended with"
    if longer.startswith(shorter):
        return ""
    if reasoning and reasoning.strip() not in longer:
        return "it drops earlier reasoning when others speak"
    return "it writes earlier messages in another way when others speak"


def _habits_of(chat: ChatFormat) -> Habits:
    user = {"role": "user", "content": "Hello"}
    tool = {
        "type": "function",
        "function": {
            "name": "probe_tool",
            "description": "Probes.",
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}},
        },
    }

    def written(
        messages: Messages, tools: Messages = (), *, generation_prompt: bool = False
    ) -> str:
        # Some templates refuse a chat that ends with a call.
        try:
            return chat.rendered(messages, tools, generation_prompt=generation_prompt)
        except UsageError:
            return ""

    def shown(message: Mapping[str, Any], text: str, tools: Messages = ()) -> bool:
        return text in written([user, message], tools)

    def calls(arguments: Any) -> Mapping[str, Any]:
        function = {"name": "probe_tool", "arguments": arguments}
        call = {"id": "call00000", "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    thought = {"role": "assistant", "content": "Yes."}
    opens, closes = chat.reasoning_tags
    reasoning = "dropped"
    if shown({**thought, "reasoning_content": "probe thought"}, "probe thought"):
        reasoning = "field"
    elif shown(
        {**thought, "content": f"{opens}\nprobe thought\n{closes}\n\nYes."}, "probe thought"
    ):
        reasoning = "content"
    as_object = shown(calls({"key": "probe value"}), "probe value", [tool])
    as_text = shown(calls('{"key": "probe value"}'), "probe value", [tool])
    return Habits(
        arguments="text" if as_text and not as_object else "object",
        reasoning=reasoning,
        shows_tools="probe_tool" in written([user], [tool], generation_prompt=True),
        end=_token_at(
            written([user, thought]).partition("Yes.")[2].lstrip(), (*chat.known_tokens, *COMMON)
        ),
    )


def _token_at(text: str, tokens: Sequence[str]) -> str:
    """Return the longest of ``tokens`` that ``text`` begins with, or ""."""
    return max(filter(text.startswith, tokens), key=len, default="")


def _named(use: str) -> dict[str, Any]:
    if use in FORMATS:
        return {**FORMATS[use], "template": template_named(use)}
    if Path(use).is_dir():
        return dict(facts_of_files(Path(use)))
    raise UnknownNameError("chat format", use, FORMATS)


def _is_source(template: str) -> bool:
    return "{{" in template or "{%" in template or "\n" in template


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The chat template `{path}` is neither Jinja2 source nor a file that can be read: "
            f"{error}"
        ) from None


def chat_of(description: Any) -> ChatFormat:
    """Return the format that a task or an option describes, made once for equal descriptions.

    Raises:
        UsageError: as `ChatFormat.of` does.
    """
    return _chat_of(json.dumps(plain(description), sort_keys=True))


@lru_cache(maxsize=256)
def _chat_of(text: str) -> ChatFormat:
    return ChatFormat.of(json.loads(text))
