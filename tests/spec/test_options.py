import pytest

from rewardhub import Options, SpecError, options_of


class Endpoint(Options):
    """Where something is."""

    address: str
    api_key: str = ""
    limit: int = 4


def made(**written: object) -> Endpoint:
    return options_of(Endpoint, written, where="Endpoint `one`", owner="`endpoint`")


def test_takes_plain_values_and_secrets_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    assert made(address="here", api_key={"env": "MY_KEY"}).api_key == "s3cret"


def test_tells_every_mistake_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    with pytest.raises(SpecError) as raised:
        made(adress="here", limit={"env": "MY_KEY"})
    told = str(raised.value)
    assert "no option `adress`. Did you mean `address`?" in told
    assert "`endpoint` needs the option `address`" in told
    assert "`limit`" in told
    assert "s3cret" not in told


def test_refuses_a_secret_that_is_written_down() -> None:
    with pytest.raises(SpecError, match=r"`api_key: \{env: API_KEY\}`") as raised:
        made(address="here", api_key="s3cret")
    assert "s3cret" not in str(raised.value)
