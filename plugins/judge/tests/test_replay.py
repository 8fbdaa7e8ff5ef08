"""The judge `replay`: recorded answers."""

import asyncio
import json
from types import MappingProxyType

import pytest
from rewardhub_judge.replay import ReplayJudge, digest_of

from rewardhub import InfrastructureError, UsageError
from rewardhub.testing import JudgeContract


def chat(text):
    return [{"role": "system", "content": "You grade."}, {"role": "user", "content": text}]


@pytest.fixture
def recording(tmp_path):
    def write(*lines):
        path = tmp_path / "answers.jsonl"
        path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each)
                                  for each in lines))  # fmt: skip
        return ReplayJudge(file=path)

    return write


def ask(judge, text="2 + 2 = 4", **more):
    return asyncio.run(judge.ask(chat(text), **more))


def test_answers_a_question_by_its_messages_in_any_order(recording):
    judge = recording(
        {"messages": chat("one"), "text": "1"}, {"messages": chat("two"), "text": "2"}
    )
    assert [ask(judge, text).text for text in ("two", "one", "two")] == ["2", "1", "2"]


def test_answers_a_question_by_its_digest(recording):
    judge = recording({"question": digest_of(chat("one")), "text": "1"})
    assert ask(judge, "one").text == "1"


def test_the_digest_is_that_of_the_text_of_a_chat_whatever_the_order_of_its_keys():
    assert digest_of([{"role": "user", "content": "é"}]) == digest_of(
        [{"content": "é", "role": "user"}]
    )


def test_answers_a_question_that_holds_all_the_texts(recording):
    judge = recording(
        {"contains": ["2 + 2", "= 5"], "text": "wrong"}, {"contains": ["2 + 2"], "text": "right"}
    )
    assert [ask(judge, text).text for text in ("2 + 2 = 4", "2 + 2 = 5")] == ["right", "wrong"]


def test_a_question_named_whole_goes_before_one_that_holds_a_text(recording):
    judge = recording({"contains": ["one"], "text": "a"}, {"messages": chat("one"), "text": "b"})
    assert ask(judge, "one").text == "b"


def test_a_line_with_a_seed_answers_that_seed_alone(recording):
    judge = recording(
        {"messages": chat("one"), "seed": 7, "text": "seven"},
        {"messages": chat("one"), "text": "any"},
    )
    assert [ask(judge, "one", seed=seed).text for seed in (7, 8, None)] == ["seven", "any", "any"]


def test_lines_without_a_question_answer_in_their_order(recording):
    judge = recording({"text": "a"}, {"text": "b"})
    assert [ask(judge).text for _ in range(2)] == ["a", "b"]


def test_more_questions_than_answers_are_named(recording):
    judge = recording({"text": "a"})
    ask(judge)
    with pytest.raises(InfrastructureError, match="All 1 answers of the recording") as raised:
        ask(judge)
    assert not raised.value.passing


def test_the_json_of_an_answer_is_read_where_a_schema_is_asked(recording):
    judge = recording({"contains": ["2"], "data": {"verdict": "sound"}})
    reply = ask(judge, schema={"type": "object"})
    assert (json.loads(reply.text), reply.data) == ({"verdict": "sound"},) * 2
    assert ask(judge).data is None


def test_a_text_that_is_no_json_has_no_data(recording):
    reply = ask(recording({"contains": ["2"], "text": "NaN"}), schema={})
    assert (reply.text, reply.data) == ("NaN", None)


def test_an_answer_keeps_its_usage_its_end_and_its_probabilities(recording):
    judge = recording(
        {
            "contains": ["2"],
            "text": "",
            "finish_reason": "refusal",
            "prompt_tokens": 5,
            "completion_tokens": 1,
            "cost": 0.25,
            "logprobs": [{"a": -0.5}],
        }
    )
    reply = ask(judge)
    assert (reply.finish_reason, reply.usage.prompt_tokens, reply.usage.cost) == (
        "refusal",
        5,
        0.25,
    )
    assert reply.logprobs == ({"a": -0.5},)


def test_a_question_that_is_not_recorded_names_the_closest(recording):
    judge = recording(
        {"messages": chat("the answer is five"), "text": "a"},
        {"messages": chat("something else altogether"), "text": "b"},
    )
    with pytest.raises(InfrastructureError) as raised:
        ask(judge, "the answer is four")
    told = str(raised.value)
    assert "The closest one is on line 1" in told
    assert "it reads 'ive', and the question 'our'" in told
    assert digest_of(chat("the answer is four")) in told
    assert not raised.value.passing


def test_an_empty_recording_answers_nothing(recording):
    with pytest.raises(InfrastructureError, match="answers no such question"):
        ask(recording())


def test_a_recording_that_is_missing_is_named_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        ReplayJudge(file=tmp_path / "none.jsonl").open()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Invalid JSON"),
        ({"text": "a", "messages": [], "contains": ["b"]}, "line 2: say one of `messages`"),
        ({"text": "a", "data": 1, "question": "b"}, "line 2: say what the judge wrote"),
        ({"question": "b"}, "line 2: say what the judge wrote"),
        ({"contains": [], "text": "a"}, "line 2: `contains`"),
        ({"contains": ["b"], "text": "a", "tex": 1}, "line 2: `tex`"),
        ({"contains": ["b"], "text": "a", "finish_reason": "done"}, "line 2: `finish_reason`"),
        ({"contains": ["b"], "text": "a", "cost": -1}, "line 2: `cost`"),
        ({"text": "a"}, "line 2: names no question, and other lines do"),
        ({"messages": chat("one"), "text": "b"}, "lines 1 and 2 answer one question differently"),
    ],
)
def test_a_mistake_in_a_recording_is_named_with_its_line(recording, line, message):
    judge = recording({"messages": chat("one"), "text": "a"}, line)
    with pytest.raises(UsageError, match=message):
        judge.open()


def test_a_question_that_is_recorded_twice_alike_is_no_mistake(recording):
    line = {"messages": chat("one"), "text": "a"}
    judge = recording(line, "", line)
    judge.open()
    assert ask(judge, "one").text == "a"


def test_another_recording_is_another_judge(recording):
    first = recording({"text": "a"}).identity
    assert recording({"text": "b"}).identity != first


def test_answers_in_order_begin_anew_with_each_run(recording):
    judge = recording({"text": "a"})
    for _ in range(2):
        judge.open()
        assert ask(judge).text == "a"
        judge.close()


class TestContract(JudgeContract):
    schema = MappingProxyType({"type": "object"})

    @pytest.fixture(autouse=True)
    def _record(self, tmp_path):
        self.file = tmp_path / "answers.jsonl"
        line = {"contains": ["2"], "data": {"even": True}, "prompt_tokens": 7, "cost": 0.5}
        self.file.write_text(json.dumps(line))

    def make_judge(self):
        return ReplayJudge(file=self.file)
