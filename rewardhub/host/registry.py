"""Registry: everything that is installed, by name, with its owner."""

from __future__ import annotations

import inspect
import logging
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pluggy

from rewardhub.contracts import Options
from rewardhub.errors import (
    NameClashError,
    PluginError,
    RewardhubError,
    UnknownNameError,
    did_you_mean,
)
from rewardhub.host import hookspecs
from rewardhub.host.cards import (
    AttackCard,
    Card,
    CommandCard,
    EnvironmentCard,
    GraderCard,
    JudgeCard,
    ModelCard,
    PolicyCard,
    ReaderCard,
    SandboxCard,
    SpecCard,
    TaskSourceCard,
    WriterCard,
    resource_class,
)
from rewardhub.host.plugins import (
    Loaded,
    PluginSource,
    installed_plugins,
    loose_plugin,
    module_plugin,
)
from rewardhub.records import Reward, Trajectory

C_co = TypeVar("C_co", bound=Card, covariant=True)
AnyCard = TypeVar("AnyCard", bound=Card)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Registered(Generic[C_co]):
    """A card and the plugin that it came from."""

    card: C_co
    owner: PluginSource


@dataclass(frozen=True, slots=True)
class Manifest:
    """How another process builds the same registry: plain data.

    Attributes:
        discover: whether installed packs are loaded.
        block: names of plugins that are left out.
        loose: paths of loose plugin files.
        modules: further plugins, by module name.
    """

    discover: bool = True
    block: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


class Registry:
    """Everything that plugins offer, by kind and name.

    Build one with `discover`, or with `registry_of` in tests.
    """

    def __init__(self, loaded: Iterable[Loaded], manifest: Manifest) -> None:
        self.manifest = manifest
        self.observer_errors: Counter[str] = Counter()
        self._host = pluggy.PluginManager(hookspecs.PROJECT)
        self._host.add_hookspecs(hookspecs)
        self._cards: dict[type[Card], dict[str, Registered[Card]]] = {
            card: {} for card in hookspecs.CARDS.values() if issubclass(card, Card)
        }
        self.plugins: tuple[PluginSource, ...] = tuple(self._add(each) for each in loaded)
        self._observers = self._host.hook.rewardhub_scored.get_hookimpls()

    def all(self, card: type[AnyCard]) -> Mapping[str, Registered[AnyCard]]:
        """Return every card of one kind, by name, sorted."""
        found: dict[str, Any] = self._cards[card]
        return dict(sorted(found.items()))

    def get(self, card: type[AnyCard], name: str, *, where: str = "") -> Registered[AnyCard]:
        """Return the card of this kind and name.

        Args:
            card: the kind.
            name: the name.
            where: place in a file, for the message.

        Raises:
            UnknownNameError: with the close names, and the broken packs that may own it.
        """
        found: Any = self._cards[card].get(name)
        if found is None:
            raise UnknownNameError(
                card.kind, name, self._cards[card], where + self._broken_note(name, where)
            )
        return found  # type: ignore[no-any-return]

    def _broken_note(self, name: str, where: str) -> str:
        domain = name.partition("/")[0]
        for source in self.plugins:
            if source.error and (domain in source.name or domain in source.distribution):
                reason = source.error.splitlines()[-1]
                return f"{'; ' if where else ''}the plugin {source.label} is broken: {reason}"
            if source.blocked and (domain in source.name or domain in source.distribution):
                return f"{'; ' if where else ''}the plugin {source.label} is blocked"
        return ""

    def grader(self, name: str, *, where: str = "") -> Registered[GraderCard]:
        """Return the card of a grader. Raises as `get`."""
        return self.get(GraderCard, name, where=where)

    def observe(self, trajectory: Trajectory, reward: Reward) -> None:
        """Tell the observers (``rewardhub_scored``) of a Reward; their errors are counted."""
        for observer in self._observers:
            try:
                arguments = {"trajectory": trajectory, "reward": reward}
                observer.function(*(arguments[name] for name in observer.argnames))
            except Exception:
                self.observer_errors[observer.plugin_name] += 1
                log.exception("observer of plugin %s raised", observer.plugin_name)

    @property
    def has_observers(self) -> bool:
        """Whether any plugin wants to be told of Rewards."""
        return bool(self._observers)

    def _add(self, loaded: Loaded) -> PluginSource:
        source = loaded.source
        if loaded.plugin is None:
            return source
        try:
            if self._host.has_plugin(source.name):
                raise PluginError(
                    f"Another plugin is called `{source.name}`, too: rename one of the two."
                )
            _check_hook_names(loaded.plugin)
            self._host.register(loaded.plugin, name=source.name)
            cards = list(self._cards_of(source))
        except RewardhubError as error:
            return self._remember(loaded, str(error))
        except Exception:  # noqa: BLE001  # whatever a plugin raises is remembered
            return self._remember(loaded, traceback.format_exc(limit=-4).strip())
        for card in cards:
            shelf = self._cards[type(card)]
            if card.name in shelf:
                raise NameClashError(
                    card.kind, card.name, (shelf[card.name].owner.name, source.name)
                )
            shelf[card.name] = Registered(card, source)
        return source

    def _remember(self, loaded: Loaded, error: str) -> PluginSource:
        if self._host.get_name(loaded.plugin) == loaded.source.name:
            self._host.unregister(loaded.plugin)
        log.debug("plugin %s is broken: %s", loaded.source.name, error)
        return replace(loaded.source, error=error)

    def _cards_of(self, source: PluginSource) -> Iterator[Card]:
        for hook, kind in hookspecs.CARDS.items():
            for implementation in getattr(self._host.hook, hook).get_hookimpls():
                if implementation.plugin_name != source.name:
                    continue
                for card in implementation.function():
                    yield _checked(card, kind, hook)


def _checked(card: object, kind: type[object], hook: str) -> Card:
    if not isinstance(card, kind) or not isinstance(card, Card):
        raise PluginError(
            f"`{hook}` yields {kind.__name__} values, and this one is "
            f"{card if inspect.isclass(card) else type(card).__name__}."
        )
    if isinstance(card, SandboxCard | JudgeCard | ModelCard):
        resource_class(card)
    return card


def _check_hook_names(plugin: object) -> None:
    known = [name for name in vars(hookspecs) if name.startswith("rewardhub_")]
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        marked = hasattr(function, f"{hookspecs.PROJECT}_impl")
        if marked and name not in known:
            raise PluginError(f"There is no hook `{name}`.{did_you_mean(name, known)}")
        if name in known and not marked and inspect.isroutine(function):
            raise PluginError(f"`{name}` is not marked as a hook: write `@hookimpl` above it.")


def discover(
    *, block: Sequence[str] = (), loose: Sequence[Path | str] = (), modules: Sequence[str] = ()
) -> Registry:
    """Return a registry of all that is installed, and of the loose files named.

    A pack that fails to import is remembered with its error in ``Registry.plugins``.

    Args:
        block: names of entry points or distributions to leave out.
        loose: paths of Python files that are plugins themselves.
        modules: importable modules that are plugins themselves.

    Raises:
        NameClashError: if two plugins claim one name.
        UsageError: if a loose file does not exist.
    """
    paths = tuple(str(Path(path).resolve()) for path in loose)
    return from_manifest(Manifest(True, tuple(block), paths, tuple(modules)))


def from_manifest(manifest: Manifest) -> Registry:
    """Return the registry that ``manifest`` describes. Raises as `discover`."""
    loaded = list(installed_plugins(manifest.block)) if manifest.discover else [_builtin()]
    loaded += [loose_plugin(Path(path)) for path in manifest.loose]
    loaded += [module_plugin(name) for name in manifest.modules]
    return Registry(loaded, manifest)


def _builtin() -> Loaded:
    from rewardhub import builtin

    return Loaded(PluginSource("builtin", "rewardhub-core"), builtin)


def registry_of(*plugins: object) -> Registry:
    """Return a registry of just these plugins and the built-ins: it never discovers.

    Args:
        plugins: modules or objects with hooks, or cards. Worker processes can build the same
            registry if all are modules.

    Raises:
        PluginError: if one of them is broken: a test must see that.
        NameClashError: if two of them claim one name.
    """
    for plugin in plugins:
        if inspect.isclass(plugin) and issubclass(plugin, Options):
            name = plugin.__name__
            raise PluginError(f'Give a card: `GraderCard(name="domain/what", grader={name})`.')
    loaded = [_builtin()]
    cards = [plugin for plugin in plugins if isinstance(plugin, Card)]
    loaded += [
        Loaded(PluginSource(getattr(plugin, "__name__", type(plugin).__name__)), plugin)
        for plugin in plugins
        if not isinstance(plugin, Card)
    ]
    if cards:
        loaded.append(Loaded(PluginSource("cards"), _OfCards(cards)))
    modules = tuple(plugin.__name__ for plugin in plugins if inspect.ismodule(plugin))
    registry = Registry(loaded, Manifest(discover=False, modules=modules))
    for source in registry.plugins:
        if source.error:
            raise PluginError(f"{source.name}: {source.error}")
    return registry


@dataclass(eq=False)
class _OfCards:
    """A plugin made of cards."""

    cards: list[Card] = field(default_factory=list[Card])

    def __post_init__(self) -> None:
        for hook, kind in hookspecs.CARDS.items():
            wanted = [card for card in self.cards if isinstance(card, kind)]
            setattr(self, hook, _hook_that_yields(wanted, hook))


def _hook_that_yields(cards: list[Card], hook: str) -> Any:
    def implementation() -> list[Card]:
        return cards

    implementation.__name__ = hook
    return hookspecs.hookimpl(implementation)


CARD_KINDS: tuple[type[Card], ...] = (
    GraderCard, ReaderCard, WriterCard, SandboxCard, JudgeCard, ModelCard, PolicyCard,
    EnvironmentCard, TaskSourceCard, SpecCard, AttackCard, CommandCard,
)  # fmt: skip
