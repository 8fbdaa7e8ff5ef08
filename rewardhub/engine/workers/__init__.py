"""Worker processes that can be killed: bytes in, bytes out, and no way to hang or stay behind."""

from rewardhub.engine.workers.child import Control, Handler
from rewardhub.engine.workers.pool import WorkerPool
from rewardhub.engine.workers.result import End, Result, WorkerStartError

__all__ = ["Control", "End", "Handler", "Result", "WorkerPool", "WorkerStartError"]
