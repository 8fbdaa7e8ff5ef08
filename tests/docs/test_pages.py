"""Every code block of the documentation does what the page says.

The rules are in docs/README.md, under "How these pages are tested".
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import site
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from rewardhub.cli import main
from rewardhub.host import discover
from rewardhub.spec import check

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "plugins/*/README.md")
    for path in ROOT.glob(pattern)
    if path.parent != DECISIONS  # what was measured on a day is not run on another
)
NOT_RUN = {
    "CONTRIBUTING.md": 2,
    "README.md": 2,
    "docs/how-to/add-a-sandbox.md": 1,
    "docs/how-to/publish-a-pack.md": 1,
    "docs/how-to/sample-from-a-policy.md": 1,
    "docs/how-to/train-a-process-reward-model.md": 2,
    "docs/how-to/use-docker.md": 4,
    "docs/tutorial/your-first-grader.md": 1,
    "plugins/cost/README.md": 1,
}
"""Page -> how many of its blocks are marked `norun`."""

BIN = Path(sys.executable).parent
MAKE_DEMO = f"make --file {ROOT}/Makefile --assume-old .venv/demo-ready BIN={BIN} demo"
"""`make demo` without the setting up of .venv: all that it needs is here."""

WHOLLY_IN_PROCESSES = ROOT / "docs" / "tutorial"
SHELL = {"bash", "console", "sh", "shell"}
KNOWN = {*SHELL, "python", "yaml", "json", "text", "toml", "mermaid", "markdown"}
HEAD = {"rewardhub": 1, "name": "page/fragment"}
PROGRESS = re.compile(r"starting|[\d,]+ rows?, .*")
"""What a run says every ten seconds, so only where the machine is slow."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the paragraph above it.

    ``title`` names the file that it is saved as.
    """

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str
    above: str

    @property
    def where(self):
        return f"{os.path.relpath(self.page, ROOT)}:{self.line}"

    @property
    def title(self):
        said = [word.removeprefix("title=") for word in self.words if word.startswith("title=")]
        first = re.match(r"# file: (\S+)\n", self.text)
        return said[0] if said else first and first[1]

    @property
    def is_run(self):
        return "norun" not in self.words[:1]


def blocks_of(page):
    above = ""
    for token in MarkdownIt().parse(page.read_text()):
        if token.type == "inline":
            above = token.content
        if token.type == "fence":
            language, *words = token.info.split() or [""]
            yield Block(page, token.map[0] + 1, language, tuple(words), token.content, above)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def pattern_of(expected):
    """Return what a shown output matches: `...` is any text, on a line of its own any lines."""
    lines = [" ".join(line.split()) for line in expected.strip().splitlines()]
    parts = (
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in lines
    )
    return re.compile("".join(parts))


def shows(expected, output):
    lines = [" ".join(line.split()) for line in output.strip().splitlines()]
    told = "".join(f"{line}\n" for line in lines if not PROGRESS.fullmatch(line))
    return pattern_of(expected).fullmatch(told) is not None


def commands_in(block):
    """Yield each command of a block with the output that is shown below it."""
    if not re.search(r"^\$ ", block.text, re.MULTILINE):
        yield block.text, None
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, newline, shown = part.partition("\n")
        while command.endswith("\\"):
            more, newline, shown = shown.partition("\n")
            command = f"{command[:-1]}{more}"
        yield command, shown if newline else ""


@dataclass
class PageRun:
    """What a page has done so far: its folder, the names of its Python, the last exit code."""

    folder: Path
    in_processes: bool = False
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "page"})
    code: int = 0
    printed: str = ""

    def run(self, block):
        os.chdir(self.folder)
        if self.printed and block.language not in {"text", "json"}:
            pytest.fail(f"{block.where}: the page does not show what was printed: {self.printed}")
        if block.language == "yaml":
            self.check_spec(block)
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            self.execute(block)
        elif block.language in SHELL:
            for command, shown in commands_in(block):
                self.command(block, command, shown)
        elif self.printed:
            assert shows(block.text, self.printed), f"{block.where}: printed\n{self.printed}"
            self.printed = ""

    def execute(self, block):
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.names)
        self.printed = out.getvalue()

    def check_spec(self, block):
        fields = YAML(typ="safe").load(block.text)
        loose = [path for path in self.folder.glob("*.py") if "@hookimpl" in path.read_text()]
        source = fields if "rewardhub" in fields else {**HEAD, **fields}
        mistakes = check(source, discover(loose=loose)).errors
        if "wrong" in block.words:
            assert mistakes, f"{block.where}: nothing is wrong with it"
        else:
            assert not mistakes, f"{block.where}: {'; '.join(map(str, mistakes))}"

    def command(self, block, command, shown):
        code, self.code = self.code, 0
        if command == "echo $?":
            output = str(code)
        elif code:
            pytest.fail(f"{block.where}: exit code {code}, and no `$ echo $?` shows it")
        elif command.startswith("cd "):
            self.folder = self.folder / command.removeprefix("cd ")
            os.chdir(self.folder)
            output = ""
        elif command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            os.environ[name] = value.strip("'\"")
            output = ""
        elif "pip install" in command and not self.in_processes:
            pytest.fail(f"{block.where}: this would install into the environment of the tests")
        elif self.in_processes or not re.fullmatch(r"rewardhub [^|&;<>$*`]*", command):
            output = self.in_shell(command, whole=shown is None)
        else:
            output = self.here(command)
        if shown is None:
            assert self.code == 0, f"{block.where}: exit code {self.code}\n{output}"
        elif not shows(shown, output):
            pytest.fail(f"{block.where}: `{command}` printed\n{output}")

    def in_shell(self, command, *, whole):
        command = re.sub("^make demo$", MAKE_DEMO, command, flags=re.MULTILINE)
        done = subprocess.run(
            ["bash", "-ec" if whole else "-c", command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        self.code = done.returncode
        return done.stdout.replace(str(BIN), ".venv/bin")

    def here(self, command):
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", shlex.split(command))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", out)
            with pytest.raises(SystemExit) as ended:
                main()
        self.code = int(ended.value.code or 0)
        return out.buffer.getvalue().decode()


@pytest.fixture
def page_run(tmp_path, monkeypatch):
    """A clean place for one page, with nothing of this machine's settings."""
    for name in [name for name in os.environ if name.startswith(("REWARDHUB_", "PYTEST"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REWARDHUB_WORKERS", "1")
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    yield PageRun(folder)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def own_environment(home, monkeypatch):
    """Put a virtual environment in front that has all of this one, for pages that install."""
    venv.create(home, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    lines = [f"import site; site.addsitedir({place!r})" for place in site.getsitepackages()]
    (packages / "outer.pth").write_text("\n".join(lines))
    for name, module in (("pip", "pip"), ("pytest", "pytest"), ("rewardhub", "rewardhub.cli")):
        call = f"from {module} import main; sys.exit(main())"
        script = home / "bin" / name
        script.write_text(f"#!{home}/bin/python\nimport sys\nfrom pathlib import Path\n{call}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    if importlib.util.find_spec("hatchling"):  # else pip fetches it, as it does for everyone
        monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")


def run_page(page, page_run):
    for block in blocks_of(page):
        if block.is_run:
            page_run.run(block)
    assert not page_run.printed, f"the page does not show what was printed: {page_run.printed}"
    assert page_run.code == 0, f"exit code {page_run.code} at the end, and no `$ echo $?` shows it"


def test_finds_the_pages():
    assert {"docs/README.md", "README.md"} <= {str(page.relative_to(ROOT)) for page in PAGES}
    assert len(BLOCKS) > 50


@pytest.mark.timeout(600)  # the tutorial runs some twenty processes
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_does_what_it_says(page, page_run, monkeypatch, tmp_path):
    if page.is_relative_to(WHOLLY_IN_PROCESSES):
        own_environment(tmp_path / "venv", monkeypatch)
        page_run.in_processes = True
    if page.parent == ROOT:
        (page_run.folder / "examples").symlink_to(ROOT / "examples")
    run_page(page, page_run)


def test_the_text_above_says_what_a_block_is_saved_as():
    saved = [each for each in BLOCKS if each.title]
    assert len(saved) > 20
    unsaid = [each for each in saved if each.title not in each.text.partition("\n")[0]]
    assert [each.where for each in unsaid if f"`{each.title}`" not in each.above] == []


def test_every_block_says_what_it_is():
    assert [each.where for each in BLOCKS if each.language not in KNOWN] == []


def test_what_is_not_run_is_counted_and_says_why():
    left_out = [each for each in BLOCKS if not each.is_run]
    assert [each.where for each in left_out if len(each.words) < 3] == []
    counts: dict[str, int] = {}
    for each in left_out:
        page = str(each.page.relative_to(ROOT))
        counts[page] = counts.get(page, 0) + 1
    assert counts == NOT_RUN


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("a  b\n", "a b\n\n", True),
        ("a ... c", "a b c", True),
        ("a\n...\nc", "a\nb\nb\nc", True),
        ("...", "", True),
        ("", "", True),
        ("a", "b", False),
        ("a.c", "abc", False),
        ("a", "a\nb", False),
        ("", "a", False),
    ],
)
def test_compares_output_as_the_rules_say(expected, output, same):
    assert shows(expected, output) is same


PAGE_THAT_HOLDS = """
```python title=sums.py
def total(numbers):
    return sum(numbers)
```

```python
import sums

print(sums.total([1, 2]))
```

```text
3
```

```console
$ rewardhub readers nothing
No reader is called `nothing`. ...
$ echo $?
2
$ cat sums.py | head -1
def total(numbers):
```

```yaml
stages:
  - {name: outcome, graders: [{use: recorded/value}]}
```
"""


def page_of(text, folder):
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_a_page_that_holds_passes(page_run, tmp_path):
    run_page(page_of(PAGE_THAT_HOLDS, tmp_path), page_run)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("```text\n3\n", "```text\n4\n"),
        ("```text\n3\n```\n", ""),
        ("No reader is called", "No writer is called"),
        ("$ echo $?\n2\n", ""),
        ("$ echo $?\n2\n", "$ echo $?\n1\n"),
        ("$ cat sums.py | head -1", "$ pip install . | head -1"),
        ("def total(numbers):\n```", "def total():\n```"),
        ("recorded/value", "recorded/vlaue"),
        ("```yaml", "```yaml wrong"),
    ],
)
def test_a_page_that_does_not_hold_fails(right, wrong, page_run, tmp_path):
    assert right in PAGE_THAT_HOLDS
    page = page_of(PAGE_THAT_HOLDS.replace(right, wrong), tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run_page(page, page_run)
