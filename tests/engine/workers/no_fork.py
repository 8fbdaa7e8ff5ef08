"""A module that makes the machine look full when it is imported."""

import os
from typing import NoReturn


def refuse() -> NoReturn:
    raise BlockingIOError("no more processes")


os.fork = refuse
