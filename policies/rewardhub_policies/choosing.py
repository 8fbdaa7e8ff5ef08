"""A policy as the command line names it: ``--policy openai --set model=m``, or a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardhub import Policy, PolicyCard, Registry, UsageError, options_of
from rewardhub_policies.chat_messages import plain

__all__ = ["ChosenPolicy", "policy_from"]


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy, and how it was named.

    Attributes:
        policy: made of its options, not yet opened.
        described: ``{use: ..., options...}`` as it may be written down: secrets are still
            ``{env: NAME}``.
    """

    policy: Policy
    described: Mapping[str, Any]


def policy_from(named: str, registry: Registry, settings: Sequence[str] = ()) -> ChosenPolicy:
    """Return the policy that a user names.

    Args:
        named: the name of a policy, or a YAML file with ``use`` and its options.
        registry: where names are found.
        settings: ``KEY=VALUE``, with a value in YAML; they go before the file's options.

    Raises:
        UsageError: for a file or a setting that cannot be read.
        UnknownNameError: if there is no such policy.
        SpecError: with every wrong option, and every secret that stands there itself.
    """
    is_file = named.endswith((".yaml", ".yml", ".json"))
    described = _mapping_in(Path(named)) if is_file else {"use": named}
    described |= dict(_setting(each) for each in settings)
    use = described.get("use")
    if not isinstance(use, str):
        raise UsageError(f"`{named}` says no `use`: the name of a policy.")
    card = registry.get(PolicyCard, use, where="--policy" if not is_file else named).card
    options = {key: value for key, value in described.items() if key != "use"}
    policy = options_of(card.policy, options, where=f"Policy `{use}`", owner=f"`{use}`")
    return ChosenPolicy(policy, described)


def _mapping_in(path: Path) -> dict[str, Any]:
    value = _yaml(_text_of(path), str(path))
    if not isinstance(value, Mapping):
        raise UsageError(f"`{path}` is no mapping: begin with `use: openai`.")
    made: dict[str, Any] = plain(value)
    return made


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The policy file `{path}` cannot be read: {error}") from None


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise UsageError(f"`--set {text}` is no setting: write `--set KEY=VALUE`.")
    return key, plain(_yaml(value, f"--set {key}"))


def _yaml(text: str, where: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        first = str(error).strip().splitlines()[0]
        raise UsageError(f"`{where}` is no YAML: {first}") from None
