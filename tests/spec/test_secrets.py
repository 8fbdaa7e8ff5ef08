from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.records import canonical_json
from rewardhub.spec import Spec, show
from rewardhub.spec.secrets import is_secret, secrets_spared

JUDGED = """
resources:
  judge:
    use: openai
    model: m
    {}
stages:
  - name: outcome
    graders: [{{use: judge/criteria}}]
"""


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apiKey", "API-KEY", "openai_api_key", "token", "hf_token", "auth_token",
        "password", "db_password", "secret", "client_secret", "secret_key", "Authorization",
    ],
)  # fmt: skip
def test_knows_the_keys_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "tokenizer", "step_token", "eos_token", "keys", "model", "secretary", "env"],
)
def test_leaves_other_keys_alone(name: str) -> None:
    assert not is_secret(name)


def test_a_secret_is_taken_from_the_environment_and_shown_nowhere(
    parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-hidden-17")
    spec = parsed(JUDGED.format("api_key: {env: JUDGE_KEY}"))
    entry = spec.resources["judge"]
    assert entry.resource.api_key.get_secret_value() == "sk-hidden-17"  # type: ignore[attr-defined]
    assert entry.options["api_key"] == {"env": "JUDGE_KEY"}
    assert "sk-hidden-17" not in show(spec) + repr(spec) + canonical_json(spec.raw).decode()


def test_the_digest_does_not_depend_on_a_secret(
    parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "one")
    first = parsed(JUDGED.format("api_key: {env: JUDGE_KEY}")).digest
    monkeypatch.setenv("JUDGE_KEY", "two")
    assert parsed(JUDGED.format("api_key: {env: JUDGE_KEY}")).digest == first


def test_a_secret_may_stand_deeper_inside_of_an_option(
    parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "Bearer x")
    spec = parsed(JUDGED.format("headers: {Authorization: {env: JUDGE_KEY}, Accept: json}"))
    entry = spec.resources["judge"]
    headers = entry.resource.headers  # type: ignore[attr-defined]
    assert headers == {"Authorization": "Bearer x", "Accept": "json"}
    assert entry.options["headers"] == {"Authorization": {"env": "JUDGE_KEY"}, "Accept": "json"}


def test_a_secret_that_its_author_takes_from_elsewhere_is_not_shown(
    parsed: Callable[[str], Spec],
) -> None:
    spec = parsed(JUDGED.format("temperature: 0"))
    assert "api_key" not in spec.resources["judge"].options


@pytest.mark.parametrize("value", ["", None])
def test_refuses_a_variable_that_is_not_set(
    mistakes: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("JUDGE_KEY", raising=False)
    else:
        monkeypatch.setenv("JUDGE_KEY", value)
    assert mistakes(JUDGED.format("api_key: {env: JUDGE_KEY}")) == [
        (
            "spec.yaml:7:14: Resource `judge`: the environment variable `JUDGE_KEY` is not set. "
            "Set it: `export JUDGE_KEY=...`."
        )
    ]


def test_refuses_a_secret_in_the_file_without_showing_it(
    mistakes: Callable[..., list[str]],
) -> None:
    assert mistakes(JUDGED.format("api_key: sk-hidden-17")) == [
        (
            "spec.yaml:7:14: Resource `judge`: `api_key` is a secret, which must not be "
            "written down. Name the environment variable that holds it: `api_key: {env: "
            "JUDGE_API_KEY}`."
        )
    ]


def test_refuses_a_secret_deeper_inside_of_an_option(mistakes: Callable[..., list[str]]) -> None:
    assert mistakes(JUDGED.format("headers: {Authorization: Bearer sk-hidden-17}")) == [
        (
            "spec.yaml:7:30: Resource `judge`: `Authorization` is a secret, which must not be "
            "written down. Name the environment variable that holds it: "
            "`Authorization: {env: JUDGE_AUTHORIZATION}`."
        )
    ]


def test_refuses_a_secret_among_the_options_of_a_grader(
    mistakes: Callable[..., list[str]],
) -> None:
    found = mistakes(
        "stages: [{name: outcome, graders: [{use: prm/steps, options: {preset: a, token: b}}]}]"
    )
    where = "Stage `outcome`, grader `steps`"
    assert found == [
        f"spec.yaml:3:74: {where}: `prm/steps` has no option `token`. Known: `preset`.",
        (
            f"spec.yaml:3:81: {where}: `token` is a secret, which must not be written down. "
            "Graders reach secrets through a resource: name it there, `token: {env: NAME}`."
        ),
    ]


def test_a_message_about_an_option_does_not_quote_its_secret(
    mistakes: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "loud-17")
    assert mistakes(JUDGED.format("loud: {env: JUDGE_KEY}")) == [
        "spec.yaml:7:11: Resource `judge`: `loud`: it must not be $JUDGE_KEY"
    ]


def test_who_never_opens_a_judge_needs_no_secret_of_it(
    parsed: Callable[[str], Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "there")
    text = JUDGED.format("api_key: {env: JUDGE_KEY}")
    digest = parsed(text).digest
    monkeypatch.delenv("JUDGE_KEY")
    with secrets_spared("judge"):
        assert parsed(text).digest == digest


@pytest.mark.parametrize("kinds", [(), ("sandbox", "model")])
def test_a_secret_of_another_kind_is_still_needed(
    kinds: tuple[str, ...], mistakes: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with secrets_spared(*kinds):
        (found,) = mistakes(JUDGED.format("api_key: {env: JUDGE_KEY}"))
    assert "the environment variable `JUDGE_KEY` is not set" in found
