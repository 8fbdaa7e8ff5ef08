from typing import Any

import pytest
from pydantic import ValidationError
from rewardhub_code import CodeCheck

from rewardhub.testing import make_task


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"entry_point": "a b"}, "no name of a function"),
        ({"unit_test": {}}, "Extra inputs"),
        ({"calls": {"tests": [{"args": [1]}]}}, "a call needs `expected`"),
        ({"calls": {"tests": [{"raises": "KeyError", "expected": 1}]}}, "nothing else expected"),
        ({"calls": {"tests": [{"args": [{"$set": [[]]}], "expected": 1}]}}, "a broken"),
        ({"stdio": {"compare": "checker"}}, "go together"),
        ({"stdio": {"checker": "def check(): pass"}}, "go together"),
        ({"unit_tests": {"asserts": ["assert ("]}}, "no Python"),
        ({"unit_tests": {"asserts": ["assert 1"], "script": "assert 1"}}, "one form"),
        ({"unit_tests": {"pytest": {"../test_a.py": ""}}}, "no relative path"),
        ({"unit_tests": {"pytest": {"test_a.py": "def ("}}}, "no Python"),
        ({"timeout": 0}, "greater than 0"),
        ({"preamble": "import ("}, "no Python"),
    ],
)
def test_refuses_what_cannot_be_meant(check: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        CodeCheck.model_validate(check)


def test_reads_what_a_record_holds_as_tuples_and_read_only_mappings() -> None:
    call = {"args": [[1, {"a": [2]}]], "expected": {"$tuple": [1]}}
    task = make_task(checks={"code": {"entry_point": "f", "calls": {"tests": [call]}}})
    check = CodeCheck.model_validate(task.checks["code"])
    assert check.calls is not None
    assert check.calls.tests[0].args == [[1, {"a": [2]}]]
    assert check.calls.tests[0].expected == {"$tuple": [1]}
