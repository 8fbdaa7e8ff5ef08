"""The tests' side: what stands for the solution, and asks for it. Standard library only.

Functions, classes and objects of the solution stay where it runs. Here they are handles, which
forward calls, attributes and items, and never a comparison, a number or a hash: two handles are
equal only if they are the same object, and a handle equals no plain value. So whatever a solution
returns, what a test compares is a plain value or fails to be one.
"""

from __future__ import annotations

# A class and its metaclass are one thing here.
# pyright: reportPrivateUsage=false
import builtins
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from rewardhub_code.inside import plain
from rewardhub_code.inside.channel import Channel

_LOOP_ENDS = {"StopIteration", "StopAsyncIteration"}


class NotPlainReturnError(Exception):
    """The solution gave what no test can compare, or ended instead of answering."""


class SolutionExitError(Exception):
    """The solution raised what ends programs or loops: SystemExit, StopIteration or the like."""


class Link:
    """What asks for the solution, and keeps what stands for its parts."""

    def __init__(self, channel: Channel, *, in_place: bool = False) -> None:
        self._channel = channel
        self._in_place = in_place
        self._known: dict[int, Any] = {}
        self._classes: dict[int, type[Any]] = {}
        self._errors: dict[tuple[str, ...], type[BaseException]] = {}
        self._callbacks: list[Callable[..., Any]] = []

    def get(self, target: int | None, name: str) -> Any:
        """Return the value of an attribute of the module, or of a handle."""
        return self._value(self._ask({"op": "get", "target": target, "name": name}))

    def set(self, target: int, name: str, value: object) -> None:
        """Set an attribute of a handle."""
        data = self._encode(value)
        self._value(self._ask({"op": "set", "target": target, "name": name, "value": data}))

    def call(
        self, target: int | None, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Return what a function, a method or a handle itself returns."""
        reply = self._ask(
            {
                "op": "call",
                "target": target,
                "name": name,
                "args": [self._encode(each) for each in args],
                "kwargs": {key: self._encode(each) for key, each in kwargs.items()},
                "out": self._in_place,
            }
        )
        value = self._value(reply)
        if self._in_place:
            for argument, changed in zip(args, reply.get("args", ()), strict=False):
                _replace(argument, self._decode(changed))
        return value

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._channel.send(plain.dumps(request))
        while "callback" in (reply := plain.loads(self._channel.receive())):
            self._channel.send(plain.dumps(self._called_back(reply)))
        return reply  # type: ignore[no-any-return]

    def _called_back(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            function = self._callbacks[request["callback"]]
            args = [self._decode(each) for each in request["args"]]
            kwargs = {name: self._decode(each) for name, each in request["kwargs"].items()}
            return {"op": "answer", "value": self._encode(function(*args, **kwargs))}
        except Exception as error:  # noqa: BLE001  # it is the solution's to catch
            names = [cls.__name__ for cls in type(error).__mro__ if cls is not object]
            return {"op": "answer", "raised": names, "message": str(error)[:1000]}

    def _value(self, reply: dict[str, Any]) -> Any:
        if "raised" in reply:
            self._raise(reply["raised"], reply.get("message", ""))
        if "refused" in reply:
            raise NotPlainReturnError(reply["refused"])
        return self._decode(reply["value"])

    def _raise(self, names: list[str], message: str) -> NoReturn:
        cls = self.error_class(tuple(names))
        try:
            error = cls(message)
        except TypeError:  # UnicodeDecodeError and the like want more than a text
            error = Exception(f"{names[0]}: {message}")
        raise error from None

    def error_class(self, names: tuple[str, ...]) -> type[BaseException]:
        """Return the exception of these names, most derived first: built in, or made for it."""
        if names not in self._errors:
            self._errors[names] = self._new_error_class(names)
        return self._errors[names]

    def _new_error_class(self, names: tuple[str, ...]) -> type[BaseException]:
        # StopIteration would end a loop of the tests, and pass for its last item.
        if not names or "Exception" not in names or names[0] in _LOOP_ENDS:
            return SolutionExitError
        known = getattr(builtins, names[0], None)
        if isinstance(known, type) and issubclass(known, Exception):
            return known
        return type(names[0], (self.error_class(names[1:]),), {})

    def _encode(self, value: object) -> Any:
        return plain.encode(value, self._encode_other)

    def _encode_other(self, value: Any) -> Any:
        number = getattr(value, "_handle", None)
        if type(number) is int:
            return {"$handle": number}
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
            self._callbacks.append(value)
            return {"$callback": len(self._callbacks) - 1}
        raise plain.NotPlainError(f"an argument of type {plain.type_name(value)}")

    def _decode(self, data: Any) -> Any:
        return plain.decode(data, self._decode_other)

    def _decode_other(self, tag: str, payload: Any) -> Any:
        if tag != "$handle":
            raise plain.NotPlainError(f"the unknown tag {tag[:80]!r}")
        number, kind, classes = payload["id"], payload["kind"], payload["classes"]
        if number not in self._known:
            self._known[number] = self._stand_in(number, kind, classes)
        return self._known[number]

    def _stand_in(self, number: int, kind: str, classes: list[Any]) -> Any:
        if kind == "function":
            return _function(self, number)
        if kind == "class":
            return self._class(classes)
        if kind == "object":
            made = object.__new__(self._class(classes))
            object.__setattr__(made, "_link", self)
            object.__setattr__(made, "_handle", number)
            return made
        raise plain.NotPlainError(f"a {str(kind)[:80]}")

    def _class(self, classes: list[Any]) -> type[Any]:
        if not classes:
            return Handle
        number, name = classes[0]
        names = tuple(str(each) for _, each in classes)
        if "BaseException" in names:
            return self.error_class(names)
        if number not in self._classes:
            bases = (self._class(classes[1:]),)
            fields = {"_link": self, "_handle": number}
            self._classes[number] = HandleClass(str(name), bases, fields)
        return self._classes[number]


def _replace(argument: Any, changed: Any) -> None:
    """Make a list, set or dict what it is after the call."""
    if type(argument) is not type(changed):
        return
    if isinstance(argument, list):
        argument[:] = changed
    elif isinstance(argument, (set, dict)):
        argument.clear()
        argument.update(changed)


def _function(link: Link, number: int) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return link.call(number, "", args, kwargs)

    function.__dict__["_handle"] = number
    return function


class HandleClass(type):
    """Stands for a class of the solution."""

    _link: Link
    _handle: int

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object, where the solution is."""
        return cls._link.call(cls._handle, "", args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(name)
        return cls._link.get(cls._handle, name)


class Handle(metaclass=HandleClass):
    """Stands for an object of the solution."""

    _link: Link
    _handle: int

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(name)
        return self._link.get(self._handle, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._link.set(self._handle, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object, where the solution is."""
        return self._link.call(self._handle, "", args, kwargs)

    def __len__(self) -> int:
        return self._special("__len__")  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return self._special("__bool__")  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return self._special("__iter__")  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        return self._special("__getitem__", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._special("__setitem__", key, value)

    def __delitem__(self, key: Any) -> None:
        self._special("__delitem__", key)

    def __str__(self) -> str:
        return self._special("__str__")  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self._special("__repr__")  # type: ignore[no-any-return]

    def __enter__(self) -> Any:
        return self._link.call(self._handle, "__enter__", (), {})

    def __exit__(self, *details: object) -> None:
        self._link.call(self._handle, "__exit__", (None, None, None), {})

    def _special(self, name: str, *args: Any) -> Any:
        return self._link.call(self._handle, name, args, {})


class SolutionModule(types.ModuleType):
    """What tests import: trusted names first, then those of the solution, when asked for.

    Args:
        name: of the module.
        get: returns what the solution calls by a name.
        trusted: names that the task itself defines; a solution cannot replace them.
        names: what ``from solution import *`` brings; never a name of the solution's choice, for
            that could hide what the tests themselves use.
    """

    def __init__(
        self,
        name: str,
        get: Callable[[str], Any],
        *,
        trusted: Mapping[str, Any],
        names: Iterable[str],
    ) -> None:
        super().__init__(name)
        self._trusted_names = trusted
        self._get_name = get
        self.__all__ = list(names)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        trusted = self._trusted_names
        value = trusted[name] if name in trusted else self._get_name(name)
        setattr(self, name, value)
        return value
