"""The solution's side: loads it and calls it, whenever a message asks. Standard library only.

Nothing here knows a test or an expected value, and nothing that this process says is believed:
its replies are plain values, checked outside, and whoever asked compares them. Requests, as JSON::

    {"op": "get", "target": null | id, "name": "add"}
    {"op": "set", "target": id, "name": "size", "value": ...}
    {"op": "call", "target": null | id, "name": "add", "args": [...], "kwargs": {...}, "out": false}
    {"op": "answer", ...}        the reply of a function that was passed as an argument

Replies: ``{"value": ...}`` (with ``"args"`` if asked ``out``), ``{"raised": [names], "message":
...}``, ``{"refused": why}``, or ``{"callback": id, "args": [...], "kwargs": {...}}``, which asks
back.
Objects and functions stay here; they are spoken of as ``{"$handle": {...}}``.
"""

from __future__ import annotations

import operator
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from rewardhub_code.inside import clock, plain
from rewardhub_code.inside.channel import Channel, leave

DRAINED = 100_000
"""How many items of an iterator are taken at most."""
SEED = 0
_MESSAGE = 1000
_SPECIAL: dict[str, Callable[..., Any]] = {
    "__bool__": bool,
    "__delitem__": operator.delitem,
    "__getitem__": operator.getitem,
    "__iter__": iter,
    "__len__": len,
    "__repr__": repr,
    "__setitem__": operator.setitem,
    "__str__": str,
}
_AS_DICT = {"Counter", "OrderedDict", "defaultdict"}
_ITERATORS = (map, filter, zip, reversed, enumerate, types.GeneratorType)


def load(source: str, name: str = "solution") -> tuple[types.ModuleType, BaseException | None]:
    """Return the solution as a module, and what it raised while it was loaded."""
    module = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    sys.modules[name] = module
    random.seed(SEED)
    try:
        exec(compile(source, module.__file__, "exec"), module.__dict__)  # noqa: S102
    except BaseException as error:  # noqa: BLE001  # whatever a solution raises is its own
        return module, error
    return module, None


def main(module_name: str = "solution") -> None:
    """Serve ``solution.py`` until nobody asks any more."""
    channel = Channel.open()
    clock.shift()
    with open("solution.py", encoding="utf-8", newline="") as file:  # noqa: PTH123
        source = file.read()
    module, error = load(source, module_name)
    Server(channel, module, error).serve()


class Server:
    """Answers requests about one module."""

    def __init__(
        self, channel: Channel, module: types.ModuleType, error: BaseException | None
    ) -> None:
        self._channel = channel
        self._module = module
        self._error = error
        self._objects: list[Any] = []
        self._ids: dict[int, int] = {}

    def serve(self) -> None:
        """Answer until the channel is closed; then end the process."""
        while True:
            self._answer(self._next())

    def _next(self) -> dict[str, Any]:
        try:
            return plain.loads(self._channel.receive())  # type: ignore[no-any-return]
        except (EOFError, OSError):
            leave()

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            reply = self._reply(request)
        except plain.NotPlainError as error:
            reply = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001  # it is told, and asked again
            reply = _raised(error)
        self._send(reply)

    def _send(self, reply: dict[str, Any]) -> None:
        try:
            data = plain.dumps(reply)
        except plain.NotPlainError as error:
            data = plain.dumps({"refused": str(error)})
        try:
            self._channel.send(data)
        except OSError:
            leave()

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._error is not None:
            return _raised(self._error)
        target = request["target"]
        owner = self._module if target is None else self._objects[target]
        if request["op"] == "get":
            return {"value": self._encode(getattr(owner, request["name"]))}
        if request["op"] == "set":
            setattr(owner, request["name"], self._decode(request["value"]))
            return {"value": None}
        args = [self._decode(each) for each in request["args"]]
        kwargs = {name: self._decode(each) for name, each in request["kwargs"].items()}
        value = self._callable(owner, request["name"])(*args, **kwargs)
        reply = {"value": self._encode(value)}
        if request["out"]:
            reply["args"] = [self._encode(each) for each in args]
        return reply

    def _callable(self, owner: Any, name: str) -> Callable[..., Any]:
        if not name:
            return owner  # type: ignore[no-any-return]
        if name in _SPECIAL:
            return lambda *args: _SPECIAL[name](owner, *args)
        return resolve(owner, name)

    def _encode(self, value: object) -> Any:
        return plain.encode(value, self._encode_other)

    def _encode_other(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "collections" and kind.__name__ in _AS_DICT:
            return self._encode(dict(value))
        if kind in _ITERATORS or kind.__name__.rpartition("_")[2] == "iterator":
            return {"$iterator": [self._encode(each) for each in _drained(value)]}
        return {"$handle": self._handle(value)}

    def _handle(self, value: Any) -> dict[str, Any]:
        key = id(value)
        if key not in self._ids:
            self._ids[key] = len(self._objects)
            self._objects.append(value)
        number = self._ids[key]
        if isinstance(value, type):
            return {"id": number, "kind": "class", "classes": self._classes(value)}
        if isinstance(value, types.ModuleType):
            return {"id": number, "kind": "module", "classes": []}
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
            return {"id": number, "kind": "function", "classes": []}
        return {"id": number, "kind": "object", "classes": self._classes(type(value))}

    def _classes(self, cls: type[Any]) -> list[Any]:
        """Return the id and the name of a class and those that it derives from."""
        found: list[Any] = []
        for each in cls.__mro__:
            if each is object:
                break
            number = self._ids.setdefault(id(each), len(self._objects))
            if number == len(self._objects):
                self._objects.append(each)
            found.append([number, each.__name__])
        return found

    def _decode(self, data: Any) -> Any:
        return plain.decode(data, self._decode_other)

    def _decode_other(self, tag: str, payload: Any) -> Any:
        if tag == "$handle":
            return self._objects[payload]
        if tag == "$callback":
            return self._callback(payload)
        raise plain.NotPlainError(f"the unknown tag {tag[:80]!r}")

    def _callback(self, number: int) -> Callable[..., Any]:
        """Return a function that stands for one of the other side."""

        def call(*args: Any, **kwargs: Any) -> Any:
            request = {
                "callback": number,
                "args": [self._encode(each) for each in args],
                "kwargs": {name: self._encode(each) for name, each in kwargs.items()},
            }
            self._send(request)
            while (answer := self._next())["op"] != "answer":
                self._answer(answer)  # the function asks for something of the solution itself
            if "raised" in answer:
                raise _error_of(answer["raised"], answer["message"])
            return self._decode(answer["value"])

        return call


def resolve(owner: Any, name: str) -> Callable[..., Any]:
    """Return what a dotted name calls: a method of a class gets an object made for it.

    A plain name that the module lacks is looked for in its class ``Solution``.
    """
    if "." not in name and not hasattr(owner, name) and hasattr(owner, "Solution"):
        name = f"Solution.{name}"
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    if path and isinstance(owner, type):
        owner = owner()
    return getattr(owner, last)  # type: ignore[no-any-return]


def _drained(values: Iterator[Any]) -> Iterator[Any]:
    for number, value in enumerate(values):
        if number >= DRAINED:
            raise plain.NotPlainError(f"an iterator of more than {DRAINED} items")
        yield value


def _raised(error: BaseException) -> dict[str, Any]:
    names = [cls.__name__[:80] for cls in type(error).__mro__ if cls is not object]
    try:
        message = str(error)[:_MESSAGE]
    except BaseException:  # noqa: BLE001  # a solution's own exception may do anything
        message = ""
    return {"raised": names[:20], "message": message.encode("utf-8", "replace").decode()}


def _error_of(names: list[str], message: str) -> BaseException:
    import builtins

    for name in names:
        cls = getattr(builtins, name, None)
        if isinstance(cls, type) and issubclass(cls, Exception):
            try:
                return cls(message)
            except TypeError:
                continue
    return Exception(message)
