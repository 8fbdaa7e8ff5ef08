"""Every instruction on its examples: texts that follow it, texts that do not, bad kwargs."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewardhub_rules.instructions import Instruction, catalogue, instruction_of

EXAMPLES: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("examples.jsonl").read_text(encoding="utf-8").splitlines()
]
BUILT = {row["id"]: instruction_of(row["id"], row["kwargs"]) for row in EXAMPLES}


def pairs(column: str) -> list[Any]:
    return [
        pytest.param(row, value, id=f"{row['id']}-{number}")
        for row in EXAMPLES
        for number, value in enumerate(row[column])
    ]


def test_knows_the_25_of_ifeval_and_the_58_of_ifbench() -> None:
    of_ifbench = {"count", "ratio", "words", "sentence", "format", "custom", "repeat"}
    newer = [name for name in catalogue() if name.partition(":")[0] in of_ifbench]
    assert (len(catalogue()) - len(newer), len(newer)) == (25, 58)


def test_every_instruction_has_examples() -> None:
    assert [row["id"] for row in EXAMPLES if not all(row.values()) and row["kwargs"]] == []
    assert sorted(BUILT) == sorted(catalogue())


@pytest.mark.parametrize(("row", "text"), pairs("followed"))
def test_accepts_what_follows(row: dict[str, Any], text: str) -> None:
    assert BUILT[row["id"]].check(text) == (True, BUILT[row["id"]].check(text).why)


@pytest.mark.parametrize(("row", "text"), pairs("not_followed"))
def test_refuses_what_does_not_follow_and_says_why(row: dict[str, Any], text: str) -> None:
    finding = BUILT[row["id"]].check(text)
    assert not finding.followed
    assert finding.why not in {"", "followed"}


@pytest.mark.parametrize(("row", "kwargs"), pairs("malformed"))
def test_refuses_malformed_kwargs(row: dict[str, Any], kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"kwarg|`[\w.]+`"):
        instruction_of(row["id"], kwargs)


def test_the_documentation_lists_every_instruction_as_it_is() -> None:
    listed = Path(__file__).parents[2].joinpath("INSTRUCTIONS.md").read_text(encoding="utf-8")
    for name, kind in catalogue().items():
        kwargs = ", ".join(f"`{field}`" for field in kind.model_fields)
        promise = " ".join((kind.__doc__ or "").replace("``", "`").split())
        assert f"| `{name}` | {kwargs} | {promise} |" in listed


def test_refuses_an_unknown_id_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"Did you mean `keywords:existence`"):
        instruction_of("keywords:existance", {})


def test_drops_kwargs_that_are_null() -> None:
    padded = {"keywords": ["a"], "frequency": None, "language": None}
    assert instruction_of("keywords:existence", padded).check("a").followed


@pytest.mark.parametrize("name", BUILT)
@settings(max_examples=12, deadline=None)
@given(text=st.text(min_size=1, max_size=120).filter(str.strip))
def test_decides_about_any_text_and_twice_the_same(name: str, text: str) -> None:
    kwargs = next(row["kwargs"] for row in EXAMPLES if row["id"] == name)
    assert BUILT[name].check(text) == instruction_of(name, kwargs).check(text)


@pytest.mark.parametrize("name", BUILT)
def test_decides_about_odd_texts(name: str) -> None:
    texts = ("\ud83d", "\x00", "\u200b", "'", "*" * 9, "(((", "1" * 5000, "\t\n.", "- \n*\n#")
    assert {type(BUILT[name].check(text).followed) for text in texts} == {bool}


def test_threads_come_to_the_same_findings() -> None:
    texts = [text for row in EXAMPLES for text in (*row["followed"], *row["not_followed"])][::7]

    def findings(of: list[Instruction]) -> list[object]:
        return [each.check(text) for each in of for text in texts]

    fresh = [instruction_of(row["id"], row["kwargs"]) for row in EXAMPLES]
    found: list[list[object]] = []
    threads = [threading.Thread(target=lambda: found.append(findings(fresh))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [findings(list(BUILT.values()))] * 4
