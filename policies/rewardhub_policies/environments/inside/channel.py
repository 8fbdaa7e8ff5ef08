"""The channel out of the sandbox: JSON messages, each after its length."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

_LENGTH = struct.Struct("<I")


class Channel:
    """The private socket that the sandbox gives to a job."""

    def __init__(self) -> None:
        self.descriptor = int(os.environ.pop("REWARDHUB_CHANNEL"))
        os.set_inheritable(self.descriptor, False)

    def send(self, reply: Any) -> None:
        """Send one message."""
        text = json.dumps(reply).encode()
        view = memoryview(_LENGTH.pack(len(text)) + text)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def receive(self) -> Any:
        """Return the next message.

        Raises:
            EOFError: if there is none to come.
        """
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return json.loads(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = os.read(self.descriptor, min(count, 1 << 18))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
