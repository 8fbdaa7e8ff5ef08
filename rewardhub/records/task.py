"""Task: what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator
from pydantic_core import to_json

from rewardhub.records.base import (
    EMPTY,
    SCHEMA_VERSION,
    Json,
    JsonMapping,
    Record,
    digest_of,
    digest_of_bytes,
)

Role = Literal["system", "developer", "user", "assistant", "tool"]


class ToolCall(Record):
    """A call that the policy asked for.

    ``arguments`` is the raw text that the policy wrote; ``parsed`` is its JSON value, or None
    where the text is no JSON (which is the policy's doing, not an error of the record).
    """

    kind: ClassVar[str] = "tool call"

    id: str = ""
    name: str
    arguments: str = ""
    parsed: Json = None


class Message(Record):
    """One message of a chat. ``content`` is text, or a tuple of content parts (images, text)."""

    kind: ClassVar[str] = "message"

    role: Role
    content: str | tuple[JsonMapping, ...] = ""
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The text of the message; the text parts joined where content has parts."""
        if isinstance(self.content, str):
            return self.content
        return "".join(str(part.get("text", "")) for part in self.content)


class Task(Record):
    """What was asked: the messages, the tools at hand, and how the attempt is checked.

    ``id`` defaults to the digest of messages and reference, so equal questions are one task.
    ``checks`` maps a key (``code``, ``rules``, ...) to JSON; the card of the grader that owns a
    key names the pydantic model of its value. Reference and checks are for graders only:
    whatever a policy or an export may see comes from `for_policy`.
    """

    kind: ClassVar[str] = "task"

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str = ""
    domain: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[JsonMapping, ...] = ()
    reference: Json = None
    checks: JsonMapping = EMPTY
    files: JsonMapping = EMPTY
    environment: JsonMapping | None = None
    split: str | None = None
    metadata: JsonMapping = EMPTY

    @field_validator("files")
    @classmethod
    def _files_are_text(cls, files: Mapping[str, Any]) -> Mapping[str, Any]:
        wrong = next((path for path, text in files.items() if not isinstance(text, str)), None)
        if wrong is not None:
            raise ValueError(f"the content of file `{wrong}` must be text")
        return files

    def model_post_init(self, _context: Any) -> None:
        """Give a task without an id the one that its content makes."""
        if not self.id:
            vars(self)["id"] = self._default_id()

    def _default_id(self) -> str:
        asked: list[Any] = []
        texts = self.reference is None or type(self.reference) is str
        for message in self.messages:
            if message.tool_calls or message.tool_call_id is not None:
                texts = False
                asked.append(message.model_dump(mode="json"))
            else:
                texts = texts and type(message.content) is str
                asked.append([message.role, message.content])
        if texts:  # without objects and numbers the quicker writer gives the same bytes
            return digest_of_bytes(to_json([asked, self.reference]))
        return digest_of([asked, self.reference])

    @cached_property
    def digest(self) -> str:
        """The digest of everything in the task; it ignores the order of fields."""
        return digest_of(self.model_dump(mode="json", exclude_none=True))

    @property
    def prompt(self) -> str:
        """The text of the last user message, or of the last message where no user spoke."""
        spoken = [message for message in self.messages if message.role == "user"]
        last = spoken or list(self.messages)
        return last[-1].text if last else ""

    def for_policy(self) -> Task:
        """Return the only view that policies and exports may show: no reference, no checks."""
        kept = {
            name: getattr(self, name)
            for name in ("id", "domain", "messages", "tools", "files", "environment", "split")
        }
        return Task(**kept)


class PolicyInfo(Record):
    """Who acted: the policy's name and version."""

    kind: ClassVar[str] = "policy"

    name: str = ""
    version: str = ""


class Observation(Record):
    """What came back for a tool call: content, or an error, or an exit code."""

    kind: ClassVar[str] = "observation"

    call_id: str = ""
    content: str = ""
    error: str | None = None
    exit_code: int | None = None


class Step(Record):
    """One turn of the policy: its text, its tool calls, and what came back.

    ``seconds`` is wall time, ``tokens`` what the policy wrote, ``cost`` money in US dollars,
    ``state`` a snapshot of the environment (JSON) after the step. None means not recorded.
    """

    kind: ClassVar[str] = "step"

    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    state: Json = None
