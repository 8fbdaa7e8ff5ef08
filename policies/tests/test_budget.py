import asyncio
from collections.abc import Awaitable, Callable

import pytest
from rewardhub_policies.budget import Budget, with_retries

from rewardhub import InfrastructureError, Usage


def usage(tokens: int, cost: float = 0.0) -> Usage:
    return Usage(completion_tokens=tokens, cost=cost)


def test_never_spends_more_than_it_has() -> None:
    async def main() -> tuple[int, int, int]:
        budget = Budget(max_tokens=100)
        held = most = refused = 0

        async def request() -> None:
            nonlocal held, most, refused
            try:
                async with budget.reserve(usage(30)) as spend:
                    held += 30
                    most = max(most, budget.tokens + held)
                    await asyncio.sleep(0)
                    held -= 30
                    spend(usage(20))
            except InfrastructureError:
                refused += 1

        await asyncio.gather(*(request() for _ in range(8)))
        return most, budget.tokens, refused

    most, spent, refused = asyncio.run(main())
    assert most <= 100
    assert (spent, refused) == (80, 4)


def test_waits_while_others_may_give_back() -> None:
    async def main() -> list[str]:
        budget = Budget(max_cost=1.0)
        told: list[str] = []

        async def request(name: str) -> None:
            async with budget.reserve(usage(1, 0.8)) as spend:
                told.append(name)
                await asyncio.sleep(0)
                spend(usage(1, 0.1))

        await asyncio.gather(request("first"), request("second"))
        return told

    assert asyncio.run(main()) == ["first", "second"]


def test_names_the_budget_that_is_used_up() -> None:
    async def main() -> None:
        budget = Budget(max_tokens=10, max_cost=2.0)
        async with budget.reserve(usage(11)):
            pass

    with pytest.raises(
        InfrastructureError, match=r"spent 0 of 10 tokens, 0.0000 of 2.0000 US"
    ) as e:
        asyncio.run(main())
    assert not e.value.passing


def test_gives_back_what_a_broken_request_held() -> None:
    async def main() -> int:
        budget = Budget(max_tokens=10)
        with pytest.raises(ValueError, match="broke"):
            async with budget.reserve(usage(10)):
                raise ValueError("broke")
        async with budget.reserve(usage(10)) as spend:
            spend(usage(7))
        return budget.tokens

    assert asyncio.run(main()) == 7


def test_runs_a_request_without_a_bound_alone() -> None:
    async def main() -> tuple[int, list[int]]:
        budget = Budget(max_tokens=10)
        together: list[int] = []
        running = 0

        async def request() -> None:
            nonlocal running
            async with budget.reserve(None) as spend:
                running += 1
                together.append(running)
                await asyncio.sleep(0)
                running -= 1
                spend(usage(4))

        await asyncio.gather(request(), request())
        return budget.tokens, together

    assert asyncio.run(main()) == (8, [1, 1])


def test_holds_nothing_back_without_limits() -> None:
    async def main() -> int:
        budget = Budget()
        async with budget.reserve(None) as one, budget.reserve(usage(10**9)) as other:
            one(usage(1))
            other(usage(2))
        return budget.tokens

    assert asyncio.run(main()) == 3


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    left, calls = list(errors), [0]

    async def ask() -> str:
        calls[0] += 1
        if left:
            raise left.pop(0)
        return "yes"

    return ask, calls


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("rewardhub_policies.budget.asyncio.sleep", sleep)
    return slept


def test_asks_again_after_what_may_pass(pauses: list[float]) -> None:
    ask, calls = failing(InfrastructureError("busy"), InfrastructureError("busy"))
    assert asyncio.run(with_retries(ask, retries=4, seed=1)) == "yes"
    assert calls == [3]
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1.0


def test_waits_as_long_as_the_endpoint_asks(pauses: list[float]) -> None:
    ask, _ = failing(InfrastructureError("busy", retry_after=7.0))
    asyncio.run(with_retries(ask, retries=1, seed=1))
    assert pauses == [7.0]


def test_does_not_ask_again_after_what_will_not_pass(pauses: list[float]) -> None:
    ask, calls = failing(InfrastructureError("wrong key", passing=False))
    with pytest.raises(InfrastructureError, match="wrong key"):
        asyncio.run(with_retries(ask, retries=4, seed=1))
    assert (calls, pauses) == ([1], [])


def test_gives_up_after_the_last_retry(pauses: list[float]) -> None:
    ask, calls = failing(*(InfrastructureError("busy") for _ in range(9)))
    with pytest.raises(InfrastructureError, match=r"busy \(asked 3 times\)") as raised:
        asyncio.run(with_retries(ask, retries=2, seed=1))
    assert calls == [3]
    assert not raised.value.passing


def test_pauses_alike_for_one_seed(pauses: list[float]) -> None:
    for _ in range(2):
        ask, _ = failing(InfrastructureError("busy"))
        asyncio.run(with_retries(ask, retries=1, seed=5))
    assert pauses[0] == pauses[1]
