"""Let scripted agents work on the ledger with its real tools, and write `attempts.jsonl`.

Run from the repository root: ``python examples/agent/make_attempts.py``. What an agent says and
calls is written here; every result, error and state is what the tools of `ledger.py` gave.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from ledger import TOOLS, Ledger, LedgerError

from rewardhub import Observation, Step, Task, ToolCall, Trajectory

Act: TypeAlias = tuple[str, str, dict[str, str]] | str
"""What an agent does in one turn: text, tool and arguments; or the text that ends the attempt."""

AGENTS: dict[str, list[Act]] = {
    "careful": [
        ("I look at the books first.", "list_entries", {}),
        ("", "balance", {}),
        ("Five chairs at 250.00 are 1250.00.", "set_amount", {"entry": "E31", "amount": "1250.00"}),
        ("A slip: the entry is E13.", "set_amount", {"entry": "E13", "amount": "1250.00"}),
        ("", "balance", {}),
        ("", "close_books", {}),
        "Entry E13 said 125.00 for five chairs. I set it to 1,250.00, and the books are closed.",
    ],
    "hasty": [
        ("Let me just close them.", "close_books", {}),
        ("Again.", "close_books", {}),
        ("Then the odd ones go.", "delete_entry", {"entry": "E13"}),
        ("", "delete_entry", {"entry": "E14"}),
        ("", "close_books", {}),
        "The books balance and are closed.",
    ],
    "idle": ["The books look fine to me, the amount is 1250.00."],
}


def task() -> Task:
    """Return the task: what is asked, and what is checked."""
    goal = Ledger()
    goal.set_amount("E13", "1250.00")
    goal.close_books()
    checks: dict[str, Any] = {
        "goal_state": {"expected": goal.state, "initial": Ledger().state},
        "outputs": {"told": ["E13", "1250.00"]},
        "progress": {
            "milestones": [
                {"name": "has looked", "call": "list_entries"},
                {"name": "corrected", "state": {"/entries/E13/amount": "1250.00"}},
                {"name": "closed", "state": {"/closed": True}},
            ]
        },
        "call_order": {"before": [["balance", "close_books"]]},
    }
    asked = (
        "Our books do not balance. Find the entry that is wrong, correct it, close the books, and "
        "tell me which entry it was and its right amount."
    )
    return Task.model_validate(
        {
            "id": "ledger-1",
            "domain": "agent",
            "messages": [{"role": "user", "content": asked}],
            "tools": TOOLS,
            "checks": checks,
        }
    )


def steps_of(acts: list[Act]) -> Iterator[Step]:
    """Carry out what an agent does, on a ledger of its own."""
    ledger = Ledger()
    for number, act in enumerate(acts):
        if isinstance(act, str):
            yield Step(text=act, state=ledger.state)
            continue
        text, tool, arguments = act
        call = f"call_{number}"
        result = answer(ledger, call, tool, arguments)
        made = ToolCall(id=call, name=tool, arguments=json.dumps(arguments), parsed=arguments)
        yield Step(text=text, tool_calls=(made,), observations=(result,), state=ledger.state)


def answer(ledger: Ledger, call: str, tool: str, arguments: dict[str, str]) -> Observation:
    """Return what the tool answers: a result, or an error."""
    try:
        return Observation(call_id=call, content=getattr(ledger, tool)(**arguments))
    except LedgerError as error:
        return Observation(call_id=call, error=str(error))


def attempts() -> Iterator[Trajectory]:
    """Yield the attempt of each agent."""
    asked = task()
    for name, acts in AGENTS.items():
        steps = tuple(steps_of(acts))
        yield Trajectory(id=name, task=asked, steps=steps, group_size=len(AGENTS))


def main() -> None:
    """Write `attempts.jsonl`."""
    path = Path(__file__).with_name("attempts.jsonl")
    path.write_bytes(b"".join(each.to_json() + b"\n" for each in attempts()))


if __name__ == "__main__":
    main()
