"""Chat templates: rendered as transformers renders them, without torch or transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import Any, NoReturn

from rewardhub import UsageError

__all__ = ["render"]


def render(
    template: str,
    *,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    generation_prompt: bool,
    today: date | None,
    variables: Mapping[str, Any],
) -> str:
    """Return ``messages`` as the Jinja2 ``template`` writes them.

    It sees what transformers' ``apply_chat_template`` shows: ``messages``, ``tools``,
    ``documents``, ``add_generation_prompt``, ``variables``, ``raise_exception`` and
    ``strftime_now``; ``{% generation %}`` and loop controls are known, and the sandbox keeps it
    from changing anything.

    Args:
        template: Jinja2 source.
        messages: chat messages as transformers takes them.
        tools: in the form of the OpenAI API.
        generation_prompt: whether to add what the model's next turn begins with.
        today: what ``strftime_now`` tells; None for the date of now.
        variables: further names: special tokens, ``enable_thinking``.

    Raises:
        UsageError: if the template is none, or refuses these messages.
    """
    from jinja2 import TemplateError

    compiled = _compiled(template)
    day = today or date.today()  # as transformers does, in local time
    try:
        return str(
            compiled.render(
                messages=list(messages),
                tools=list(tools) or None,
                documents=None,
                add_generation_prompt=generation_prompt,
                strftime_now=day.strftime,
                **variables,
            )
        )
    except _Refused as error:
        raise UsageError(f"The chat template refuses these messages: {error}") from None
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TemplateError, TypeError,
        ValueError,
    ) as error:  # fmt: skip
        raise UsageError(
            f"The chat template cannot render these messages: {type(error).__name__}: {error}"
        ) from error


class _Refused(Exception):  # noqa: N818  # it never leaves this module
    """What ``raise_exception`` raises."""


def _refuse(message: object) -> NoReturn:
    raise _Refused(str(message))


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON as models have seen it; Jinja2's own filter escapes HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@lru_cache(maxsize=64)
def _compiled(template: str) -> Any:
    from jinja2 import TemplateSyntaxError

    try:
        return _environment().from_string(template)
    except TemplateSyntaxError as error:
        raise UsageError(
            f"The chat template has a mistake on line {error.lineno}: {error}"
        ) from None


@cache
def _environment() -> Any:
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """Marks what the model itself wrote; here it is nothing but text."""

        tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment: Any = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    return environment
