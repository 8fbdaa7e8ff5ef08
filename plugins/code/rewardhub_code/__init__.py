"""rewardhub-code: code, graded by running it in a sandbox."""

from collections.abc import Iterator
from pathlib import Path

from rewardhub import GraderCard, SpecCard, hookimpl
from rewardhub_code import lint, variants
from rewardhub_code.calls import Calls
from rewardhub_code.checks import CodeCheck
from rewardhub_code.cost import Memory, Runtime
from rewardhub_code.lint import Lint
from rewardhub_code.repository import Repository
from rewardhub_code.stable import Stable
from rewardhub_code.static import Compiles, NoForbidden
from rewardhub_code.stdio import Stdio
from rewardhub_code.unit_tests import UnitTests
from rewardhub_code.variants import HiddenVariants

__all__ = [
    "Calls",
    "CodeCheck",
    "Compiles",
    "HiddenVariants",
    "Lint",
    "Memory",
    "NoForbidden",
    "Repository",
    "Runtime",
    "Stable",
    "Stdio",
    "UnitTests",
]

_ANSWER = ("final_text",)
_RUN = ("final_text", "task.reference")
_CHECKS = {"code": CodeCheck}


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    yield from _that_run()
    yield from _that_read()


def _that_run() -> Iterator[GraderCard]:
    yield GraderCard(name="code/calls", grader=Calls, reads=_RUN, checks=_CHECKS)
    yield GraderCard(name="code/stdio", grader=Stdio, reads=_RUN, checks=_CHECKS)
    yield GraderCard(name="code/unit-tests", grader=UnitTests, reads=_RUN, checks=_CHECKS)
    yield GraderCard(
        name="code/repository",
        grader=Repository,
        reads=(*_RUN, "status", "artifacts", "task.files"),
        checks=_CHECKS,
    )
    yield GraderCard(
        name="code/hidden-variants",
        grader=HiddenVariants,
        version=variants.version(),
        reads=("final_text", "task"),
        checks=_CHECKS,
    )
    yield GraderCard(name="code/stable", grader=Stable, reads=_RUN, checks=_CHECKS)
    # What was measured is another number each time.
    yield GraderCard(
        name="code/runtime", grader=Runtime, reads=_RUN, checks=_CHECKS, deterministic=False
    )
    yield GraderCard(
        name="code/memory", grader=Memory, reads=_RUN, checks=_CHECKS, deterministic=False
    )


def _that_read() -> Iterator[GraderCard]:
    yield GraderCard(name="code/compiles", grader=Compiles, reads=_ANSWER, checks=_CHECKS)
    yield GraderCard(
        name="code/lint", grader=Lint, version=lint.version(), reads=_ANSWER, checks=_CHECKS
    )
    yield GraderCard(name="code/no-forbidden", grader=NoForbidden, reads=_ANSWER, checks=_CHECKS)


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    """Yield the reward specs that the pack ships."""
    yield SpecCard(
        name="code/staged",
        path=Path(__file__).parent / "specs" / "staged.yaml",
        description="a gate on code that compiles, then tests, hidden variants and cost",
    )
