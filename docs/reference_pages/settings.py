"""Exit codes and environment variables."""

from __future__ import annotations

import re

from reference_pages.markdown import join, table
from reference_pages.plugins import ROOT
from reference_pages.sources import class_source
from rewardhub.cli.codes import ExitCode

VARIABLES = {
    "REWARDHUB_BLOCK": (
        "names of plugins to leave out, separated by spaces",
        "`--block` is given, which then counts alone",
    ),
    "REWARDHUB_CACHE": (
        "the folder of the [cache](../explanation/identity-and-cache.md); default: your own",
        "",
    ),
    "REWARDHUB_PLUGINS": (
        "loose plugin files, separated as in PATH",
        "`--plugin` is given, which then counts alone",
    ),
    "REWARDHUB_WORKERS": (
        "how many worker processes a run has; default: one for each core, at most 8",
        "`--workers` is given",
    ),
}
NO_VARIABLE = ("REWARDHUB_VECTORS", "REWARDHUB_DATA", "REWARDHUB_DOCKER", "REWARDHUB_CLOCK")
"""Used by tests only, or inside a sandbox by the pack that sets it."""
INSIDE = {"REWARDHUB_CHANNEL": "the file descriptor of the channel to the grader"}
"""What programs in a sandbox find."""


def exit_codes() -> str:
    """Return the page of exit codes."""
    source = class_source(ExitCode)
    meanings = source.doc.section("Attributes")
    rows = [(str(int(code)), f"`{code.name}`", meanings[code.name]) for code in ExitCode]
    return join("# Exit codes", source.doc.body, table(("Code", "Name", "Meaning"), rows))


def environment() -> str:
    """Return the page of environment variables.

    Raises:
        LookupError: if the code reads one that is not described here, or the other way round.
    """
    found = _read_by_code()
    described = {*VARIABLES, *INSIDE}
    if found != described:
        raise LookupError(f"described and read differ: {sorted(found ^ described)}")
    rows = [(f"`{name}`", meaning, unless) for name, (meaning, unless) in VARIABLES.items()]
    return join(
        "# Environment variables",
        "What a command line option says counts before the environment, and the environment before "
        "the default.",
        table(("Variable", "Holds", "Not used when"), rows),
        "Secrets of a reward spec are variables that you name yourself: `{env: NAME}`.",
        "Programs in a sandbox see nothing of the environment outside. They find:",
        table(("Variable", "Holds"), [(f"`{name}`", text) for name, text in INSIDE.items()]),
    )


def _read_by_code() -> set[str]:
    files = [*ROOT.glob("rewardhub/**/*.py"), *ROOT.glob("plugins/*/rewardhub_*/**/*.py")]
    texts = (path.read_text(encoding="utf-8") for path in files)
    found = {name for text in texts for name in re.findall(r"\bREWARDHUB_[A-Z]+\b", text)}
    return found - set(NO_VARIABLE)
