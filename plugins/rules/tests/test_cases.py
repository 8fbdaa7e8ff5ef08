from pathlib import Path

import rewardhub_rules

from rewardhub.testing import check_cases, registry_of


def test_every_grader_holds_its_cases() -> None:
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(rewardhub_rules))
