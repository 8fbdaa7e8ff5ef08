"""Cards: what a plugin offers, as frozen values that its hooks yield."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel

from rewardhub.contracts import (
    DEFAULT_READS,
    BatchGrader,
    Environment,
    Grader,
    GroupGrader,
    Judge,
    Limits,
    Model,
    Options,
    Policy,
    Reader,
    Sandbox,
    Signature,
    Writer,
    read_signature,
    tree_of,
)
from rewardhub.errors import GraderDefinitionError

RunsIn = Literal["auto", "process"]
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The base of every card.

    Attributes:
        name: unique among the cards of its kind.
    """

    kind: ClassVar[str] = "card"

    name: str


def _check_class(card: Card, field_name: str, contract: type[object]) -> None:
    given = getattr(card, field_name)
    if not inspect.isclass(given):
        raise GraderDefinitionError(
            f"The `{field_name}` of {card.kind} `{card.name}` is a class, not {given!r}. "
            "Have you called it? Leave out the `()`."
        )
    if not issubclass(given, contract):
        raise GraderDefinitionError(
            f"The {card.kind} `{card.name}` must subclass `{contract.__name__}`, and "
            f"{given.__name__} does not."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderCard(Card):
    """A grader that specs can use. Returned by ``rewardhub_graders``.

    Attributes:
        name: ``domain/what``.
        grader: the class.
        version: raise it whenever verdicts change.
        reads: the paths it depends on; None means `DEFAULT_READS`. Its own keys of ``checks`` are
            always among them.
        gives: what it gives besides a value: ``steps`` if its Scores carry step values.
        runs_in: ``auto`` (inline, thread or loop, by its signature) or ``process`` (killable).
        deterministic: whether equal input gives an equal Score; if not, none is cached.
        checks: key of ``Task.checks`` -> the pydantic model of its value.
        group_by: for group graders: the path whose value makes a group instead of
            ``Trajectory.group``.
        limits: what one grading may use, where it runs in a worker.
        max_rows: for batch graders: how many trajectories one call takes.
        max_tokens: for batch graders: how many tokens (a quarter of the characters) one call takes.
        max_wait: for batch graders: how many seconds a trajectory waits for others.
    """

    kind: ClassVar[str] = "grader"

    grader: type[Grader] | type[BatchGrader] | type[GroupGrader]
    version: str = "1"
    reads: tuple[str, ...] | None = None
    gives: tuple[Literal["steps"], ...] = ()
    runs_in: RunsIn = "auto"
    deterministic: bool = True
    checks: Mapping[str, type[BaseModel]] = field(default_factory=dict[str, type[BaseModel]])
    group_by: str | None = None
    limits: Limits = Limits()
    max_rows: int = 64
    max_tokens: int | None = None
    max_wait: float = 0.05
    signature: Signature = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise GraderDefinitionError(
                f"A grader is called `domain/what` in lower case, as `style/brevity`, "
                f"not `{self.name}`."
            )
        object.__setattr__(self, "signature", read_signature(self.grader))
        self._check_choices()
        tree_of(self.all_reads)
        if self.runs_in == "process" and not self._plain:
            raise GraderDefinitionError(
                f'`{self.name}` says runs_in="process", and only a plain `def grade` without '
                "resources other than Workers can run there."
            )
        if self.group_by is not None:
            tree_of((self.group_by,))

    def _check_choices(self) -> None:
        mistake = ""
        reads: object = self.reads
        if isinstance(reads, str):
            mistake = f'`reads` is a tuple of paths: write `reads=("{reads}",)`'
        elif self.runs_in not in get_args(RunsIn):
            mistake = f"`runs_in` is `auto` or `process`, not `{self.runs_in}`"
        elif set(self.gives) - {"steps"}:
            mistake = f'`gives` is empty or `("steps",)`, not {self.gives!r}'
        elif self.group_by is not None and self.signature.shape != "grade_group":
            mistake = "`group_by` is for group graders"
        elif min(self.max_rows, 1 if self.max_tokens is None else self.max_tokens) < 1:
            mistake = "`max_rows` and `max_tokens` are at least 1"
        wrong = [
            key
            for key, model in self.checks.items()
            if not (inspect.isclass(model) and issubclass(model, BaseModel))
        ]
        if wrong:
            mistake = f"`checks` names a pydantic model for each key, and `{wrong[0]}` has none"
        if mistake:
            raise GraderDefinitionError(f"The card of grader `{self.name}` is wrong: {mistake}.")

    @property
    def _plain(self) -> bool:
        signature = self.signature
        return (
            signature.shape == "grade"
            and not signature.is_async
            and (not signature.slots or signature.only_workers)
        )

    @property
    def all_reads(self) -> tuple[str, ...]:
        """The paths that the grader sees, its own check keys among them."""
        listed = DEFAULT_READS if self.reads is None else self.reads
        own = tuple(f"task.checks.{key}" for key in self.checks)
        return tuple(dict.fromkeys((*listed, *own)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderCard(Card):
    """A file format in. Returned by ``rewardhub_readers``.

    Attributes:
        reader: the class, made without arguments.
        recognises: is given the first bytes of a file (up to 64 KiB, uncompressed) and says
            whether they are this format.
        suffixes: usual endings of the file's name; a tie between readers goes to the ending.
        rank: readers with a higher rank are asked first.
        description: one line for `rewardhub readers`.
    """

    kind: ClassVar[str] = "reader"

    reader: type[Reader]
    recognises: Callable[[bytes], bool]
    suffixes: tuple[str, ...] = ()
    rank: int = 0
    description: str = ""

    def __post_init__(self) -> None:
        _check_class(self, "reader", Reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterCard(Card):
    """A file format out. Returned by ``rewardhub_writers``; chosen by the ending of ``--out``.

    Attributes:
        writer: the class, made without arguments.
        suffixes: endings of the file's name; where several fit, the longest counts.
        description: what the format is, in a few words.
    """

    kind: ClassVar[str] = "writer"

    writer: type[Writer]
    suffixes: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        _check_class(self, "writer", Writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCard(Card):
    """A sandbox that specs can use.

    Attributes:
        sandbox: the class: an `Options`, whose fields a spec may set, and a `Sandbox`.
    """

    kind: ClassVar[str] = "sandbox"

    sandbox: type[Sandbox]

    def __post_init__(self) -> None:
        _check_class(self, "sandbox", Sandbox)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCard(Card):
    """A judge that specs can use.

    Attributes:
        judge: the class: an `Options`, whose fields a spec may set, and a `Judge`.
    """

    kind: ClassVar[str] = "judge"

    judge: type[Judge]

    def __post_init__(self) -> None:
        _check_class(self, "judge", Judge)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard(Card):
    """A model that specs can use.

    Attributes:
        model: the class: an `Options`, whose fields a spec may set, and a `Model`.
    """

    kind: ClassVar[str] = "model"

    model: type[Model]

    def __post_init__(self) -> None:
        _check_class(self, "model", Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCard(Card):
    """A policy for rollouts.

    Attributes:
        policy: the class.
    """

    kind: ClassVar[str] = "policy"

    policy: type[Policy]

    def __post_init__(self) -> None:
        _check_class(self, "policy", Policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentCard(Card):
    """An environment for rollouts; ``Task.environment["use"]`` names it.

    Attributes:
        environment: the class.
    """

    kind: ClassVar[str] = "environment"

    environment: type[Environment]

    def __post_init__(self) -> None:
        _check_class(self, "environment", Environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSourceCard(Card):
    """Tasks from a package.

    Attributes:
        source: ``source(**options)`` yields `Task` records.
        description: what they are, in a few words.
    """

    kind: ClassVar[str] = "task source"

    source: Callable[..., Any]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecCard(Card):
    """A reward spec that a pack ships, named ``domain/what``.

    Attributes:
        path: its YAML file.
        description: one line for `rewardhub specs`.
    """

    kind: ClassVar[str] = "spec"

    path: Path
    description: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise GraderDefinitionError(
                f"A spec of a pack is called `domain/what` in lower case, not `{self.name}`."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCard(Card):
    """An attack for the audit: ``attack(task)`` yields answers that must not be rewarded.

    Attributes:
        attack: is given a Task and yields final texts.
        domains: domains of tasks it applies to; empty means all.
        description: what the attack does, in a few words.
    """

    kind: ClassVar[str] = "attack"

    attack: Callable[..., Any]
    domains: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCard(Card):
    """A command under ``rewardhub NAME``.

    The module is imported when the command is called, so listing commands costs nothing.

    Attributes:
        target: ``package.module:app``, a typer app.
        help: one line for `rewardhub --help`.
    """

    kind: ClassVar[str] = "command"

    target: str
    help: str = ""

    def __post_init__(self) -> None:
        module, _, attribute = self.target.partition(":")
        if not (attribute.isidentifier() and all(n.isidentifier() for n in module.split("."))):
            raise GraderDefinitionError(
                f"The target of command `{self.name}` is `package.module:app`, not `{self.target}`."
            )


RESOURCE_FIELDS: dict[str, str] = {"sandbox": "sandbox", "judge": "judge", "model": "model"}


def resource_class(card: SandboxCard | JudgeCard | ModelCard) -> type[Options]:
    """Return the class behind a resource card.

    Raises:
        GraderDefinitionError: if its options could not be checked.
    """
    resource: type[object] = getattr(card, RESOURCE_FIELDS[card.kind])
    if not issubclass(resource, Options):
        raise GraderDefinitionError(
            f"The {card.kind} `{card.name}` must also subclass `Options`, so that what a spec says "
            "of it can be checked."
        )
    return resource
