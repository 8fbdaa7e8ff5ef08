"""Plain values as JSON: all that may cross between a solution and its tests.

``None``, bools, ints, floats, texts, bytes, complex numbers, lists, tuples, sets, frozensets and
dicts, by their exact types; a subclass is another thing, for its methods are the solution's. What
JSON lacks is tagged: ``{"$tuple": [1, 2]}``, ``{"$set": [...]}``, ``{"$frozenset": [...]}``,
``{"$bytes": "00ff"}``, ``{"$complex": [0.0, 1.0]}``, ``{"$float": "nan"}`` (``inf``, ``-inf``),
``{"$int": "0x1f"}``, ``{"$dict": [[1, 2]]}`` (keys that are no text, or begin with ``$``),
``{"$range": [0, 9, 1]}``, ``{"$iterator": [...]}``.

Standard library only: this file runs outside, to check what comes from a sandbox, and inside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

MAX_DEPTH = 100
"""How deep values may be nested."""
MAX_BYTES = (1 << 20) - (1 << 12)
"""How long the JSON of a message may be: a sandbox's largest message, less its frame."""
MAX_ITEMS = MAX_BYTES // 2
"""How many values there may be in one: each takes two bytes of JSON at least."""
_MAX_EQUAL_HASHES = 64
"""Of a set or dict: more would make it slow to build, and only malice has more."""
_SMALL = 1 << 63


class NotPlainError(Exception):
    """The value is not plain, or too large; the text says what it is."""


Encode = Callable[[Any], Any]
Decode = Callable[[str, Any], Any]


def encode(value: object, other: Encode | None = None) -> Any:
    """Return ``value`` as JSON.

    Args:
        value: what is encoded.
        other: is given what is not plain, and returns its JSON or raises `NotPlainError`.

    Raises:
        NotPlainError: if something in it is not plain, or it is too deep or too large.
    """
    return _Encoder(other or _refuse).encode(value, 0)


def decode(data: object, other: Decode | None = None) -> Any:
    """Return the value that the JSON ``data`` stands for.

    Args:
        data: what `encode` returned, or anything else that JSON can be.
        other: is given an unknown tag, with its ``$``, and what it tags; returns the value or
            raises `NotPlainError`.

    Raises:
        NotPlainError: if it stands for none.
    """
    return _Decoder(other or _refuse_tag).decode(data, 0)


def dumps(message: object) -> bytes:
    """Return a message, which is JSON already, as bytes.

    Raises:
        NotPlainError: if it is too large.
    """
    data = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(data) > MAX_BYTES:
        raise NotPlainError(f"a value of {len(data)} bytes as JSON ({MAX_BYTES} are allowed)")
    return data


def loads(data: bytes) -> Any:
    """Return the JSON in ``data``.

    Raises:
        NotPlainError: if it is too large, too deep, or no JSON.
    """
    if len(data) > MAX_BYTES:
        raise NotPlainError(f"a message of {len(data)} bytes ({MAX_BYTES} are allowed)")
    try:
        return json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise NotPlainError("a message that is nested too deeply") from None
    except ValueError as error:
        raise NotPlainError(f"a message that is no JSON: {error}"[:200]) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def type_name(value: object) -> str:
    """Return the name of the type of ``value``, shortened; never anything but text."""
    name = type.__dict__["__name__"].__get__(type(value))
    return str(name)[:80]


def _refuse(value: object) -> NoReturn:
    raise NotPlainError(f"an object of type {type_name(value)}")


def _refuse_tag(tag: str, payload: object) -> NoReturn:
    del payload
    raise NotPlainError(f"the unknown tag {tag[:80]!r}")


class _Encoder:
    def __init__(self, other: Encode) -> None:
        self._other = other
        self._left = MAX_ITEMS

    def encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        self._left -= 1
        if self._left < 0:
            self._check_size(depth)
        if kind is list:
            return self._items(value, depth)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -_SMALL < value < _SMALL else {"$int": self._long(value)}
        if kind is str:
            self._left -= len(value) // 2
            self._check_size(depth)
            return value
        if kind is float:
            finite = value - value == 0.0
            return value if finite else {"$float": str(value)}
        if kind is dict:
            return self._dict(value, depth)
        if kind in {tuple, set, frozenset}:
            return {f"${kind.__name__}": self._items(value, depth)}
        return self._rare(value, kind, depth)

    def _rare(self, value: Any, kind: type[Any], depth: int) -> Any:
        if kind is bytes:
            self._left -= len(value)
            self._check_size(depth)
            return {"$bytes": value.hex()}
        if kind is complex:
            parts = [self.encode(value.real, depth), self.encode(value.imag, depth)]
            return {"$complex": parts}
        if kind is range:
            ends = (value.start, value.stop, value.step)
            return {"$range": [self.encode(end, depth) for end in ends]}
        return self._other(value)

    def _long(self, value: int) -> str:
        self._left -= value.bit_length() // 8
        self._check_size(0)
        return hex(value)

    def _items(self, values: Iterable[Any], depth: int) -> list[Any]:
        self._check_size(depth)
        return [self.encode(value, depth + 1) for value in values]

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        if all(type(key) is str and key[:1] != "$" for key in value):
            self._check_size(depth)
            return {key: self.encode(item, depth + 1) for key, item in value.items()}
        return {"$dict": [self._items(pair, depth + 1) for pair in value.items()]}

    def _check_size(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise NotPlainError(f"a value that is nested more than {MAX_DEPTH} deep")
        if self._left < 0:
            raise NotPlainError(f"a value that is larger than {MAX_BYTES} bytes as JSON")


class _Decoder:
    def __init__(self, other: Decode) -> None:
        self._other = other

    def decode(self, data: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotPlainError(f"a value that is nested more than {MAX_DEPTH} deep")
        if isinstance(data, list):
            return [self.decode(item, depth + 1) for item in data]
        if not isinstance(data, dict):
            if data is None or isinstance(data, (bool, int, float, str)):
                return data
            raise NotPlainError(f"no JSON: {type_name(data)}")
        tag = next((key for key in data if key[:1] == "$"), None)
        if tag is None:
            return {key: self.decode(item, depth + 1) for key, item in data.items()}
        if len(data) != 1:
            raise NotPlainError(f"the tag {tag[:80]!r} beside other keys")
        try:
            return self._tagged(tag, data[tag], depth)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise NotPlainError(f"a broken {tag[:80]!r}: {error}"[:200]) from None

    def _tagged(self, tag: str, payload: Any, depth: int) -> Any:
        if tag in {"$tuple", "$set", "$frozenset", "$iterator", "$range", "$complex", "$dict"}:
            if not isinstance(payload, list):
                raise NotPlainError(f"a {tag!r} of no list")
            return self._collection(tag, [self.decode(item, depth + 1) for item in payload])
        if tag in {"$bytes", "$int", "$float"} and isinstance(payload, str):
            return self._scalar(tag, payload)
        return self._other(tag, payload)

    def _collection(self, tag: str, items: list[Any]) -> Any:
        if tag == "$tuple":
            return tuple(items)
        if tag == "$iterator":
            return iter(items)
        if tag == "$range":
            return range(*items)
        if tag == "$complex":
            real, imaginary = items
            return complex(real, imaginary)
        if tag == "$dict":
            _check_hashes(key for key, _ in items)
            return dict(items)
        _check_hashes(items)
        return set(items) if tag == "$set" else frozenset(items)

    def _scalar(self, tag: str, text: str) -> Any:
        if tag == "$bytes":
            return bytes.fromhex(text)
        if tag == "$int":
            return int(text, 16)
        if text not in {"nan", "inf", "-inf"}:
            raise NotPlainError(f"the float {text[:80]!r}")
        return float(text)


def _check_hashes(keys: Iterable[Any]) -> None:
    """Refuse what would take for ever to put into a set: many unequal keys of one hash."""
    hashes = Counter(map(hash, keys))
    if hashes and hashes.most_common(1)[0][1] > _MAX_EQUAL_HASHES:
        raise NotPlainError("a set or dict with too many keys of one hash")
