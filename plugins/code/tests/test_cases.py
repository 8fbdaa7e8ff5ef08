import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rewardhub_code

from rewardhub import GraderCard, Sandbox, hookimpl
from rewardhub.testing import check_cases, grade, make_trajectory, registry_of

CASES = Path(__file__).with_name("cases.jsonl")
CARDS = {card.name: card for card in rewardhub_code.rewardhub_graders()}
LINES: list[dict[str, Any]] = [json.loads(line) for line in CASES.read_text().splitlines()]


class Measuring:
    """The pack, for the kit: it compares whole Scores, and the seconds of tests are in these."""

    @hookimpl
    def rewardhub_graders(self) -> Iterator[GraderCard]:
        for card in CARDS.values():
            yield replace(card, deterministic=not card.signature.slots.get("sandbox"))


def test_passes_its_cases(local: Sandbox) -> None:
    check_cases(CASES, registry_of(Measuring()), sandbox=local)


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.deterministic])
def test_gives_equal_verdicts(local: Sandbox, name: str) -> None:
    for case in (line for line in LINES if line["grader"] == name):
        attempt = make_trajectory(**case["trajectory"])
        slots = {"sandbox": local} if "sandbox" in CARDS[name].signature.slots else {}
        scores = [
            grade(CARDS[name], attempt, options=case.get("options", {}), **slots) for _ in range(2)
        ]
        one, other = ((each.status, each.value, each.reason) for each in scores)
        assert one == other, case["why"]
