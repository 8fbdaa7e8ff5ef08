import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.chat import ChatFormat
from rewardhub_policies.chat_tokenizer import calls_in

from rewardhub import UsageError
from rewardhub.testing import tiny_language_model

TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"


def write(folder: Path, **files: Any) -> Path:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


CONFIG = {
    "bos_token": "<s>",
    "eos_token": {"content": "</s>", "special": True},
    "additional_special_tokens": ["<turn>"],
    "added_tokens_decoder": {
        "1": {"content": "</s>", "special": True},
        "7": {"content": "<eot>", "special": True},
        "8": {"content": "<tool_call>", "special": False},
    },
    "chat_template": TEMPLATE,
}


def test_reads_the_files_of_a_tokenizer(tmp_path: Path) -> None:
    folder = write(tmp_path, tokenizer_config=CONFIG, generation_config={"eos_token_id": [1, 7]})
    chat = ChatFormat.from_tokenizer(folder)
    assert (chat.bos_token, chat.eos_token, chat.template) == ("<s>", "</s>", TEMPLATE)
    assert chat.end_tokens == ("</s>", "<eot>")
    assert set(chat.special_tokens) == {"<s>", "</s>", "<eot>", "<turn>"}


def test_reads_a_template_from_a_file_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_config={**CONFIG, "chat_template": "old"})
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }} new")
    assert ChatFormat.from_tokenizer(tmp_path).render([{"role": "user", "content": "a"}]) == "a new"


def test_takes_the_template_for_tools_of_several(tmp_path: Path) -> None:
    named = [
        {"name": "default", "template": "{{ 'plain' }}"},
        {"name": "tool_use", "template": "{{ 'tools' }}"},
    ]
    write(tmp_path, tokenizer_config={**CONFIG, "chat_template": named})
    assert ChatFormat.from_tokenizer(tmp_path).template == "{{ 'tools' }}"


def test_names_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no `tokenizer_config.json`"):
        ChatFormat.from_tokenizer(tmp_path)


def test_names_a_tokenizer_without_a_template(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_config={"eos_token": "</s>"})
    with pytest.raises(UsageError, match=r"has no chat template.*`chat: react`"):
        ChatFormat.from_tokenizer(tmp_path)


def test_names_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        ChatFormat.from_tokenizer(tmp_path)


def test_gives_the_same_for_the_files_and_the_tokenizer(tmp_path: Path) -> None:
    transformers = importlib.import_module("transformers")
    tiny_language_model(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    by_files, by_object = ChatFormat.from_tokenizer(tmp_path), ChatFormat.of_tokenizer(tokenizer)
    assert set(by_files.special_tokens) == set(by_object.special_tokens)
    keys = ("template", "calls", "eos_token", "end_tokens")
    assert [getattr(by_files, key) for key in keys] == [getattr(by_object, key) for key in keys]


def test_needs_no_torch(tmp_path: Path) -> None:
    import subprocess
    import sys

    write(tmp_path, tokenizer_config=CONFIG)
    code = (
        "import sys\nfrom rewardhub_policies import ChatFormat\n"
        f"chat = ChatFormat.from_tokenizer({str(tmp_path)!r})\n"
        "chat.parse(chat.render([{'role': 'user', 'content': 'a'}]))\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


@pytest.mark.parametrize(
    ("template", "calls"),
    [
        ("<tool_call>\n{", "hermes"),
        ("<tool_call>\n<function=", "qwen3-coder"),
        ("[TOOL_CALLS]", "mistral"),
        ("<|python_tag|>", "llama3"),
        ("<\uff5ctool\u2581calls\u2581begin\uff5c>", "deepseek"),
        ("plain", "react"),
    ],
)
def test_tells_how_calls_are_written_by_the_template(template: str, calls: str) -> None:
    assert calls_in(template) == calls
