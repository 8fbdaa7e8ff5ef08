"""The warden: keeps the limits of the jobs of one zygote, and speaks with the host."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewardhub.builtin.sandboxes.inside import frames, sweep
from rewardhub.builtin.sandboxes.inside.cgroup import Cgroup
from rewardhub.builtin.sandboxes.inside.container import ContainerGroup
from rewardhub.builtin.sandboxes.inside.run import BrokenError, Run
from rewardhub.builtin.sandboxes.inside.wishes import NAMESPACES, Order, Setting, Wish
from rewardhub.builtin.sandboxes.inside.zygote import fork_zygote, map_users

_BLOCK = 1 << 18
_MAX_UNSAID = 4 << 20
_MAX_UNREAD = 16 << 20
_START_SECONDS = 120.0
_MAX_NOTE = 1 << 16


class HostGoneError(Exception):
    """The host has closed the stream, or is dead."""


def main(incoming: int, outgoing: int) -> None:
    """Serve the host over two descriptors until it closes them.

    Raises nothing: what breaks is told to the host, and is the end.
    """
    warden = Warden(incoming, outgoing)
    try:
        warden.serve()
    except HostGoneError:
        pass
    except BaseException as error:  # noqa: BLE001  # told to the host
        text = str(error) if isinstance(error, BrokenError) else traceback.format_exc()
        warden.say_last(frames.ERROR, text.encode(errors="replace"))
    finally:
        warden.end()


class Warden:
    """Supervises one job at a time.

    Args:
        incoming: what the host says.
        outgoing: what the host hears.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        for descriptor in (incoming, outgoing):
            os.set_blocking(descriptor, False)
        self._reader = frames.FrameReader()
        self._unsaid = bytearray()
        self._setting = Setting(mode="bare")
        self._zygote = 0
        self._control: socket.socket | None = None
        self._cgroup: Cgroup | ContainerGroup | None = None
        self._run: Run | None = None
        self._info: dict[str, Any] = {}
        self._users = sweep.fresh_users()
        self._uid = 0
        self._folder = ""

    def serve(self) -> None:
        """Get ready as the host asks, then run one job after the other.

        Raises:
            HostGoneError: once the host is gone.
            BrokenError: if the zygote or a job can't be set up or ended.
        """
        while (frame := self._reader.next_frame()) is None:
            self._turn(None)
        kind, content = frame
        if kind != frames.CONFIGURE:
            raise BrokenError("the host did not say what is wanted")
        self._get_ready(Setting.from_json(content))
        while True:
            self._turn(self._run)

    def say_last(self, kind: int, text: bytes) -> None:
        """Tell the host why it is over, if it still listens."""
        self._unsaid += frames.pack(kind, text)
        with contextlib.suppress(OSError, HostGoneError):
            os.set_blocking(self._outgoing, True)
            while self._unsaid:
                del self._unsaid[: os.write(self._outgoing, self._unsaid)]

    def end(self) -> None:
        """End the zygote and all below it, and remove what was made."""
        if self._zygote:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._zygote, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._zygote, 0)
        if self._cgroup is not None:
            self._cgroup.remove()
        self._remove_folder()

    def _get_ready(self, setting: Setting) -> None:
        self._setting = setting
        if setting.bounded:
            try:
                in_container = setting.mode == "container"
                self._cgroup = ContainerGroup.find() if in_container else Cgroup.make()
            except OSError as error:
                self._info["no_cgroup"] = str(error)
        self._zygote, self._control = fork_zygote(setting)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            if not select.select([self._control], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrokenError("the fork server took too long to get ready")
            note = self._control.recv(_MAX_NOTE)
            if note[:1] == b"M":
                map_users(self._zygote, setting)
                self._control.send(b"m")
            elif note[:1] == b"R":
                break
            else:
                raise BrokenError(note[1:].decode(errors="replace") or "the fork server died")
        self._info |= json.loads(note[1:])
        if self._cgroup is not None:
            # Only now: what the zygote has loaded is not to count as memory of a job.
            self._cgroup.enter(self._zygote)
            self._info["cgroup"] = self._cgroup.version
        self._say(frames.READY, json.dumps(self._info).encode())

    def _turn(self, run: Run | None) -> None:
        """Wait until something happens, and deal with it."""
        poll = select.poll()
        if run is None or run.pending < _MAX_UNREAD:
            poll.register(self._incoming, select.POLLIN)
        if self._unsaid:
            if self._outgoing == self._incoming:
                poll.register(self._incoming, select.POLLIN | select.POLLOUT)
            else:
                poll.register(self._outgoing, select.POLLOUT)
        if self._control is not None:
            poll.register(self._control, select.POLLIN)
        wait = None
        if run is not None:
            run.register(poll, may_speak=len(self._unsaid) < _MAX_UNSAID)
            wait = max(0.0, run.wake_at() - time.monotonic()) * 1000
        ready = dict(poll.poll(wait))
        if run is not None:
            self._attend(run, ready)
        if ready.get(self._outgoing, 0) & select.POLLOUT:
            self._write()
        if ready.get(self._incoming, 0) & (select.POLLIN | select.POLLHUP | select.POLLERR):
            self._hear_host()
        if self._control is not None and self._control.fileno() in ready:
            self._hear_zygote()

    def _attend(self, run: Run, ready: dict[int, int]) -> None:
        run.read_outputs(ready)
        if run.channel is not None and (events := ready.get(run.channel.fileno(), 0)):
            run.talk(events)
        run.look()

    def _hear_host(self) -> None:
        try:
            data = os.read(self._incoming, _BLOCK)
        except BlockingIOError:
            return
        except OSError as error:
            raise HostGoneError from error
        if not data:
            raise HostGoneError
        self._reader.feed(data)
        if self._control is None:
            return
        for kind, content in self._reader.frames():
            self._obey(kind, content)

    def _obey(self, kind: int, content: bytes) -> None:
        if kind == frames.START:
            self._start(content)
        elif self._run is None:
            return  # meant for a job that has ended meanwhile
        elif kind == frames.MESSAGE:
            self._run.tell(content)
        elif kind == frames.CLOSE_CHANNEL:
            self._run.close_channel()
        elif kind == frames.KILL:
            self._run.kill("asked")

    def _start(self, content: bytes) -> None:
        assert self._control is not None
        head = 4 + int.from_bytes(content[:4], "little")
        wish = Wish(**json.loads(content[4:head]))
        payload = content[head : head + wish.payload]
        stdin = content[head + wish.payload :]
        if self._cgroup is not None:
            self._cgroup.begin(wish.memory_mb, wish.processes)
        self._run = Run(
            wish,
            self._cgroup,
            float(self._info["rss_mb"]),
            lambda message: self._say(frames.MESSAGE, message),
        )
        order = json.dumps(asdict(self._order_of(wish))).encode()
        self._run.hand_over(self._control, order, payload, stdin)

    def _order_of(self, wish: Wish) -> Order:
        mode = self._setting.mode
        if mode == "container":
            self._uid = next(self._users)
        elif mode not in NAMESPACES:
            self._folder = tempfile.mkdtemp(prefix="rewardhub-job-", dir=self._setting.writable)
            for name in ("work", "tmp"):
                Path(self._folder, name).mkdir()
        return Order(
            cpu_seconds=wish.cpu_seconds,
            memory_mb=wish.memory_mb,
            processes=wish.processes,
            disk_mb=wish.disk_mb,
            uid=self._uid,
            folder=self._folder,
            bounded=self._cgroup is not None,
            collect=bool(wish.collect),
        )

    def _hear_zygote(self) -> None:
        assert self._control is not None
        note, descriptors, _, _ = socket.recv_fds(self._control, _MAX_NOTE, 4)
        if not note or self._run is None:
            raise BrokenError("the fork server died")
        self._run.hear(note[:1], note[1:], list(descriptors))
        if self._run.ended is not None:
            self._finish(self._run)

    def _finish(self, run: Run) -> None:
        """Tell the host what became of the job, once nothing of it is left."""
        run.conclude()
        left: list[str] = []
        if self._setting.mode == "container":
            told, blobs = self._finish_in_container(run, left)
        else:
            told, blobs = run.outcome()
        told["left"] = left
        head = json.dumps(told).encode()
        self._say(frames.OUTCOME, len(head).to_bytes(4, "little"), head, *blobs)
        run.close()
        self._remove_folder()
        self._run = None

    def _finish_in_container(self, run: Run, left: list[str]) -> tuple[dict[str, Any], list[bytes]]:
        trusted = {os.getpid(), self._zygote}
        sweep.end_processes(self._uid, trusted)
        sweep.become_owner(self._uid)
        try:
            if run.wish.collect:
                run.folder = os.open("/work", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            outcome = run.outcome()
        finally:
            sweep.become_owner(0)
        left += sweep.sweep(self._uid, trusted)
        return outcome

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _say(self, kind: int, *parts: bytes) -> None:
        self._unsaid += frames.pack(kind, *parts)
        self._write()

    def _write(self) -> None:
        try:
            while self._unsaid:
                del self._unsaid[: os.write(self._outgoing, self._unsaid)]
        except BlockingIOError:
            return
        except OSError as error:
            raise HostGoneError from error
