from pathlib import Path

import pytest
from rewardhub_policies.choosing import policy_from
from rewardhub_policies.openai_policy import OpenAIPolicy
from rewardhub_policies.script import ScriptPolicy

from rewardhub import Registry, SpecError, UnknownNameError, UsageError


def test_makes_a_policy_of_a_name_and_settings(registry: Registry) -> None:
    chosen = policy_from("openai", registry, ["model=m", "temperature=0.5", "stop=[a, b]"])
    assert isinstance(chosen.policy, OpenAIPolicy)
    assert (chosen.policy.temperature, chosen.policy.stop) == (0.5, ("a", "b"))
    assert chosen.described == {
        "use": "openai", "model": "m", "temperature": 0.5, "stop": ["a", "b"]
    }  # fmt: skip


def test_makes_a_policy_of_a_file_and_lets_settings_go_before(
    registry: Registry, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("use: script\nturns:\n  '*': [hello]\n")
    chosen = policy_from(str(path), registry)
    assert isinstance(chosen.policy, ScriptPolicy)
    assert chosen.policy.turns == {"*": ["hello"]}
    changed = policy_from(str(path), registry, ["turns={t: [x]}"])
    assert changed.described["turns"] == {"t": ["x"]}


def test_takes_a_secret_from_the_environment_and_writes_none_down(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLICY_KEY", "s3cret")
    chosen = policy_from("openai", registry, ["model=m", "api_key={env: POLICY_KEY}"])
    assert isinstance(chosen.policy, OpenAIPolicy)
    assert chosen.policy.api_key == "s3cret"
    assert chosen.described["api_key"] == {"env": "POLICY_KEY"}
    assert "s3cret" not in repr(chosen)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["model=m", "api_key=s3cret"], "`api_key` is a secret"),
        (["model=m", "extra_body={auth: {access_token: s3cret}}"], "`access_token` is a secret"),
        (["model=m", "headers={Authorization: s3cret}"], "`Authorization` is a secret"),
        (["model=m", "api_key={env: NOT_SET_ANYWHERE}"], "`NOT_SET_ANYWHERE` is not set"),
        ([], "needs the option `model`"),
        (["model=m", "temprature=1"], "no option `temprature`. Did you mean `temperature`"),
        (["model=m", "temperature=-1"], "`temperature` must be at least 0"),
        (["model=m", "calls=hermess"], "Did you mean `hermes`"),
        (["model"], "is no setting: write `--set KEY=VALUE`"),
        (["model=[", "a=1"], "is no YAML"),
    ],
)
def test_names_what_is_wrong(registry: Registry, settings: list[str], told: str) -> None:
    with pytest.raises((SpecError, UsageError)) as raised:
        policy_from("openai", registry, settings)
    assert told in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_does_not_take_the_tokens_of_a_chat_for_secrets(registry: Registry) -> None:
    settings = ["model=m", "chat={use: llama3, bos_token: <s>}"]
    assert policy_from("transformers", registry, settings).described["model"] == "m"


def test_suggests_the_closest_policy(registry: Registry) -> None:
    with pytest.raises(UnknownNameError, match="No policy is called `opnai`.*`openai`"):
        policy_from("opnai", registry)


@pytest.mark.parametrize(
    ("text", "told"),
    [("- a\n", "is no mapping"), ("model: m\n", "says no `use`"), ("a: [\n", "is no YAML")],
)
def test_names_what_is_wrong_with_a_file(
    registry: Registry, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told):
        policy_from(str(path), registry)


def test_names_a_file_that_is_not_there(registry: Registry) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        policy_from("no/such.yaml", registry)
