import ast
import sys
import tomllib
from pathlib import Path

import pytest
import rewardhub_code

from rewardhub import load_reward
from rewardhub.testing import registry_of

PACK = Path(__file__).parents[1]
SOURCES = sorted((PACK / "rewardhub_code").glob("*.py"))
INSIDE = sorted((PACK / "rewardhub_code" / "inside").glob("*.py"))
THIRD_PARTY = {"rewardhub", "rewardhub_code", "pydantic"}


def imports(path: Path) -> list[str]:
    """Return the modules that a file imports when it is imported itself."""
    found: list[str] = []
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            found.append(statement.module or "")
    return found


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"code": rewardhub_code.__name__}


def test_every_grader_shares_the_model_of_the_checks() -> None:
    for card in rewardhub_code.rewardhub_graders():
        assert card.checks == {"code": rewardhub_code.CodeCheck}


def test_its_spec_can_be_loaded() -> None:
    cost = pytest.importorskip("rewardhub_cost", reason="the spec names a grader of rewardhub-cost")
    assert load_reward("code/staged", registry_of(rewardhub_code, cost))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_imports_only_the_standard_library_pydantic_and_the_top_door(path: Path) -> None:
    for name in imports(path):
        root = name.partition(".")[0]
        assert root in THIRD_PARTY or root in sys.stdlib_module_names
        assert root != "rewardhub" or name == "rewardhub"


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.name)
def test_what_runs_inside_imports_only_the_standard_library_and_pytest(path: Path) -> None:
    for name in imports(path):
        inside = name == "rewardhub_code.inside" or name.startswith("rewardhub_code.inside.")
        root = name.partition(".")[0]
        assert inside or root in {*sys.stdlib_module_names, "pytest", "_pytest"}
