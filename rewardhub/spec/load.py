"""The way in: a reward file, checked and resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardhub.errors import Mistake, SpecError
from rewardhub.host import Registry
from rewardhub.records import Task
from rewardhub.spec.drafts import SpecDraft
from rewardhub.spec.extends import Source, path_of, read_source
from rewardhub.spec.marks import Mistakes
from rewardhub.spec.model import RewardSpec
from rewardhub.spec.resolve import resolve
from rewardhub.spec.route import RouteDraft, resolve_route
from rewardhub.spec.tasks import check_door, check_tasks


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check` found.

    Attributes:
        spec: ready to run; None where the file itself has mistakes.
        mistakes: all of them, warnings too, in the order of their lines.
    """

    spec: RewardSpec | None
    mistakes: tuple[Mistake, ...]

    @property
    def errors(self) -> tuple[Mistake, ...]:
        """The mistakes that are no warnings."""
        return tuple(mistake for mistake in self.mistakes if mistake.level == "error")


def load(source: Source, registry: Registry) -> RewardSpec:
    """Return a reward spec, or a route to several, ready to run.

    Args:
        source: a YAML file, the name of a shipped spec (``math/strict``), or a mapping with the
            same content. Paths inside of a mapping are relative to the working directory.
        registry: knows the graders, resources and shipped specs.

    Raises:
        SpecError: with every mistake, each with its file, line and fix.
    """
    checked = check(source, registry)
    if checked.errors or checked.spec is None:
        raise SpecError(checked.errors)
    return checked.spec


def check(
    source: Source,
    registry: Registry,
    *,
    tasks: Iterable[Task] | None = None,
    fills: Sequence[str] | None = None,
) -> Checked:
    """Return everything that is wrong with a reward file, before any row is read.

    Args:
        source: as for `load`.
        registry: as for `load`.
        tasks: the tasks that it is meant for: their checks are validated by the models of the
            graders that read them, and a route must take every one of them.
        fills: the paths that the door fills which it is meant for (`rewardhub.doors.FILLS`):
            graders that read others are mistakes.
    """
    mistakes = Mistakes()
    try:
        folder = _folder_of(source, registry)
        node = read_source(source, registry, mistakes)
    except SpecError as error:
        mistakes.found += [each for each in error.mistakes if each not in mistakes.found]
        return Checked(None, _sorted(mistakes))
    draft: SpecDraft | RouteDraft
    if "route" in node.fields:
        draft = resolve_route(node, folder, registry, mistakes)
    else:
        draft = resolve(node, registry, mistakes)
    spec = None if mistakes.errors else draft.spec
    if tasks is not None:
        check_tasks(draft, tasks, mistakes)
    elif isinstance(draft, RouteDraft) and "default" not in draft.values:
        problem = "The route has no `default`: tasks of other values get no reward. Add one, or "
        mistakes.warn(node.fields["route"].mark, problem + "check it with the tasks.")
    if fills is not None:
        check_door(draft, fills, mistakes)
    return Checked(spec, _sorted(mistakes))


def _folder_of(source: Source, registry: Registry) -> Path:
    if isinstance(source, Mapping):
        return Path()
    return path_of(source, registry, Path()).parent


def _sorted(mistakes: Mistakes) -> tuple[Mistake, ...]:
    """Sort by line inside of each file; files stay in the order in which they were met."""
    files = list(dict.fromkeys(mistake.file for mistake in mistakes.found))
    return tuple(
        sorted(
            mistakes.found,
            key=lambda each: (files.index(each.file), each.line or 0, each.column or 0),
        )
    )
