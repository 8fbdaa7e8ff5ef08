"""Prompts: Jinja2 templates in files, with a version, a digest and no surprises."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Template", "pack_template", "template_in"]

_FOLDER = Path(__file__).parent / "templates"
_VERSION = re.compile(r"\{#-?\s*version:\s*(\S+)\s*-?#\}")


class Template:
    """A prompt: a block ``user``, and a block ``system`` where there is one.

    The environment is sandboxed, and a variable that is not there is an error. The variables that
    hold data are fenced already, so a template cannot show a text as anything but data.

    Args:
        text: the template; its first line is ``{# version: 1 #}``.
        where: what messages call it.
        variables: the names that it may use.

    Attributes:
        version: what its first line says.
        digest: SHA-256 of the text.

    Raises:
        ValueError: for a mistake in it.
    """

    def __init__(self, text: str, where: str, variables: frozenset[str]) -> None:
        from jinja2 import StrictUndefined, TemplateSyntaxError, meta
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        version = _VERSION.match(text)
        if version is None:
            raise ValueError(f"{where} does not begin with its version: `{{# version: 1 #}}`")
        self.version = version[1]
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
        )
        try:
            unknown = sorted(meta.find_undeclared_variables(environment.parse(text)) - variables)
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise ValueError(f"{where}, line {error.lineno}: {error.message}") from None
        if unknown:
            known = ", ".join(f"`{name}`" for name in sorted(variables))
            raise ValueError(f"{where} uses `{unknown[0]}`, and there is only {known}")
        if "user" not in self._template.blocks:
            raise ValueError(f"{where} has no `{{% block user %}}`, which holds what is asked")

    @property
    def identity(self) -> Mapping[str, str]:
        """What tells it from others."""
        return {"version": self.version, "digest": self.digest}

    def messages(self, context: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the chat that asks with these variables."""
        variables = self._template.new_context(dict(context))
        blocks = self._template.blocks
        return [
            {"role": role, "content": "".join(blocks[role](variables)).strip()}
            for role in ("system", "user")
            if role in blocks
        ]


@cache
def pack_template(name: str, variables: frozenset[str]) -> Template:
    """Return the template of this pack that is called ``name``."""
    text = (_FOLDER / f"{name}.j2").read_text(encoding="utf-8")
    return Template(text, f"the template `{name}`", variables)


def template_in(path: Path, variables: frozenset[str]) -> Template:
    """Return the template in a user's own file.

    Raises:
        ValueError: if it cannot be read, or for a mistake in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise ValueError(f"the template {path} cannot be read: {error}") from None
    return Template(text, f"the template {path}", variables)
