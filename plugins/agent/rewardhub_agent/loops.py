"""`agent/no-loops` and `agent/no-op-free`: what was done again, and what did nothing."""

from __future__ import annotations

from rewardhub import Score, Trajectory
from rewardhub_agent.faults import Finding, ProcessGrader
from rewardhub_agent.turns import Turn, need_results, turns_of
from rewardhub_agent.values import Json, canonical


class NoLoops(ProcessGrader):
    """No call is made again that gave the same result before.

    A call is a fault if the same tool with the same arguments (field order and spaces aside) has
    given the same result in an earlier call. A call that gives another result than before is
    good: polling is no loop. A call without a recorded result is not judged. A turn without
    calls is a fault if it says again what an earlier one said, and is not judged otherwise. Step
    values and the value for the whole are those of `ProcessGrader`.
    """

    changing: tuple[str, ...] = ()
    """Tools that change the world: once a call of one works that is no repetition itself,
    earlier results are forgotten, so that running the tests again after an edit is no loop."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Look for repetitions."""
        turns = turns_of(trajectory, recognise_errors=self.recognise_errors)
        need_results(turns)
        seen: set[str] = set()
        said: set[str] = set()
        found = [self._calls(turn, seen) if turn.calls else _text(turn, said) for turn in turns]
        return self.conclude(found, "repetition")

    def _calls(self, turn: Turn, seen: set[str]) -> list[Finding]:
        found: list[Finding] = []
        for number, call in enumerate(turn.calls):
            if call.result is None:
                continue
            happened = f"{call.key} -> {call.result.strip()}"
            if happened in seen:
                reason = f"`{call.name[:80]}` was called so before, with this result"
                found.append(Finding(False, call.key, reason))
                continue
            if call.name in self.changing and call.worked:
                seen.clear()
            seen.add(happened)
            found.append(Finding(True, f"{happened} {number}"))
        return found


def _text(turn: Turn, said: set[str]) -> list[Finding]:
    text = " ".join(turn.text.split())
    if text in said:
        return [Finding(False, text, "it says again what it said before")]
    if text:
        said.add(text)
    return []


class NoOpFree(ProcessGrader):
    """Every turn has an effect: it changes the state, or brings something new.

    A turn is a fault if it has neither text nor calls, if all its calls are of tools that do
    nothing, if the same calls gave the same results before, or if the state is recorded, did not
    change, and no result is new. It is good if the state changed or a result that is not blank
    has not been seen before. It is not judged if it only says something, if no result is
    recorded, or if nothing tells (no state is recorded and a new call gives a blank result, or
    one seen before, as the "ok" of a writing tool). Step values and the value for the whole are
    those of `ProcessGrader`.
    """

    idle: tuple[str, ...] = ("noop", "no_op", "wait", "sleep")
    """Tools that do nothing."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Look for turns without effect."""
        turns = turns_of(trajectory, recognise_errors=self.recognise_errors)
        need_results(turns)
        results: set[str] = set()
        done: set[str] = set()
        found: list[list[Finding]] = []
        before: Json = None
        for number, (turn, step) in enumerate(zip(turns, trajectory.steps, strict=True)):
            after = None if step.state is None else canonical(step.state)
            changed = None if after is None or before is None else after != before
            good, reason = self._effect(turn, changed, results, done)
            found.append([Finding(good, str(number), reason)])
            before = before if after is None else after
        return self.conclude(found, "turn without effect")

    def _effect(
        self, turn: Turn, changed: bool | None, results: set[str], done: set[str]
    ) -> tuple[bool | None, str]:
        """Return whether the turn had an effect, or None, and why not."""
        if not turn.calls:
            said = bool(turn.text.strip())
            return (None, "") if said else (False, "it neither says nor does anything")
        if all(call.name in self.idle for call in turn.calls):
            return False, f"`{turn.calls[0].name}` does nothing"
        answered = [call for call in turn.calls if call.result is not None]
        told = {(call.result or "").strip() for call in answered} - {""}
        new_result = bool(told - results)
        happened = {f"{call.key} -> {(call.result or '').strip()}" for call in answered}
        new_call = bool(happened - done)
        results |= told
        done |= happened
        if changed or (new_result and new_call):
            return True, ""
        if changed is False and answered:
            return False, "the state did not change, and no result is new"
        if answered and not new_call:
            return False, "the same calls gave the same results before"
        return None, ""
