"""What every record shares: frozen fields, read-only JSON, digests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, NoReturn, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from rewardhub.errors import RecordError, did_you_mean

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")

SCHEMA_VERSION: Final = 1
"""Written on every record; `rewardhub.records.migrate` reads the older ones."""


class ReadOnly(dict[str, Any]):
    """A mapping that cannot be changed: what one grader gets, the next one gets too."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("records are read-only: copy the mapping with dict(...) first")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = cast("Any", _refuse)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[ReadOnly], tuple[dict[str, Any]]]:
        return ReadOnly, (dict(self),)

    def __copy__(self) -> ReadOnly:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> ReadOnly:
        return self


EMPTY = ReadOnly()


_SIMPLE = frozenset({str, int, bool})


def freeze(value: Any) -> Any:
    """Return JSON ``value`` with read-only mappings and tuples.

    Raises:
        ValueError: for anything that JSON cannot hold, NaN and infinity included.
    """
    if value is None or type(value) in _SIMPLE or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return value
    if isinstance(value, ReadOnly):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("JSON keys must be text")
        return ReadOnly({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    raise ValueError(f"{type(value).__name__} is not JSON")


def canonical_json(value: Any) -> bytes:
    """Return JSON ``value`` as bytes that do not depend on the order of its fields."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def digest_of(value: Any) -> str:
    """Return the digest of JSON ``value``: 32 hexadecimal digits of BLAKE2b-128 (RFC 7693)."""
    return digest_of_bytes(canonical_json(value))


def digest_of_bytes(data: bytes) -> str:
    """Return the digest of ``data``, as `digest_of` writes it."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


Json = Annotated[Any, AfterValidator(freeze)]
"""Any JSON value, kept read-only."""

JsonMapping = Annotated[Mapping[str, Any], AfterValidator(freeze)]
"""A JSON object, kept read-only."""


class Record(BaseModel):
    """A frozen record: unknown fields are refused, containers are read-only.

    Records are values: they compare by content and never change. Make a changed one with
    ``record.replace(field=...)``, which checks the result again.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="constants", hide_input_in_errors=True
    )

    kind: ClassVar[str] = "record"

    def replace(self, **changes: Any) -> Self:
        """Return a copy with ``changes``, checked like a new record.

        Raises:
            RecordError: if the changed record cannot exist.
        """
        unknown = next((name for name in changes if name not in type(self).model_fields), None)
        if unknown is not None:
            hint = did_you_mean(unknown, type(self).model_fields)
            raise RecordError(f"A {self.kind} has no field `{unknown}`.{hint}")
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        return build(type(self), fields | changes)

    def to_json(self) -> bytes:
        """Return the record as one line of JSON; reading it back gives an equal record."""
        return dump_json(self)


def quick(cls: type[T]) -> type[T]:
    """Give a frozen slotted dataclass an ``__init__`` that costs a fifth.

    The one of `dataclasses` sets each field through ``object.__setattr__``. This one sets them
    while the object is of an open twin class with the same slots. Rewards are made of a dozen
    such objects, a hundred thousand times a second, so it shows.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    names = [field.name for field in fields]
    twin = type(cls.__name__, (), {"__slots__": tuple(names)})
    cls._open = twin  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"_twin": twin, "_cls": cls, "_set": object.__setattr__}
    parameters: list[str] = []
    for field in fields:
        if field.default is dataclasses.MISSING:
            parameters.append(field.name)
        else:
            scope[f"_default_{field.name}"] = field.default
            parameters.append(f"{field.name}=_default_{field.name}")
    lines = [
        f"def __init__(self, {', '.join(parameters)}):",
        " _set(self, '__class__', _twin)",
        *(f" self.{name} = {name}" for name in names),
        " self.__class__ = _cls",
        *([" self.__post_init__()"] if hasattr(cls, "__post_init__") else []),
    ]
    exec("\n".join(lines), scope)  # noqa: S102  # as `dataclasses` does; only field names enter
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = made  # type: ignore[method-assign]
    return cls


def dump_json(value: Any) -> bytes:
    """Return ``value`` (records, dataclasses, JSON) as one line of UTF-8 JSON.

    Half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
    """
    try:
        return to_json(value, inf_nan_mode="constants", exclude_none=True)
    except (PydanticSerializationError, UnicodeEncodeError):
        return to_json(_scrub(value), inf_nan_mode="constants", exclude_none=True)


def _scrub(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _scrub(to_jsonable_python(value, exclude_none=True))


def build(record: type[R], fields: Mapping[str, Any]) -> R:
    """Return a ``record`` of ``fields``, with a readable error.

    Raises:
        RecordError: naming the field, the reason, and the close name where one is misspelt.
    """
    try:
        return record.model_validate(fields)
    except ValidationError as error:
        raise RecordError(explain_validation(error, record)) from None


def explain_validation(error: ValidationError, model: type[BaseModel]) -> str:
    """Return pydantic's ``error`` as one sentence per mistake, with "did you mean"."""
    return "; ".join(_sentences(error, model))


def _sentences(error: ValidationError, model: type[BaseModel]) -> Iterable[str]:
    for entry in error.errors(include_url=False, include_input=False):
        path = ".".join(str(part) for part in entry["loc"])
        if entry["type"] == "extra_forbidden":
            name = str(entry["loc"][-1])
            hint = did_you_mean(name, model.model_fields) if len(entry["loc"]) == 1 else ""
            yield f"`{path}` is not a field here.{hint}"
        elif entry["type"] == "missing":
            yield f"`{path}` is missing"
        else:
            message = entry["msg"].removeprefix("Value error, ")
            yield f"`{path}`: {message}" if path else message
