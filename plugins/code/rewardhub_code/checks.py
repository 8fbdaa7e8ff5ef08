"""What a task says under ``checks["code"]``: one model that all graders of the pack share.

A section belongs to one grader, and a task has those that it needs::

    {"code": {"entry_point": "add", "unit_tests": {"asserts": ["assert add(1, 2) == 3"]}}}

The right solution is ``Task.reference``: text, read like an answer.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from rewardhub import Check
from rewardhub_code.inside import plain
from rewardhub_code.strategies import Strategy


def _plain(value: Any) -> Any:
    data = _thawed(value)
    try:
        plain.decode(data)
    except plain.NotPlainError as error:
        raise ValueError(str(error)) from None
    return data


def _thawed(value: Any) -> Any:
    """Return JSON as lists and dicts: records hold it as tuples and read-only mappings."""
    if isinstance(value, (list, tuple)):
        return [_thawed(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _thawed(each) for name, each in value.items()}
    return value


Plain = Annotated[Any, AfterValidator(_plain)]
"""A plain value as JSON: what JSON lacks is tagged, as ``{"$tuple": [1, 2]}``."""


def _dotted(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"`{name}` is no name of a function, as `add` or `Solution.add`")
    return name


def _parses(source: str) -> str:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"this is no Python: {error}") from None
    return source


Name = Annotated[str, AfterValidator(_dotted)]
Source = Annotated[str, AfterValidator(_parses)]


class Call(Check):
    """One call of the solution, and what must come of it."""

    args: list[Plain] = Field(default_factory=list[Any])
    """The arguments, plain values."""
    kwargs: dict[str, Plain] = Field(default_factory=dict[str, Any])
    """The keyword arguments."""
    expected: Plain = None
    """What must be returned. A list also stands for a tuple of the same items."""
    expected_args: list[Plain] | None = None
    """What the arguments must be afterwards, for functions that work in place; then ``expected``
    counts only if it is given."""
    raises: str | None = None
    """The name of the exception that must be raised instead, or of one that it derives from."""
    name: str = ""
    """For the evidence; default: ``call`` and its number."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.raises is not None and self.model_fields_set & {"expected", "expected_args"}:
            raise ValueError("a call that `raises` has nothing else expected")
        if self.raises is None and not self.model_fields_set & {"expected", "expected_args"}:
            raise ValueError("a call needs `expected`, `expected_args` or `raises`")
        return self


class CallsCheck(Check):
    """For ``code/calls``: calls that are compared outside of the sandbox."""

    tests: tuple[Call, ...] = ()
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Floats may differ by this much, absolutely or as a share of the larger."""
    any_order: bool = False
    """Whether the items of the returned list may come in any order."""


class Program(Check):
    """One run of a program: what it reads, and what it must print."""

    stdin: str = ""
    expected: str = ""
    name: str = ""
    """For the evidence; default: ``run`` and its number."""


class StdioCheck(Check):
    """For ``code/stdio``: programs that read stdin and write stdout."""

    tests: tuple[Program, ...] = ()
    compare: Literal["exact", "tokens", "numbers", "checker"] = "tokens"
    """``exact``: the same text but for newlines at its end; ``tokens``: the same words between
    white space; ``numbers``: likewise, numbers within ``tolerance``; ``checker``: a program."""
    tolerance: float = Field(default=1e-6, ge=0, allow_inf_nan=False)
    """For ``numbers``: absolutely, or as a share of the larger."""
    checker: Source = ""
    """Python that defines ``check(stdin, expected, stdout)``, which returns whether the output
    is right. It runs in a sandbox of its own."""

    @model_validator(mode="after")
    def _checker_is_there(self) -> Self:
        if (self.compare == "checker") != bool(self.checker):
            raise ValueError('`compare: "checker"` and the source of a `checker` go together')
        return self


class UnitTestsCheck(Check):
    """For ``code/unit-tests``: tests in Python, in one of four forms."""

    asserts: tuple[Source, ...] = ()
    """Statements, as in MBPP; each is a test, and names come from the solution."""
    check: Source = ""
    """Source that defines ``check(candidate)``, as in HumanEval; one test."""
    script: Source = ""
    """Source that raises if the solution is wrong; one test."""
    pytest: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Files for pytest, path -> source. They import the solution as ``module``."""
    module: Name = "solution"
    """The name under which the tests import the solution."""
    setup: Source = ""
    """Source that runs before the tests, on their side."""
    in_place: bool = False
    """Whether the solution changes its arguments in place, and tests look at them afterwards."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = [name for name in ("asserts", "check", "script", "pytest") if getattr(self, name)]
        if len(forms) > 1:
            raise ValueError(f"tests have one form, not {' and '.join(forms)}")
        for path, source in self.pytest.items():
            _is_inside(path)
            if path.endswith(".py"):
                _parses(source)
        return self


def _is_inside(path: str) -> None:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"`{path}` is no relative path of a file")


def _is_test(name: str) -> str:
    path, separator, _ = name.partition("::")
    _is_inside(path)
    if not separator or not path.endswith(".py"):
        raise ValueError(f"`{name}` is no test, as `tests/test_add.py::test_zero`")
    return name


TestName = Annotated[str, AfterValidator(_is_test)]


class RepositoryCheck(Check):
    """For ``code/repository``: tests of a tree of files (``Task.files``)."""

    fail_to_pass: tuple[TestName, ...] = ()
    """Tests (pytest's node ids) that fail before the change and must pass after it."""
    pass_to_pass: tuple[TestName, ...] = ()
    """Tests that pass before it and must still pass."""
    test_files: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Path -> content of what is put into the tree, over whatever the attempt made of it."""
    source_roots: tuple[str, ...] = ("", "src")
    """Folders from which the tests import; empty for the tree itself."""
    pytest_arguments: tuple[str, ...] = ()
    """Further arguments of pytest; ``addopts`` of the tree's own configuration do not count."""

    @model_validator(mode="after")
    def _paths_are_inside(self) -> Self:
        for path in (*self.test_files, *filter(None, self.source_roots)):
            _is_inside(path)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """All tests, each once."""
        return tuple(dict.fromkeys((*self.fail_to_pass, *self.pass_to_pass)))


class VariantsCheck(Check):
    """For ``code/hidden-variants``: how further inputs are made."""

    arguments: tuple[Strategy, ...] = ()
    """A strategy for each argument; empty: the task's own inputs are varied."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Floats may differ by this much, absolutely or as a share of the larger."""
    any_order: bool = False
    """Whether the items of the returned list may come in any order."""
    raises: bool = False
    """Whether inputs on which the reference raises count, too: the solution must raise alike."""


class CodeCheck(Check):
    """What a task says to the graders of code."""

    entry_point: Name | None = None
    """The function that is asked for; ``Solution.name`` for a method of a class."""
    prompt: str = ""
    """The code that the answer completes, if it is not whole by itself."""
    preamble: Source = ""
    """Source that runs before the solution, on its side, as imports that answers leave out."""
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """CPU seconds, instead of the grader's own."""
    memory_mb: int | None = Field(default=None, gt=0)
    """MiB of memory, instead of the grader's own."""
    calls: CallsCheck | None = None
    stdio: StdioCheck | None = None
    unit_tests: UnitTestsCheck | None = None
    repository: RepositoryCheck | None = None
    variants: VariantsCheck | None = None
