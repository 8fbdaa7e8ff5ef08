"""The reference is what the code says, and nothing is missing in it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import rewardhub
from rewardhub import errors, testing
from rewardhub.cli import ExitCode
from rewardhub.cli.entry import COMMANDS
from rewardhub.expression import ExpressionError
from rewardhub.host import GraderCard, discover, hookspecs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
HOOKS = [name for name in vars(hookspecs) if name.startswith("rewardhub_")]
ERRORS = [
    error
    for error in [*vars(errors).values(), ExpressionError]
    if inspect.isclass(error) and issubclass(error, errors.RewardhubError)
]


def headings(page):
    return set(re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE))


def generate(*arguments, script=DOCS / "generate.py"):
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_is_up_to_date():
    done = generate("--check")
    assert done.returncode == 0, done.stderr


def test_what_is_not_up_to_date_is_named(tmp_path):
    script = tmp_path / "generate.py"
    script.symlink_to(DOCS / "generate.py")
    assert generate(script=script).returncode == 0
    (tmp_path / "reference/api.md").write_text("typed by hand")
    (tmp_path / "reference/errors.md").unlink()
    (tmp_path / "reference/hooks/rewardhub_gone.md").touch()
    done = generate("--check", script=script)
    assert done.returncode == 1
    named = re.findall(r"docs/reference/(\S+) is not up to date", done.stderr)
    assert sorted(named) == ["api.md", "errors.md", "hooks/rewardhub_gone.md"]


def test_every_hook_has_a_page():
    assert {path.stem for path in (REFERENCE / "hooks").glob("*.md")} == set(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_tested(hook):
    tests = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("plugins/*/tests/**/*.py")]
    naming = [path for path in tests if path.parent != Path(__file__).parent]
    assert any(re.search(rf"\b{hook}\b", path.read_text()) for path in naming)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_described(error):
    assert error.__name__ in headings(REFERENCE / "errors.md")


@pytest.mark.parametrize(
    ("door", "page"),
    [(rewardhub, "api.md"), (testing, "testing.md")],
    ids=["rewardhub", "rewardhub.testing"],
)
def test_every_public_name_is_described(door, page):
    text = (REFERENCE / page).read_text()
    linked = set(re.findall(r"^- \[`(\w+)`\]\(hooks/", text, re.MULTILINE))
    described = headings(REFERENCE / page) | linked | headings(REFERENCE / "errors.md")
    assert [name for name in door.__all__ if name not in described] == []


def test_every_grader_of_the_repository_has_a_page():
    pages = {path.stem for path in (REFERENCE / "graders").glob("*.md")}
    own = {"builtin", *(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir())}
    cards = discover().all(GraderCard).items()
    named = {name.replace("/", "-") for name, each in cards if each.owner.name in own}
    assert named
    assert named <= pages


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_described(command):
    assert any(
        heading.startswith(f"rewardhub {command.name}")
        for heading in headings(REFERENCE / "command-line.md")
    )


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_every_exit_code_is_described(code):
    assert f"| {int(code)} | `{code.name}` |" in (REFERENCE / "exit-codes.md").read_text()


def test_the_spec_in_the_arithmetic_is_the_one_that_ships():
    text = (DOCS / "explanation" / "arithmetic.md").read_text()
    shown = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    shipped = ROOT / "plugins/cost/rewardhub_cost/specs/success-tests-steps.yaml"
    yaml = YAML(typ="safe")
    assert yaml.load(shown[1]) == yaml.load(shipped.read_text())


@pytest.mark.parametrize(
    "decision", sorted((DOCS / "decisions").glob("*.md")), ids=lambda path: path.stem
)
def test_every_decision_has_a_date(decision):
    title, _, date, *_ = decision.read_text().splitlines()
    assert title.startswith(f"# {int(decision.name[:4])}. ")
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date)
