from pathlib import Path

from rewardhub_rules.instructions import InstructionList, Instructions

from rewardhub import GraderCard
from rewardhub.testing import check_cases, registry_of

CARD = GraderCard(
    name="rules/instructions",
    grader=Instructions,
    reads=("final_text",),
    checks={"instructions": InstructionList},
)


def test_the_grader_holds_its_cases() -> None:
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(CARD))
