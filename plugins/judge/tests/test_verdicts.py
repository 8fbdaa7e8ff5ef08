import json

import pytest
from rewardhub_judge.verdicts import (
    JudgeVerdict,
    MalformedVerdictError,
    parse_verdict,
    schema_of,
)


class Sample(JudgeVerdict):
    reason: str
    verdict: bool
    weight: float = 0.0


GOOD = '{"reason": "it holds", "verdict": true}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"```json\n\n{GOOD}\n\n```",
    ],
)
def test_reads_one_object_and_a_fence_around_the_whole(text: str) -> None:
    assert parse_verdict(text, Sample) == Sample(reason="it holds", verdict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not one JSON object"),
        ("The verdict is true.", "not one JSON object"),
        (f"Here you are: {GOOD}", "not one JSON object"),
        (f"{GOOD} I hope that helps.", "not one JSON object"),
        (f"```json\n{GOOD}\n```\nDone.", "not one JSON object"),
        (f"{GOOD}{GOOD}", "not one JSON object"),
        ("[1]", "should be an object"),
        ("true", "should be an object"),
        ('{"reason": "x"}', "`verdict`: Field required"),
        ('{"reason": "x", "verdict": true, "score": 1}', "`score`: Extra inputs"),
        ('{"reason": "x", "verdict": "true"}', "`verdict`: Input should be a valid boolean"),
        ('{"reason": "x", "verdict": 1}', "`verdict`: Input should be a valid boolean"),
        ('{"reason": "x", "verdict": null}', "`verdict`"),
        (
            '{"reason": "x", "verdict": true, "weight": "0.5"}',
            "`weight`: Input should be a valid num",
        ),
        ('{"reason": "x", "verdict": true, "weight": NaN}', "NaN is no JSON number"),
        ('{"reason": "x", "verdict": true, "weight": -Infinity}', "-Infinity is no JSON number"),
        ('{"reason": "x", "verdict": true, "weight": 1e999}', "`weight`: Input should be a finite"),
        (
            '{"reason": "x", "verdict": false, "verdict": true}',
            "the key `verdict` stands there twice",
        ),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"reason": "x", "verdict": true, "weight": ' + "9" * 5000 + "}", "not one JSON object"),
    ],
)
def test_refuses_everything_else_and_says_why(text: str, said: str) -> None:
    with pytest.raises(MalformedVerdictError) as refused:
        parse_verdict(text, Sample)
    assert said in str(refused.value)


def test_names_each_mistake_but_no_more_than_five() -> None:
    extra = ", ".join(f'"k{n}": 1' for n in range(7))
    with pytest.raises(MalformedVerdictError) as refused:
        parse_verdict(f'{{"reason": "x", "verdict": true, {extra}}}', Sample)
    assert str(refused.value).endswith("`k4`: Extra inputs are not permitted; 2 more mistakes")


def test_the_schema_allows_no_other_keys_and_asks_for_the_reason_first() -> None:
    schema = schema_of(Sample)
    assert schema["additionalProperties"] is False
    assert list(schema["properties"])[:2] == ["reason", "verdict"]


@pytest.mark.parametrize("character", [*' 0"{}[],:.-tfnNe\\\n`', "\u00e9", "\x00"])
def test_what_is_accepted_of_a_damaged_reply_is_exactly_what_its_json_says(character: str) -> None:
    accepted = 0
    for place in range(len(GOOD) + 1):
        for rest in (GOOD[place:], GOOD[place + 1 :]):
            damaged = GOOD[:place] + character + rest
            try:
                got = parse_verdict(damaged, Sample)
            except MalformedVerdictError:
                continue
            accepted += 1
            assert got.model_dump(exclude_unset=True) == json.loads(damaged)
    assert accepted < len(GOOD)


def test_no_reply_that_is_cut_off_is_accepted() -> None:
    for place in range(len(GOOD)):
        with pytest.raises(MalformedVerdictError):
            parse_verdict(GOOD[:place], Sample)
