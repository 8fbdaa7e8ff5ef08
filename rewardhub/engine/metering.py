"""Each resource has its own concurrency, rate and budget, whoever uses it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from rewardhub.contracts import Outcome as ProgramOutcome
from rewardhub.contracts import Program, Resource, Usage, waiting
from rewardhub.contracts.waiting import Countdown
from rewardhub.errors import InfrastructureError
from rewardhub.spec.model import ResourceEntry

_CALLS = ("start", "run", "arun", "forward")
_MINUTE = 60.0
_NOTHING = Usage()


class Turn:
    """Leave to make one call. It ends once, and gives back what the call did not use."""

    __slots__ = ("_meter", "bound", "ended", "since", "tokens")

    def __init__(self, meter: Meter, bound: Usage, since: float) -> None:
        self._meter = meter
        self.bound = bound
        self.since = since
        self.tokens = _tokens(bound)
        self.ended = False

    def end(self, used: Usage = _NOTHING) -> None:
        """Let the next one in; ``used`` is what the call used of its bound."""
        self._meter.settle(self, used)

    def give_back(self) -> None:
        """End a turn in which no call was made: it counts nothing."""
        self._meter.settle(self, _NOTHING, calls=0)


class _Waiter:
    """Somebody in the queue, on a thread or on a loop, who sleeps until woken or for a while."""

    __slots__ = ("bound", "wake")

    def __init__(self, bound: Usage, wake: Callable[[], None]) -> None:
        self.bound = bound
        self.wake = wake


class Meter:
    """Gives turns at one resource in the order of arrival, and holds it to its limits. Thread safe.

    Tokens and money are reserved by an upper bound before a call and settled after it, so that a
    budget is never passed. Whoever finds too little left waits while calls under way may give
    back. Nothing but the head of the queue is ever woken: five hundred waiters cost no more than
    one.

    Args:
        entry: its limits; None means none.

    Attributes:
        calls: how many calls were made or are under way.
        used: what the calls used that have ended.
    """

    def __init__(self, entry: ResourceEntry) -> None:
        self._entry = entry
        self._lock = threading.Lock()
        self._queue: deque[_Waiter] = deque()
        self._under_way = 0
        self._held = _NOTHING
        self._minute: deque[Turn] = deque()
        self._next = 0.0
        self.calls = 0
        self.used = _NOTHING

    # --- turns ----------------------------------------------------------------------------------

    def take(self, bound: Usage = _NOTHING) -> Turn:
        """Return a turn once it has come.

        Args:
            bound: what the call uses at most.

        Raises:
            InfrastructureError: if a budget is used up.
        """
        woken = threading.Event()
        waiter = self._enter(bound, woken.set)
        turn = self._admit(waiter)
        if isinstance(turn, Turn):
            return turn
        with waiting():
            try:
                while not isinstance(turn, Turn):
                    woken.wait(turn)
                    woken.clear()
                    turn = self._admit(waiter)
            except BaseException:
                self._leave(waiter)
                raise
        return turn

    async def atake(self, bound: Usage = _NOTHING) -> Turn:
        """Like `take`, on a loop."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
                loop.call_soon_threadsafe(woken.set)

        waiter = self._enter(bound, wake)
        turn = self._admit(waiter)
        if isinstance(turn, Turn):
            return turn
        with waiting():
            try:
                while not isinstance(turn, Turn):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(turn):
                            await woken.wait()
                    woken.clear()
                    turn = self._admit(waiter)
            except BaseException:
                self._leave(waiter)
                raise
        return turn

    def run(self, call: Callable[[], Any]) -> Any:
        """Return ``call()`` once its turn has come."""
        turn = self.take()
        try:
            return call()
        finally:
            turn.end()

    async def arun(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return ``await call()`` once its turn has come."""
        turn = await self.atake()
        try:
            return await call()
        finally:
            turn.end()

    def start(self, call: Callable[[], tuple[Program, ...]]) -> tuple[Program, ...]:
        """Return the programs of ``call()`` once their turn has come; it ends when all have."""
        turn = self.take()
        try:
            programs = call()
        except BaseException:
            turn.end()
            raise
        running = Countdown(len(programs), turn.end)
        return tuple(_Counted(program, running.step) for program in programs)

    def settle(self, turn: Turn, used: Usage, *, calls: int = 1) -> None:
        """End a turn: what it reserved is replaced by what it used."""
        with self._lock:
            if turn.ended:
                return
            turn.ended = True
            turn.tokens = _tokens(used)
            self._under_way -= 1
            self._held = _sum(self._held, turn.bound, -1) if self._under_way else _NOTHING
            self.calls -= 1 - calls
            self.used = _sum(self.used, used)
            self._wake_head()

    # --- the queue ------------------------------------------------------------------------------

    def _enter(self, bound: Usage, wake: Callable[[], None]) -> _Waiter:
        waiter = _Waiter(bound, wake)
        with self._lock:
            self._queue.append(waiter)
        return waiter

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter in self._queue:
                self._queue.remove(waiter)
                self._wake_head()

    def _wake_head(self) -> None:
        if self._queue:
            self._queue[0].wake()

    def _admit(self, waiter: _Waiter) -> Turn | float | None:
        """Return the turn of the head of the queue, else how long to sleep; None: until woken.

        Raises:
            InfrastructureError: if a budget is used up.
        """
        with self._lock:
            if self._queue[0] is not waiter:
                return None
            now = time.monotonic()
            try:
                pause = self._pause(waiter.bound, now)
            except InfrastructureError:
                self._queue.popleft()
                self._wake_head()
                raise
            if pause is None or pause > 0:
                return pause
            self._queue.popleft()
            turn = self._begin(waiter.bound, now)
            self._wake_head()
            return turn

    def _begin(self, bound: Usage, now: float) -> Turn:
        turn = Turn(self, bound, now)
        self._under_way += 1
        self._held = _sum(self._held, bound)
        self.calls += 1
        if self._entry.max_per_minute is not None:
            self._next = max(now, self._next) + _MINUTE / self._entry.max_per_minute
        if self._entry.max_tokens_per_minute is not None:
            self._minute.append(turn)
        return turn

    # --- limits ---------------------------------------------------------------------------------

    def _pause(self, bound: Usage, now: float) -> float | None:
        """Return how long a call has to wait; 0: it may begin; None: until one under way ends."""
        entry = self._entry
        if passed := self._would_pass(bound):
            if self._under_way:
                return None
            raise self._used_up(passed, getattr(entry, passed))
        if entry.max_concurrency is not None and self._under_way >= entry.max_concurrency:
            return None
        return max(self._next - now, self._pause_for_tokens(bound, now))

    def _would_pass(self, bound: Usage) -> str:
        """Return the name of the budget that a call might pass; empty if there is none."""
        entry = self._entry
        if entry.max_calls is not None and self.calls >= entry.max_calls:
            return "max_calls"
        if entry.max_tokens is None and entry.max_cost is None:
            return ""
        most = _sum(_sum(self.used, self._held), bound)
        if entry.max_tokens is not None and _tokens(most) > entry.max_tokens:
            return "max_tokens"
        if entry.max_cost is not None and most.cost > entry.max_cost:
            return "max_cost"
        return ""

    def _pause_for_tokens(self, bound: Usage, now: float) -> float:
        limit = self._entry.max_tokens_per_minute
        if limit is None:
            return 0.0
        if _tokens(bound) > limit:
            problem = f"one call of `{self._entry.name}` may use {_tokens(bound)} tokens, and "
            problem += f"max_tokens_per_minute is {limit}"
            raise InfrastructureError(problem, passing=False)
        while self._minute and self._minute[0].since <= now - _MINUTE:
            self._minute.popleft()
        excess = sum(turn.tokens for turn in self._minute) + _tokens(bound) - limit
        pause = 0.0
        for turn in self._minute:
            if excess <= 0:
                break
            excess -= turn.tokens
            pause = turn.since + _MINUTE - now
        return pause

    def _used_up(self, budget: str, amount: float) -> InfrastructureError:
        problem = f"the budget of `{self._entry.name}` is used up: {budget} is {amount}"
        return InfrastructureError(problem, passing=False)


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def _sum(one: Usage, other: Usage, sign: int = 1) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + sign * other.prompt_tokens,
        completion_tokens=one.completion_tokens + sign * other.completion_tokens,
        cost=one.cost + sign * other.cost,
    )


class _Counted(Program):
    """A program whose turn lasts until it has ended."""

    def __init__(self, inner: Program, ended: Callable[[], None]) -> None:
        self._inner = inner
        self._ended: Callable[[], None] | None = ended

    def send(self, message: bytes) -> None:
        self._inner.send(message)

    def receive(self) -> bytes:
        return self._inner.receive()

    def finish(self) -> ProgramOutcome:
        return self._end(self._inner.finish)

    def kill(self) -> ProgramOutcome:
        return self._end(self._inner.kill)

    def _end(self, end: Callable[[], ProgramOutcome]) -> ProgramOutcome:
        try:
            return end()
        finally:
            ended, self._ended = self._ended, None
            if ended is not None:
                ended()


def metered(entry: ResourceEntry) -> Resource:
    """Return the resource of ``entry``, held to its limits; itself where there are none.

    Judges are held to theirs by `rewardhub.engine.judging`.
    """
    if entry.max_concurrency is None and entry.max_per_minute is None and entry.max_calls is None:
        return entry.resource
    kind = type(entry.resource)
    meter = Meter(entry)
    members: dict[str, Any] = {
        name: _metered_call(name, meter) for name in _CALLS if hasattr(kind, name)
    }
    members["__init__"] = lambda self, inner: setattr(self, "_inner", inner)
    members["__getattr__"] = lambda self, name: getattr(self._inner, name)
    members["meter"] = meter
    proxy: Any = type(f"Metered{kind.__name__}", (), members)
    return proxy(entry.resource)  # type: ignore[no-any-return]


def _metered_call(name: str, meter: Meter) -> Callable[..., Any]:
    if name == "arun":

        async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await meter.arun(lambda: getattr(self._inner, name)(*args, **kwargs))

        return acall

    take_turn = meter.start if name == "start" else meter.run

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return take_turn(lambda: getattr(self._inner, name)(*args, **kwargs))

    return call
