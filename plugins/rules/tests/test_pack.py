import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import rewardhub_rules

from rewardhub.testing import registry_of

PACK = Path(__file__).parents[1]
SOURCES = sorted((PACK / "rewardhub_rules").rglob("*.py"))
GRADERS = {
    "rules/code-block",
    "rules/contains",
    "rules/expression",
    "rules/instructions",
    "rules/json-schema",
    "rules/language",
    "rules/length",
    "rules/no-forbidden",
    "rules/regex",
    "rules/repetition",
    "rules/tags",
}


def test_registers_its_graders() -> None:
    names = {card.name for card in rewardhub_rules.rewardhub_graders()}
    assert names == GRADERS
    for name in names:
        assert registry_of(rewardhub_rules).grader(name)


def test_registers_its_reader() -> None:
    assert [card.name for card in rewardhub_rules.rewardhub_readers()] == ["ifeval"]


def test_is_found_by_its_entry_point() -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rewardhub"] == {"rules": rewardhub_rules.__name__}


def test_imports_only_the_standard_library_pydantic_and_the_top_door() -> None:
    allowed = {"pydantic", "rewardhub", "rewardhub_rules", "__future__", *sys.stdlib_module_names}
    assert SOURCES
    for path in SOURCES:
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _modules(statement):
                assert name.partition(".")[0] in allowed, f"{path.name} imports {name}"
                assert name == "rewardhub" or not name.startswith("rewardhub."), path.name


def _modules(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []


def test_loads_no_library_when_it_is_listed() -> None:
    heavy = ("jsonschema", "lingua", "referencing", "regex", "sentencex")
    program = (
        "import sys, rewardhub_rules; list(rewardhub_rules.rewardhub_graders()); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"
