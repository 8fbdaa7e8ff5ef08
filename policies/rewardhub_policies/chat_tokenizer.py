"""What a tokenizer says of its chats: template, special tokens, end tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardhub import UsageError

_SIGNS = (
    ("<function=", "qwen3-coder"),
    ("<tool_call>", "hermes"),
    ("[TOOL_CALLS]", "mistral"),
    ("<\uff5ctool\u2581calls\u2581begin\uff5c>", "deepseek"),
    ("<|python_tag|>", "llama3"),
    ('"parameters"', "llama3"),
)


def calls_in(template: str) -> str:
    """Return how the model of a chat template writes calls: ``react`` if no known sign is in it."""
    return next((calls for sign, calls in _SIGNS if sign in template), "react")


def facts_of_files(folder: Path) -> dict[str, Any]:
    """Return the fields of a `ChatFormat` that the files of a tokenizer tell.

    Raises:
        UsageError: if there is no tokenizer in ``folder``, or none with a chat template.
    """
    config = _json_of(folder / "tokenizer_config.json")
    if config is None:
        raise UsageError(
            f"There is no `tokenizer_config.json` in `{folder}`: name the folder of a model."
        )
    template = _template_of(folder, config)
    added = _added_tokens(folder, config)
    eos = _text(config.get("eos_token"))
    named = [added.get(each, ("", False))[0] for each in end_ids_of(folder)]
    special = [text for text, is_special in added.values() if is_special]
    extra = config.get("additional_special_tokens") or config.get("extra_special_tokens") or ()
    special += [_text(each) for each in (extra.values() if isinstance(extra, dict) else extra)]
    return _facts(
        template, bos=_text(config.get("bos_token")), eos=eos, ends=named, special=special
    )


def facts_of_tokenizer(tokenizer: Any, end_ids: Sequence[int] = ()) -> dict[str, Any]:
    """Return the same of a tokenizer of transformers.

    Raises:
        UsageError: if it has no chat template.
    """
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("tool_use") or template.get("default")
    if not template:
        raise UsageError(_NONE.format(where=f"The tokenizer `{tokenizer.name_or_path}`"))
    # The names that a tokenizer gives to its tokens (eos, pad...) leave out most special ones.
    added = [str(each) for each in tokenizer.added_tokens_decoder.values() if each.special]
    return _facts(
        template,
        bos=tokenizer.bos_token or "",
        eos=tokenizer.eos_token or "",
        ends=tokenizer.convert_ids_to_tokens(list(end_ids)),
        special=[*tokenizer.all_special_tokens, *added],
    )


_NONE = (
    "{where} has no chat template. Name one, `chat: {{template: FILE, calls: ...}}`, or a shipped "
    "format, `chat: react`."
)


def _facts(
    template: str, *, bos: str, eos: str, ends: Iterable[str], special: Iterable[str]
) -> dict[str, Any]:
    end_tokens = tuple(dict.fromkeys(filter(None, (*ends, eos))))
    return {
        "template": template,
        "bos_token": bos,
        "eos_token": eos,
        "end_tokens": end_tokens,
        "special_tokens": tuple(dict.fromkeys(filter(None, (*special, bos, *end_tokens)))),
    }


def _template_of(folder: Path, config: Mapping[str, Any]) -> str:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    template: Any = config.get("chat_template")
    if template is None:
        template = (_json_of(folder / "chat_template.json") or {}).get("chat_template")
    if isinstance(template, list):
        named = {each["name"]: each["template"] for each in template}
        template = named.get("tool_use") or named.get("default")
    if not isinstance(template, str) or not template:
        raise UsageError(_NONE.format(where=f"The tokenizer in `{folder}`"))
    return template


def _added_tokens(folder: Path, config: Mapping[str, Any]) -> dict[int, tuple[str, bool]]:
    """Return id -> text of an added token, and whether it is special."""
    found: dict[int, tuple[str, bool]] = {}
    listed = config.get("added_tokens_decoder")
    if isinstance(listed, dict):
        for number, token in listed.items():
            found[int(number)] = (_text(token), bool(token.get("special")))
        return found
    for token in (_json_of(folder / "tokenizer.json") or {}).get("added_tokens", ()):
        found[int(token["id"])] = (_text(token), bool(token.get("special")))
    return found


def end_ids_of(folder: Path) -> list[int]:
    """Return the tokens that the model's generation configuration ends a text with."""
    value = (_json_of(folder / "generation_config.json") or {}).get("eos_token_id")
    ids = value if isinstance(value, list) else [value]
    return [each for each in ids if isinstance(each, int)]


def _text(token: Any) -> str:
    """Return the text of a token, which files write as text or as an object."""
    return str(token["content"]) if isinstance(token, Mapping) else str(token or "")


def _json_of(path: Path) -> dict[str, Any] | None:
    """Return the object in a file, or None where there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"`{path}` cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"`{path}` holds no JSON object.")
    return value
