"""A small ledger with tools on it: what the attempts in `attempts.jsonl` worked on."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal, InvalidOperation
from typing import Any

ENTRIES: dict[str, dict[str, str]] = {
    "E11": {"text": "Rent, March", "side": "debit", "amount": "800.00"},
    "E12": {"text": "Bank, rent", "side": "credit", "amount": "800.00"},
    "E13": {"text": "Invoice 77, 5 chairs at 250.00", "side": "debit", "amount": "125.00"},
    "E14": {"text": "Bank, invoice 77", "side": "credit", "amount": "1250.00"},
}
"""Five chairs at 250.00 are 1250.00: somebody has left out a zero."""


class LedgerError(Exception):
    """What the ledger refuses to do."""


class Ledger:
    """Entries by number; every tool returns what the agent reads."""

    def __init__(self) -> None:
        self.entries = deepcopy(ENTRIES)
        self.closed = False

    @property
    def state(self) -> dict[str, Any]:
        """The whole ledger, as JSON."""
        return {"entries": deepcopy(self.entries), "closed": self.closed}

    def list_entries(self) -> str:
        """List all entries."""
        return "\n".join(
            f"{number} {entry['side']} {entry['amount']} {entry['text']}"
            for number, entry in self.entries.items()
        )

    def balance(self) -> str:
        """Return debits less credits."""
        signs = {"debit": 1, "credit": -1}
        total = sum(signs[each["side"]] * Decimal(each["amount"]) for each in self.entries.values())
        return f"balance {total:.2f}"

    def set_amount(self, entry: str, amount: str) -> str:
        """Correct the amount of an entry."""
        found = self._entry(entry)
        try:
            found["amount"] = f"{Decimal(amount):.2f}"
        except InvalidOperation:
            raise LedgerError(f"{amount} is no amount") from None
        return f"{entry} is now {found['amount']}"

    def delete_entry(self, entry: str) -> str:
        """Delete an entry."""
        self._entry(entry)
        del self.entries[entry]
        return f"{entry} is deleted"

    def close_books(self) -> str:
        """Close the books, if they balance."""
        if self.balance() != "balance 0.00":
            raise LedgerError(f"the books cannot be closed, {self.balance()}")
        self.closed = True
        return "the books are closed"

    def _entry(self, number: str) -> dict[str, str]:
        if number not in self.entries:
            raise LedgerError(f"there is no entry {number}")
        return self.entries[number]


def schema(tool: Callable[..., str], **parameters: str) -> dict[str, Any]:
    """Return a tool as a chat interface lists it; ``parameters`` maps names to descriptions."""
    properties = {
        name: {"type": "string", "description": text} for name, text in parameters.items()
    }
    return {
        "type": "function",
        "function": {
            "name": tool.__name__,
            "description": tool.__doc__,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


TOOLS = [
    schema(Ledger.list_entries),
    schema(Ledger.balance),
    schema(Ledger.set_amount, entry="number of the entry, as E11", amount="as 12.50"),
    schema(Ledger.delete_entry, entry="number of the entry, as E11"),
    schema(Ledger.close_books),
]
