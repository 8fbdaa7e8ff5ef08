import ast
import tomllib
from pathlib import Path

import rewardhub_math

from rewardhub.testing import check_cases, registry_of

PACK = Path(__file__).parents[1]
GRADERS = {"math/equivalent", "math/numeric", "math/choice", "math/boxed-format"}


def test_registers_its_graders() -> None:
    assert {card.name for card in rewardhub_math.rewardhub_graders()} == GRADERS
    for name in GRADERS:
        assert registry_of(rewardhub_math).grader(name)


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"math": rewardhub_math.__name__}


def test_passes_its_cases() -> None:
    check_cases(Path(__file__).with_name("cases.jsonl"), registry_of(rewardhub_math))


def test_imports_only_the_standard_library_pydantic_and_the_top_door() -> None:
    for path in (PACK / "rewardhub_math").glob("*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in getattr(statement, "names", [])]
            module = getattr(statement, "module", None)
            for name in [module] if module else names:
                if not isinstance(statement, ast.Import | ast.ImportFrom):
                    continue
                root = name.partition(".")[0]
                assert root not in {"sympy", "math_verify", "latex2sympy2_extended"}, path.name
                assert root != "rewardhub" or name == "rewardhub", path.name
