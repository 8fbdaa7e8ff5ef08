"""Options as a user wrote them: checked, with the secrets that they name from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from rewardhub.errors import SpecError
from rewardhub.spec.explain import Subject, validated
from rewardhub.spec.marks import Mistakes, Node
from rewardhub.spec.secrets import hide, refuse_plain_secrets, revealed
from rewardhub.spec.source import node_of

M = TypeVar("M", bound=BaseModel)


def options_of(model: type[M], written: Mapping[str, Any], *, where: str, owner: str) -> M:
    """Return the options that a user wrote as plain values, with a secret for each ``{env: NAME}``.

    Args:
        model: has the options as its fields.
        written: what stands in a file or on a command line.
        where: begins each message: "Policy `openai`".
        owner: who has the options, in messages: "`openai`".

    Raises:
        SpecError: with every mistake: unknown and wrong options, a secret that stands there itself,
            a variable that is not set. No message holds a secret.
    """
    mistakes = Mistakes()
    made = made_of(model, node_of(written), mistakes, where=where, owner=owner)
    if made is None or mistakes.errors:
        raise SpecError(mistakes.found)
    return made


def made_of(
    model: type[M],
    node: Node,
    mistakes: Mistakes,
    *,
    where: str,
    owner: str,
    name: str = "",
    spared: bool = False,
) -> M | None:
    """Return the options in ``node``, or None where they have mistakes, which are noted.

    Args:
        model: has the options as its fields.
        node: where they are written.
        mistakes: takes what is wrong.
        where: begins each message.
        owner: who has the options, in messages.
        name: begins the names of variables that messages suggest.
        spared: whether secrets may be missing from the environment.
    """

    def fix(key: str) -> str:
        variable = "_".join(filter(None, (name, key))).upper().replace("-", "_")
        return f"Name the environment variable that holds it: `{key}: {{env: {variable}}}`."

    refuse_plain_secrets(node, where, fix, mistakes)
    found = Mistakes()
    data = revealed(node, where, Mistakes() if spared else found)
    made = validated(model, node, Subject(where, owner, "option "), found, data=data)
    for mistake in found.found:
        # What a model says of its options may quote them.
        mistakes.found.append(replace(mistake, message=hide(mistake.message, node)))
    return made
