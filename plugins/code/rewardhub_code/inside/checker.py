"""A checker of printed output: runs beside nothing that it judges. Standard library only.

The working folder holds ``checker.py``, ``stdin``, ``expected`` and ``stdout``; the one message
out is ``{"accepted": bool, "reason": text}``.
"""

from __future__ import annotations

import random
from typing import Any

from rewardhub_code.inside import plain, serve
from rewardhub_code.inside.channel import Channel, leave


def main() -> None:
    """Ask the checker about the output, and pass on what it says."""
    channel = Channel.open()
    channel.send(plain.dumps(_verdict()))
    leave()


def _verdict() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "checker"}
    random.seed(serve.SEED)
    try:
        exec(compile(_read("checker.py"), "checker.py", "exec"), namespace)  # noqa: S102
        check = namespace["check"]
        found = check(_read("stdin"), _read("expected"), _read("stdout"))
    except Exception as error:  # noqa: BLE001  # a checker may raise on output that is wrong
        return {
            "accepted": False,
            "reason": f"the checker raised {type(error).__name__}: {error}"[:500],
        }
    accepted, reason = found if isinstance(found, tuple) else (found, "")
    return {"accepted": bool(accepted), "reason": str(reason)[:500]}


def _read(name: str) -> str:
    with open(name, encoding="utf-8", newline="") as file:  # noqa: PTH123
        return file.read()
