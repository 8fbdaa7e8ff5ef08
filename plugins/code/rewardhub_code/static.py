"""Graders that read code without running it: does it compile, and what does it reach for?"""

from __future__ import annotations

from pydantic import Field, ValidationError

from rewardhub import Grader, Score, TaskError, Trajectory, Workers
from rewardhub_code import forbidden, syntax
from rewardhub_code.checks import CodeCheck
from rewardhub_code.extract import Extraction, code_of

_CPU_SECONDS = 10.0
_SHOWN = 50


def code_in(trajectory: Trajectory) -> Extraction:
    """Return the code of the final answer; a task without ``checks.code`` names no entry point.

    Raises:
        TaskError: if ``checks.code`` cannot be read.
    """
    try:
        check = CodeCheck.model_validate(trajectory.task.checks.get("code", {}))
    except ValidationError as error:
        raise TaskError(f"`checks.code`: {error.errors()[0]['msg']}") from None
    return code_of(trajectory.final_text, entry_point=check.entry_point, prompt=check.prompt)


class Compiles(Grader):
    """1 if the code of the answer compiles.

    Nothing is run, and nothing is looked up: a name that does not exist compiles. Warnings are no
    errors. CPython compiles in a worker process, for source can be written to exhaust its memory.
    """

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Return whether the code compiles; the error and its line are in the reason."""
        found = code_in(trajectory)
        if not found.code:
            return Score.of(False, found.reason)
        error = workers.limited(cpu_seconds=_CPU_SECONDS).call(compile_error, found.code)
        return Score.of(not error, error or "it compiles", evidence={"code": found.evidence()})


def compile_error(source: str) -> str:
    """Return why ``source`` does not compile, with the line; empty if it does."""
    syntax.hush_warnings()
    try:
        compile(source, syntax.FILE_NAME, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        return f"{line}{error.msg}"[:500]
    except ValueError as error:  # half a surrogate pair
        return f"it cannot be read: {error}"[:500]
    except (RecursionError, MemoryError, OverflowError) as error:
        return f"it is nested too deeply for Python: {type(error).__name__}"
    return ""


class NoForbidden(Grader):
    """1 if the code uses nothing that is forbidden.

    Found by its syntax: imports under any alias, ``__import__`` and ``import_module``, names taken
    with ``getattr``, ``vars`` or ``globals`` where they are written out, and names that are passed
    on instead of called. Not found: names that are put together when the code runs, code in texts
    that ``eval`` is given, and what other modules do for it. So this tells how an answer was
    written; it protects nothing. Use a sandbox for that, and `code/unit-tests` in mode ``split``.
    """

    imports: tuple[str, ...] = forbidden.IMPORTS
    """Modules that must not be imported, nor any part of them."""
    uses: tuple[str, ...] = forbidden.USES
    """Functions that must not be used, called or not: ``eval``, ``os.system``."""
    attributes: tuple[str, ...] = forbidden.ATTRIBUTES
    """Attributes that must not be used, whatever they belong to: ``__globals__``."""
    allow: tuple[str, ...] = Field(default=())
    """Names that are taken out of the three lists."""

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Return whether nothing forbidden is there; names and lines are in the evidence."""
        found = code_in(trajectory)
        if not found.code:
            return Score.of(False, found.reason)
        lists = [
            sorted({*names} - {*self.allow}) for names in (self.imports, self.uses, self.attributes)
        ]
        call = workers.limited(cpu_seconds=_CPU_SECONDS).call
        uses = call(forbidden.forbidden_in, found.code, *lists)
        if uses is None:
            return Score.of(False, "the code is no Python")
        evidence = {"forbidden": [[line, what] for line, what in uses[:_SHOWN]]}
        if not uses:
            return Score.of(True, "nothing forbidden is used")
        line, what = uses[0]
        more = f", and {len(uses) - 1} more" if len(uses) > 1 else ""
        return Score.of(False, f"line {line}: {what}{more}", evidence=evidence)
