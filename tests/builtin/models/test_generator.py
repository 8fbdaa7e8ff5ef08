"""TextGenerator: a local language model that many may ask at once."""

import asyncio
import math
import threading
from contextlib import contextmanager

import pytest

from rewardhub import InfrastructureError, ModelFiles, TextGenerator, UsageError
from rewardhub.builtin.models.generator import batches
from rewardhub.builtin.models.requests import Request

torch = pytest.importorskip("torch", reason="local models need torch")
PROMPTS = ["One.", "Twenty and two.", "?", "What is the sum of three and four, and why?"]


@pytest.fixture(scope="module")
def generator(tiny):
    with TextGenerator.lease(ModelFiles.find(tiny)) as model:
        yield model


@pytest.fixture
def sizes(generator, monkeypatch):
    """Note the size of each batch that is written."""
    noted = []
    write = type(generator._decoder).write

    def noting(decoder, requests):
        noted.append(len(requests))
        return write(decoder, requests)

    monkeypatch.setattr(type(generator._decoder), "write", noting)
    return noted


def ids(generator, text):
    return generator.tokenizer(text)["input_ids"]


@contextmanager
def held(generator):
    """Hold the generator's thread inside, so that what is asked meanwhile comes together."""
    begun, go_on = threading.Event(), threading.Event()
    (gate,) = requests(1)
    gate.done.add_done_callback(lambda _: (begun.set(), go_on.wait(60)))
    generator._requests.put(gate)
    begun.wait(60)
    try:
        yield
    finally:
        go_on.set()


def together(generator, prompts=PROMPTS, seeds=None, **options):
    """Write on from all prompts at once."""
    with held(generator):
        futures = [
            generator.submit(ids(generator, text), **{"max_new_tokens": 24, "seed": seed} | options)
            for text, seed in zip(prompts, seeds or [None] * len(prompts), strict=True)
        ]
    return [future.result() for future in futures]


def requests(*lengths):
    return [
        Request(
            prompt_ids=(1,) * length, max_new_tokens=1, temperature=0, top_p=1, seed=0, logprobs=0,
            stop=(),
        )
        for length in lengths
    ]  # fmt: skip


def slow_greedy(generator, text, count):
    """Write on by asking the model for all logits anew at each token, without cache or batch."""
    model, tokens = generator._decoder.model, list(ids(generator, text))
    written = []
    while len(written) < count:
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0, -1]
        written.append(int(logits.argmax()))
        tokens.append(written[-1])
        if written[-1] == generator.tokenizer.eos_token_id:
            break
    return tuple(written)


def test_greedy_answers_are_those_of_the_model_asked_token_by_token(generator):
    answers = together(generator)
    assert [a.token_ids for a in answers] == [slow_greedy(generator, p, 24) for p in PROMPTS]


def test_requests_that_come_together_are_one_batch(generator, sizes):
    together(generator)
    assert sizes == [1, len(PROMPTS)]  # what held the thread, then the four


@pytest.mark.parametrize("options", [{"temperature": 1.0}, {"temperature": 0.7, "top_p": 0.8}])
def test_a_row_is_drawn_as_if_it_were_alone(generator, options):
    batch = together(generator, seeds=[3, 4, 5, 6], **options)
    alone = [
        together(generator, [text], [seed], **options)[0]
        for text, seed in zip(PROMPTS, [3, 4, 5, 6], strict=True)
    ]
    assert generator.repeatable
    assert [a.token_ids for a in batch] == [a.token_ids for a in alone]


def test_a_row_of_a_batch_has_the_logprobs_it_has_alone(generator):
    batch = together(generator, logprobs=4)
    for text, answer in zip(PROMPTS, batch, strict=True):
        (alone,) = together(generator, [text], logprobs=4)
        for one, other in zip(answer.logprobs, alone.logprobs, strict=True):
            assert one == pytest.approx(other, abs=1e-4)


def test_other_seeds_draw_other_texts(generator):
    first, second = together(generator, ["Go."] * 2, [1, 2], temperature=1.0)
    assert first.token_ids != second.token_ids


def test_draws_follow_the_probabilities_of_the_model(generator):
    prompt = ids(generator, "Say")
    with torch.no_grad():
        logits = generator._decoder.model(torch.tensor([prompt])).logits[0, -1]
    shares = torch.softmax(logits, dim=0)
    likeliest, count = int(shares.argmax()), 600
    futures = [
        generator.submit(prompt, max_new_tokens=1, temperature=1.0, seed=seed)
        for seed in range(count)
    ]
    drawn = sum(future.result().token_ids[0] == likeliest for future in futures)
    share = float(shares[likeliest])
    assert abs(drawn / count - share) < 4 * math.sqrt(share * (1 - share) / count)


def test_a_small_nucleus_takes_the_likeliest_token(generator):
    sure = together(generator, seeds=[1, 2, 3, 4], temperature=1.0, top_p=1e-6)
    assert [a.token_ids for a in sure] == [a.token_ids for a in together(generator)]


def test_rows_of_different_temperature_share_a_batch(generator, sizes):
    prompt = ids(generator, "Go.")
    with held(generator):
        cold = generator.submit(prompt, max_new_tokens=8)
        warm = generator.submit(prompt, max_new_tokens=8, temperature=2.0, seed=1)
    assert cold.result().token_ids == slow_greedy(generator, "Go.", 8)
    assert warm.result().token_ids != cold.result().token_ids
    assert sizes == [1, 2]


def test_logprobs_are_those_of_the_model_with_the_drawn_token_first(generator):
    (answer,) = together(generator, ["Go."], [5], temperature=3.0, logprobs=2)
    with torch.no_grad():
        logits = generator._decoder.model(torch.tensor([ids(generator, "Go.")])).logits[0, -1]
    logs = torch.log_softmax(logits, dim=0)
    noted = answer.logprobs[0]
    assert next(iter(noted)) == answer.token_ids[0]
    assert noted == pytest.approx({token: float(logs[token]) for token in noted}, abs=1e-5)
    assert set(logs.topk(2).indices.tolist()) <= set(noted)


def test_a_text_that_is_cut_off_says_so(generator):
    answer = generator.submit(ids(generator, "Go."), max_new_tokens=3).result()
    assert (answer.finish_reason, len(answer.token_ids)) == ("length", 3)


def test_an_end_token_ends_the_text(generator, monkeypatch):
    whole = slow_greedy(generator, "Go.", 6)
    decoder = generator._decoder
    ending = type(decoder)(
        model=decoder.model,
        tokenizer=decoder.tokenizer,
        end_ids=frozenset([whole[3]]),
        takes=decoder.takes,
    )
    monkeypatch.setattr(generator, "_decoder", ending)
    answer = generator.submit(ids(generator, "Go."), max_new_tokens=6).result()
    assert answer.finish_reason == "stop"
    assert answer.token_ids == whole[: whole.index(whole[3]) + 1]


def test_rows_that_end_early_leave_the_others_as_they_are(generator):
    lengths = [1, 9, 3, 20]
    futures = [
        generator.submit(ids(generator, text), max_new_tokens=length)
        for text, length in zip(PROMPTS, lengths, strict=True)
    ]
    assert [future.result().token_ids for future in futures] == [
        slow_greedy(generator, text, length) for text, length in zip(PROMPTS, lengths, strict=True)
    ]


def test_a_stop_text_ends_the_answer_and_is_not_in_it(generator):
    whole = generator.submit(ids(generator, "Go."), max_new_tokens=24).result().text
    stop = next(letter for letter in whole if letter.isascii() and letter.isprintable())
    answer = generator.submit(ids(generator, "Go."), max_new_tokens=24, stop=[stop, ""]).result()
    assert answer.finish_reason == "stop"
    assert answer.text == whole[: whole.index(stop)]


def test_an_answer_ends_with_the_context(generator):
    prompt = ids(generator, "x" * (generator.context_length - 2))
    answer = generator.submit(prompt, max_new_tokens=50).result()
    assert (answer.finish_reason, len(answer.token_ids)) == ("length", 2)


@pytest.mark.parametrize("count", [0, 512, 600])
def test_a_prompt_that_cannot_be_read_is_refused(generator, count):
    with pytest.raises(ValueError, match="fewer than 512"):
        generator.submit([5] * count, max_new_tokens=1)


@pytest.mark.parametrize(
    "options",
    [
        {"max_new_tokens": 0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_p": 0.0},
        {"top_p": 1.5},
    ],
)
def test_parameters_out_of_range_are_refused(generator, options):
    with pytest.raises(ValueError, match="max_new_tokens is 1 or more"):
        generator.submit([5], **{"max_new_tokens": 4} | options)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    ],
)
def test_a_batch_too_large_for_the_device_is_halved(generator, monkeypatch, error):
    decoder, write, sizes = type(generator._decoder), type(generator._decoder).write, []

    def scarce(self, requests):
        sizes.append(len(requests))
        if len(requests) > 1:
            raise error
        return write(self, requests)

    monkeypatch.setattr(decoder, "write", scarce)
    answers = together(generator)
    assert sizes == [1, 4, 2, 1, 1, 2, 1, 1]
    assert [a.token_ids for a in answers] == [slow_greedy(generator, p, 24) for p in PROMPTS]


def test_one_prompt_too_large_for_the_device_is_infrastructure(generator, monkeypatch):
    def scarce(self, requests):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(type(generator._decoder), "write", scarce)
    with pytest.raises(InfrastructureError, match="too little memory"):
        generator.submit([5], max_new_tokens=1).result()


def test_a_device_that_breaks_is_infrastructure_and_the_thread_lives_on(generator, monkeypatch):
    def broken(self, requests):
        raise RuntimeError("CUDA error: an illegal memory access\nmore")

    with monkeypatch.context() as patch:
        patch.setattr(type(generator._decoder), "write", broken)
        with pytest.raises(InfrastructureError, match="The device broke"):
            generator.submit([5], max_new_tokens=1).result()
    assert generator.submit([5], max_new_tokens=1).result().token_ids


def test_a_bug_reaches_whoever_asked_as_it_is(generator, monkeypatch):
    def buggy(self, requests):
        raise ZeroDivisionError

    monkeypatch.setattr(type(generator._decoder), "write", buggy)
    with pytest.raises(ZeroDivisionError):
        generator.submit([5], max_new_tokens=1).result()


def test_weights_that_give_no_numbers_are_infrastructure(tiny):
    files = ModelFiles.find(tiny)
    with TextGenerator.lease(files, dtype="float16") as other:
        other._decoder.model.lm_head.weight.data.fill_(math.nan)
        assert not other.repeatable
        with pytest.raises(InfrastructureError, match="NaN"):
            other.submit([5], max_new_tokens=1).result()


def test_a_call_that_is_cancelled_gives_up_its_row(generator, monkeypatch):
    kept = []
    forward = type(generator._decoder)._forward

    def watched(decoder, ids, mask, cache):
        kept.append(len(ids))
        first.cancel()
        return forward(decoder, ids, mask, cache)

    with held(generator):
        monkeypatch.setattr(type(generator._decoder), "_forward", watched)
        first, second = (generator.submit([5], max_new_tokens=4) for _ in range(2))
    assert len(second.result().token_ids) == 4
    assert kept == [2, 1, 1, 1]


def test_a_call_that_is_cancelled_on_the_loop_leaves_the_others(generator):
    async def run():
        calls = [asyncio.ensure_future(generator.generate([5], max_new_tokens=4)) for _ in range(2)]
        await asyncio.sleep(0)
        calls[0].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    cancelled, answer = asyncio.run(run())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert len(answer.token_ids) == 4


def test_two_that_name_equal_files_share_one_generator(tiny, generator):
    with TextGenerator.lease(ModelFiles.find(str(tiny))) as other:
        assert other is generator


def test_the_last_release_writes_what_was_asked_and_ends_the_thread(tiny):
    lease = TextGenerator.lease(ModelFiles.find(tiny), dtype="bfloat16")
    future = lease.model.submit([5], max_new_tokens=2)
    lease.release()
    assert len(future.result(timeout=0).token_ids) == 2
    assert not lease.model._thread.is_alive()


def test_a_model_without_a_cache_is_refused(tiny, monkeypatch):
    with TextGenerator.lease(ModelFiles.find(tiny)) as model:
        core = model._decoder.model
    monkeypatch.setattr(core, "forward", lambda input_ids: None)
    with pytest.raises(UsageError, match="keeps no cache"):
        TextGenerator(core, model.tokenizer, ModelFiles.find(tiny))


def test_batches_hold_so_many_tokens_with_their_padding():
    found = list(batches(requests(9, 1, 4, 2, 30), 12))
    assert [[request.tokens for request in batch] for batch in found] == [
        [2, 3],
        [5],
        [10],
        [31],
    ]
