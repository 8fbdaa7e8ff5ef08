"""Write the reference from the code: `python docs/generate.py`, or `--check` to compare only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from reference_pages import api, commands, errors, formats, graders, hooks, settings, spec_format
from reference_pages.markdown import join, table

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py: change the code, and run it again. -->"


def pages() -> dict[str, str]:
    """Return the path of each page below docs/reference, and its text."""
    made = {
        "README.md": _index(),
        "api.md": api.page(),
        "command-line.md": commands.page(),
        "environment.md": settings.environment(),
        "errors.md": errors.page(),
        "exit-codes.md": settings.exit_codes(),
        "file-formats.md": formats.page(),
        "spec-format.md": spec_format.page(),
        "testing.md": api.testing_page(),
        **dict(hooks.pages()),
        **dict(graders.pages()),
    }
    return {path: f"{NOTE}\n\n{text}\n" for path, text in sorted(made.items())}


def _index() -> str:
    shown = [
        ("[The command line](command-line.md)", "every command and option"),
        ("[The spec format](spec-format.md)", "every key of a reward file"),
        ("[File formats](file-formats.md)", "rows in, results out, the run folder, cases"),
        ("[Exit codes](exit-codes.md)", ""),
        ("[Environment variables](environment.md)", ""),
        ("[The Python API](api.md)", "every name of `rewardhub`"),
        ("[The testing kit](testing.md)", "every name of `rewardhub.testing`"),
        ("[Errors](errors.md)", "the tree, and what each one means"),
    ]
    found = (
        (f"[`{name}`]({graders.file_of(name)})", graders.about(each))
        for name, each in graders.cards().items()
    )
    called = ((f"[`{name}`](hooks/{name}.md)", hooks.about(name)) for name in hooks.names())
    return join(
        "# Reference",
        "Written from the code. The other pages are [over there](../README.md).",
        table(("Page", ""), shown),
        "## Graders",
        "Of the framework and of the packs in this repository.",
        table(("Grader", ""), found),
        "## Hooks",
        "What a plugin can implement.",
        table(("Hook", ""), called),
    )


def stale(made: dict[str, str]) -> Iterator[str]:
    """Yield the paths of pages that are missing, not up to date, or no longer made."""
    there = {str(path.relative_to(REFERENCE)): path for path in REFERENCE.rglob("*.md")}
    for path, text in made.items():
        if path not in there or there[path].read_text(encoding="utf-8") != text:
            yield path
    yield from sorted(set(there) - set(made))


def main() -> int:
    """Write the pages; with ``--check`` write nothing, and return 1 if any is not up to date."""
    made = pages()
    old = list(stale(made))
    if sys.argv[1:] == ["--check"]:
        for path in old:
            sys.stderr.write(f"docs/reference/{path} is not up to date.\n")
        if old:
            sys.stderr.write("Run: python docs/generate.py\n")
        return 1 if old else 0
    for path in old:
        page = REFERENCE / path
        if path in made:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(made[path], encoding="utf-8")
        else:
            page.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
