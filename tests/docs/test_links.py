"""Every link leads somewhere, and every page is found from the first one."""

import itertools
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")])


@cache
def tokens_of(page):
    return MarkdownIt().enable("table").parse(page.read_text())


def links_of(page):
    for token in tokens_of(page):
        for each in token.children or ():
            target = each.attrGet("href") or each.attrGet("src")
            if target:
                yield unquote(str(target))


def anchors_of(page):
    """Return the anchors that GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    tokens = tokens_of(page)
    for heading, content in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(each.content for each in content.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[name] = found.get(name, 0) + 1
    return {f"{name}-{count}" if count else name for name in found for count in range(found[name])}


def is_outside(link):
    return re.match(r"[a-z]+:", link) is not None


def target_of(page, link):
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


def broken(page):
    for link in links_of(page):
        if is_outside(link):
            continue
        path, anchor = target_of(page, link)
        if not path.exists():
            yield f"{link}: there is no such file"
        elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
            yield f"{link}: {path.name} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_the_page_lead_somewhere(page):
    assert list(broken(page)) == []


def test_every_page_is_found_from_the_first_one():
    waiting = [DOCS / "README.md"]
    found = set()
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md" or not page.is_file():
            continue
        found.add(page)
        waiting += [target_of(page, link)[0] for link in links_of(page) if not is_outside(link)]
    assert [page for page in DOCS.rglob("*.md") if page not in found] == []


def test_a_broken_link_is_noticed(tmp_path):
    other = tmp_path / "other.md"
    other.write_text("# One `two`, three\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#one-two-three) [b](other.md#four) [c](missing.md) [d](https://example.org)"
    )
    assert list(broken(page)) == [
        "other.md#four: other.md has no such heading",
        "missing.md: there is no such file",
    ]
