"""How inputs are made: a small declarative language, drawn from by hypothesis.

A strategy is JSON, so that a task can hold it::

    {"type": "lists", "items": {"type": "integers", "min": 0, "max": 99}, "max_size": 20}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rewardhub_code.inside import plain

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    Drawn: TypeAlias = "SearchStrategy[Any]"

MOST_ITEMS = 1000
"""The largest collection or text that a strategy may make."""
_DEEPEST = 6
_STEADY = "rewardhub-steady"


class _Base(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def inner(self) -> tuple[Strategy, ...]:
        """The strategies that this one is made of."""
        return ()

    @model_validator(mode="after")
    def _not_too_deep(self) -> Self:
        if _depth(self) > _DEEPEST:
            raise ValueError(f"a strategy is nested at most {_DEEPEST} deep")
        return self


def _depth(strategy: _Base) -> int:
    return 1 + max(map(_depth, strategy.inner()), default=0)


class _Range(_Base):
    @model_validator(mode="after")
    def _min_is_not_above_max(self) -> Self:
        least, most = getattr(self, "min", None), getattr(self, "max", None)
        if least is not None and most is not None and least > most:
            raise ValueError(f"min ({least}) is above max ({most})")
        return self


class _Sized(_Base):
    min_size: int = Field(default=0, ge=0, le=MOST_ITEMS)
    max_size: int = Field(default=20, ge=0, le=MOST_ITEMS)

    @model_validator(mode="after")
    def _min_is_not_above_max(self) -> Self:
        if self.min_size > self.max_size:
            raise ValueError(f"min_size ({self.min_size}) is above max_size ({self.max_size})")
        return self


class Integers(_Range):
    """Whole numbers."""

    type: Literal["integers"]
    min: int = -1000
    max: int = 1000

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.integers(self.min, self.max)


class Floats(_Range):
    """Finite floating-point numbers."""

    type: Literal["floats"]
    min: float = Field(default=-1000.0, allow_inf_nan=False)
    max: float = Field(default=1000.0, allow_inf_nan=False)

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.floats(self.min, self.max, allow_subnormal=False)


class Booleans(_Base):
    """True and False."""

    type: Literal["booleans"]

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.booleans()


class Text(_Sized):
    """Texts of the characters of an alphabet."""

    type: Literal["text"]
    alphabet: str = Field(default="abcdefghijklmnopqrstuvwxyz ", min_length=1)

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        # Not `strategies.text`, which writes a table of all characters into the working folder.
        letters = strategies.sampled_from(sorted({*self.alphabet}))
        drawn = strategies.lists(letters, min_size=self.min_size, max_size=self.max_size)
        return drawn.map("".join)


class Binary(_Sized):
    """Bytes."""

    type: Literal["bytes"]

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.binary(min_size=self.min_size, max_size=self.max_size)


class Lists(_Sized):
    """Lists of like items."""

    type: Literal["lists"]
    items: Strategy
    unique: bool = False
    """Whether no item comes twice; then items must be hashable."""

    def inner(self) -> tuple[Strategy, ...]:
        """The strategy of the items."""
        return (self.items,)

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.lists(
            self.items.build(), unique=self.unique, min_size=self.min_size, max_size=self.max_size
        )


class Sets(_Sized):
    """Sets of like items."""

    type: Literal["sets"]
    items: Strategy

    def inner(self) -> tuple[Strategy, ...]:
        """The strategy of the items."""
        return (self.items,)

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.sets(self.items.build(), min_size=self.min_size, max_size=self.max_size)


class Dicts(_Sized):
    """Dicts of like keys and values."""

    type: Literal["dicts"]
    keys: Strategy
    values: Strategy

    def inner(self) -> tuple[Strategy, ...]:
        """The strategies of keys and values."""
        return (self.keys, self.values)

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.dictionaries(
            self.keys.build(), self.values.build(), min_size=self.min_size, max_size=self.max_size
        )


class Tuples(_Base):
    """Tuples with a strategy for each place."""

    type: Literal["tuples"]
    items: tuple[Strategy, ...]

    def inner(self) -> tuple[Strategy, ...]:
        """The strategies of the places."""
        return self.items

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.tuples(*(item.build() for item in self.items))


class OneOf(_Base):
    """What one of several strategies makes."""

    type: Literal["one_of"]
    options: tuple[Strategy, ...] = Field(min_length=1)

    def inner(self) -> tuple[Strategy, ...]:
        """The strategies to choose from."""
        return self.options

    def build(self) -> Drawn:
        """Return what hypothesis draws from."""
        from hypothesis import strategies

        return strategies.one_of(*(option.build() for option in self.options))


class SampledFrom(_Base):
    """One of the values that are listed: plain values, tagged as in ``calls``."""

    type: Literal["sampled_from"]
    values: tuple[Any, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _values_are_plain(self) -> Self:
        for value in self.values:
            try:
                plain.decode(value)
            except plain.NotPlainError as error:
                raise ValueError(str(error)) from None
        return self

    def build(self) -> Drawn:
        """Return what hypothesis draws from; each draw is a fresh value."""
        from hypothesis import strategies

        return strategies.sampled_from(range(len(self.values))).map(
            lambda place: plain.decode(self.values[place])
        )


Strategy: TypeAlias = Annotated[
    Integers
    | Floats
    | Booleans
    | Text
    | Binary
    | Lists
    | Sets
    | Dicts
    | Tuples
    | OneOf
    | SampledFrom,
    Field(discriminator="type"),
]


def _register_steady() -> None:
    """Make known a backend of hypothesis that draws the same in every process.

    By itself hypothesis also draws constants that stand in whatever modules are loaded, and
    writes down in the working folder which these are.
    """
    from hypothesis.internal.conjecture import providers

    class Steady(providers.HypothesisProvider):
        """The usual one, without constants."""

        def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
            return None

    providers.AVAILABLE_PROVIDERS.setdefault(_STEADY, Steady)


def draw(strategy: Drawn, *, count: int, seed: int) -> list[Any]:
    """Return up to ``count`` different plain values of ``strategy``.

    The same arguments give the same values, as long as hypothesis stays the same.
    """
    import hypothesis

    _register_steady()
    drawn: dict[bytes, Any] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=2 * count,  # for some come twice
        backend=_STEADY,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(cast("Any", hypothesis.HealthCheck)),
    )
    @hypothesis.given(strategy)
    def collect(value: Any) -> None:
        drawn.setdefault(plain.dumps(plain.encode(value)), value)

    collect()
    return list(drawn.values())[:count]


def apart(strategies: Sequence[Strategy]) -> Drawn:
    """Return tuples with a value of each of ``strategies``."""
    from hypothesis.strategies import tuples

    return tuples(*(strategy.build() for strategy in strategies))


def varied(inputs: Sequence[tuple[Any, ...]]) -> Drawn:
    """Return tuples like ``inputs``: one of them, with one place changed.

    One place only, so that what the places have to do with each other mostly still holds. The new
    value is within the bounds of what ``inputs`` have there.
    """
    from hypothesis.strategies import just, one_of, sampled_from, tuples

    by_length: dict[int, list[tuple[Any, ...]]] = {}
    for values in inputs:
        by_length.setdefault(len(values), []).append(values)
    options: list[Drawn] = []
    for length, same in by_length.items():
        for place in range(length):
            new = like([values[place] for values in same]).build()
            options.append(tuples(sampled_from(same), just(place), new).map(_replaced))
    return one_of(*options)


def _replaced(drawn: tuple[tuple[Any, ...], int, Any]) -> tuple[Any, ...]:
    values, place, new = drawn
    return (*values[:place], new, *values[place + 1 :])


def like(values: Sequence[Any]) -> Strategy:
    """Return a strategy for values like these: of their types, and within their bounds."""
    options = [_like_same(kind, same) for kind, same in _by_kind(values)]
    return options[0] if len(options) == 1 else OneOf(type="one_of", options=tuple(options))


def _by_kind(values: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    groups: dict[Any, list[Any]] = {}
    kinds = {type(value) for value in values}
    for value in values:
        kind: Any = type(value)
        if kind is tuple:
            kind = (tuple, len(value))
        elif kind is int and float in kinds:
            kind = float  # a task that gives 1 and 2.5 means numbers
        groups.setdefault(kind, []).append(value)
    yield from groups.items()


def _like_same(kind: Any, same: list[Any]) -> Strategy:
    try:
        found = _like_kind(kind, same)
    except ValidationError:  # too deep, or out of bounds
        found = None
    return found or SampledFrom(type="sampled_from", values=tuple(map(plain.encode, same)))


def _like_kind(kind: Any, same: list[Any]) -> Strategy | None:
    if kind is bool:
        return Booleans(type="booleans")
    if kind is int:
        return Integers(type="integers", min=min(same), max=max(same))
    if kind is float:
        return Floats(type="floats", min=min(same), max=max(same))
    if isinstance(kind, tuple):
        columns = zip(*same, strict=True)
        return Tuples(type="tuples", items=tuple(like(column) for column in columns))
    return _like_collection(kind, same) if kind in {str, bytes, list, set, dict} else None


def _like_collection(kind: Any, same: list[Any]) -> Strategy | None:
    items = [item for value in same for item in value]
    if not items:
        return None
    least, most = min(map(len, same)), max(map(len, same))
    if kind is str:
        alphabet = "".join(sorted({*items}))
        return Text(type="text", alphabet=alphabet, min_size=least, max_size=most)
    if kind is bytes:
        return Binary(type="bytes", min_size=least, max_size=most)
    if kind is list:
        return Lists(type="lists", items=like(items), min_size=least, max_size=most)
    if kind is set:
        return Sets(type="sets", items=like(items), min_size=least, max_size=most)
    held = like([item for value in same for item in value.values()])
    return Dicts(type="dicts", keys=like(items), values=held, min_size=least, max_size=most)
