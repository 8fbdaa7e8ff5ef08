"""`rules/json-schema`: the answer is JSON that satisfies a schema."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self

from pydantic import model_validator

from rewardhub import Grader, Score, TaskError, Trajectory, Workers
from rewardhub_rules.answers import answer_of, check_of, empty
from rewardhub_rules.fences import fences
from rewardhub_rules.json_text import BadJsonError, read_json
from rewardhub_rules.schemas import Ready, ready, text_of

__all__ = ["JsonSchema"]

_INLINE_CHARACTERS = 20_000
"""Documents up to this size are validated where the grader runs, if the schema is cheap."""


class JsonSchema(Grader):
    """Full marks for an answer that is JSON and satisfies a JSON Schema.

    The schema is the option, or what each task says under ``checks.json_schema``; its dialect is
    what ``$schema`` says, else Draft 2020-12. Nothing is ever fetched. The answer is the JSON, or
    has it in its only fenced block. What is no JSON gets 0: a name twice in one object, NaN, text
    behind the value, more than 64 levels of nesting.
    """

    json_schema: dict[str, Any] | bool | None = None
    """The schema; without it, that of the task."""
    fence: Literal["allowed", "required", "refused"] = "allowed"
    """Whether the JSON stands in a fenced block."""
    text_around: bool = True
    """Whether there may be text outside of the fenced block."""
    value: Literal["all", "share"] = "all"
    """1 only if all is right, or a share: one for each property that the schema itself requires
    and that is there and right, one for the whole."""

    @model_validator(mode="after")
    def _make_ready(self) -> Self:
        if self._schema is not None:
            ready(self._schema)
        return self

    @cached_property
    def _schema(self) -> str | None:
        return None if self.json_schema is None else text_of(self.json_schema)

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Validate the JSON of the final text."""
        text = self._schema or text_of(check_of(trajectory, "json_schema", "json_schema"))
        try:
            schema = ready(text)
        except ValueError as error:
            raise TaskError(f"`checks.json_schema`: {error}") from None
        answer = answer_of(trajectory)
        if not answer:
            return empty()
        try:
            document = self._document(answer)
            found = read_json(document)
        except BadJsonError as error:
            return Score.of(0.0, str(error))
        share = self.value == "share"
        if schema.is_cheap and len(answer) <= _INLINE_CHARACTERS:
            try:
                return Score.of(*_judge(schema, schema.validator, found, share=share))
            except TimeoutError:  # a pattern that takes long is left to where it can be killed
                pass
        return Score.of(*workers.call(judge_in_worker, text, document, share=share))

    def _document(self, answer: str) -> str:
        """Return the text that should be JSON.

        Raises:
            BadJsonError: if it does not stand where it was asked to stand.
        """
        # No JSON has a line that starts with a fence, for its strings hold no newlines.
        blocks = fences(answer)
        if self.fence == "refused" or not blocks:
            if self.fence == "required":
                raise BadJsonError("there is no fenced block")
            return answer
        block, *others = blocks
        if others:
            raise BadJsonError(f"there are {len(blocks)} fenced blocks")
        if not block.closed:
            raise BadJsonError("the fenced block is never closed")
        if block.language not in {"", "json"}:
            raise BadJsonError(f"the fenced block says `{block.language:.40}`, not `json`")
        if not self.text_around and (answer[: block.start] + answer[block.end :]).strip():
            raise BadJsonError("there is text outside of the fenced block")
        return block.content


def judge_in_worker(schema: str, document: str, *, share: bool) -> tuple[float, str]:
    """Return value and reason, however long it takes."""
    made = ready(schema)
    return _judge(made, made.patient, read_json(document), share=share)


def _judge(schema: Ready, validator: Any, found: Any, *, share: bool) -> tuple[float, str]:
    """Return value and reason for JSON that was ``found``.

    Raises:
        TimeoutError: if a pattern takes longer than ``validator`` waits.
    """
    error = next(validator.iter_errors(found), None)
    if error is None:
        return 1.0, "it satisfies the schema"
    reason = f"{error.json_path}: {error.message:.200}"
    if not (share and isinstance(found, dict)):
        return 0.0, reason
    paths = [each.absolute_path for each in validator.iter_errors(found)]
    wrong = {path[0] for path in paths if path}
    right = sum(1 for name in schema.required if name in found and name not in wrong)
    return right / (len(schema.required) + 1), reason
