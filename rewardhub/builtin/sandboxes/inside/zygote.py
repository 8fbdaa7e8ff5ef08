"""The fork server: the interpreter, warm, from which each job is forked."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import shutil
import signal
import site
import socket
import sys
import time
import traceback
import types
from pathlib import Path
from typing import NoReturn

from rewardhub.builtin.sandboxes.inside import linux, program, sweep, walls
from rewardhub.builtin.sandboxes.inside.job import CHANNEL, become_job, filter_for
from rewardhub.builtin.sandboxes.inside.tree import family_of
from rewardhub.builtin.sandboxes.inside.wishes import NAMESPACES, Order, Setting

_NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC
_APART = _NAMESPACES | linux.CLONE_NEWNET | linux.CLONE_NEWUTS
_MAX_ORDER = 1 << 16
_HIGH = 64
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fork_zygote(setting: Setting) -> tuple[int, socket.socket]:
    """Fork the zygote; return its process and the socket to it.

    It says ``M`` when it wants its users mapped, and waits for an answer; ``R`` when it is ready,
    with what it found out as JSON; ``E`` with a traceback when it can't be.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    flags = 0
    if setting.mode in NAMESPACES:
        flags = _APART | (linux.CLONE_NEWUSER if setting.mode == "user" else 0)
    pid = linux.fork_into(flags) if flags else os.fork()
    if pid == 0:
        ours.close()
        _be_zygote(setting, theirs)
    theirs.close()
    return pid, ours


def map_users(pid: int, setting: Setting) -> None:
    """Say who the users of the zygote's namespace are outside; called by the warden."""
    folder = Path(f"/proc/{pid}")
    if setting.mode == "user":
        (folder / "setgroups").write_text("deny")
        (folder / "uid_map").write_text(f"0 {os.geteuid()} 1")
        (folder / "gid_map").write_text(f"0 {os.getegid()} 1")
    else:
        (folder / "uid_map").write_text(f"0 {setting.first_uid} 65536")
        (folder / "gid_map").write_text(f"0 {setting.first_uid} 65536")


def _be_zygote(setting: Setting, control: socket.socket) -> NoReturn:
    try:
        control = _keep_high(control)
        _settle(setting, control)
        _get_warm(setting)
        base_mb = _address_space_mb()
        control.send(b"R" + json.dumps(_info()).encode())
    except BaseException:  # noqa: BLE001  # told to the warden, and it is the end
        control.send(b"E" + traceback.format_exc().encode(errors="replace")[-8000:])
        os._exit(1)
    try:
        _serve(setting, control, base_mb)
    finally:
        os._exit(1)


def _keep_high(control: socket.socket) -> socket.socket:
    """Move the socket out of the way of a job's descriptors, and close all others."""
    high = fcntl.fcntl(control.fileno(), fcntl.F_DUPFD_CLOEXEC, _HIGH)
    control.close()
    os.closerange(CHANNEL, _HIGH)
    os.closerange(high + 1, 1024)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(CHANNEL + 1):
        os.dup2(null, descriptor)
    os.close(null)
    return socket.socket(fileno=high)


def _settle(setting: Setting, control: socket.socket) -> None:
    """Enter the namespaces, and be nobody outside."""
    if setting.mode == "user":
        _be_mapped(control)
    if setting.mode in NAMESPACES:
        walls.enter_root(setting)
        linux.set_host_name("sandbox")
    elif setting.mode != "container":
        linux.adopt_orphans()
    if setting.mode == "root":
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
        _be_mapped(control)
    if setting.mode in NAMESPACES:
        linux.drop_bounding()  # for its jobs: it executes nothing itself
    linux.die_with_parent()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_DFL)


def _be_mapped(control: socket.socket) -> None:
    control.send(b"M")
    if control.recv(1) != b"m":
        raise OSError("the warden mapped no users")
    if Path("/proc/self/setgroups").read_text().strip() != "deny":
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _get_warm(setting: Setting) -> None:
    """Import what jobs find imported, and make it cheap to fork."""
    sys.executable = setting.executable or sys.executable
    sys.dont_write_bytecode = True
    if setting.path:
        sys.path[:] = setting.path
    site.setquit()
    site.setcopyright()
    site.sethelper()
    environment = environment_of(setting)
    os.environ.clear()
    os.environ.update(environment)
    if setting.preload:
        name, source = setting.preload
        module = types.ModuleType(name)
        module.__file__ = f"{name}.py"
        sys.modules[name] = module
        exec(compile(source, f"{name}.py", "exec"), vars(module))  # noqa: S102  # trusted
        if setting.mode == "container":
            _clear_folders()
    else:
        for name in ("random", "linecache", "traceback", "tokenize"):
            importlib.import_module(name)
    # Jobs find what is installed here, and not what runs them.
    for name in [name for name in sys.modules if name.partition(".")[0] == "rewardhub"]:
        del sys.modules[name]


def _clear_folders() -> None:
    """Remove what a preload left where jobs write; elsewhere each job has folders of its own."""
    for folder in sweep.FOLDERS:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112, PTH208
            path = os.fsdecode(folder + b"/" + name)
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108


def environment_of(setting: Setting) -> dict[str, str]:
    """Return the variables that every job has."""
    one = dict.fromkeys(_THREADS, "1")
    return {
        "PATH": setting.programs,
        "HOME": "/tmp",  # noqa: S108  # the job's own
        "TMPDIR": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "REWARDHUB_CHANNEL": str(CHANNEL),
        **one,
    }


def _info() -> dict[str, object]:
    return {
        "python": sys.version.split()[0],
        "rss_mb": _size_of_a_fork(),
    }


def _size_of_a_fork() -> float:
    """Return the memory that a job has before it does anything, in MiB."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss / 1024


def _address_space_mb() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 256
    return (pages * os.sysconf("SC_PAGE_SIZE") >> 20) + 16


def _serve(setting: Setting, control: socket.socket, base_mb: int) -> None:
    """Fork one job after the other, as the warden orders."""
    call_filter = None if setting.mode in {"landlock", "bare"} else filter_for(setting)
    streams = _streams()
    gc.collect()
    gc.freeze()
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, _MAX_ORDER, 5)
        if not text:
            return
        order = Order(**json.loads(text))
        pid = linux.fork_into(_NAMESPACES) if setting.mode in NAMESPACES else os.fork()
        if pid == 0:
            become_job(
                setting,
                order,
                list(descriptors),
                control,
                call_filter=call_filter,
                base_mb=base_mb,
                streams=streams,
            )
        for descriptor in descriptors:
            os.close(descriptor)
        ticket = os.pidfd_open(pid)
        socket.send_fds(control, [b"P"], [ticket])
        os.close(ticket)
        _, status, usage = os.wait4(pid, 0)
        if setting.mode in {"landlock", "bare"}:
            _end_family()
        told = {
            "status": status,
            "time": time.monotonic(),
            "cpu": usage.ru_utime + usage.ru_stime,
            "rss_mb": usage.ru_maxrss / 1024,
        }
        control.send(b"W" + json.dumps(told).encode())


def _streams() -> program.Streams:
    """Return the streams of jobs, made while there is behind them what jobs get there."""
    stdin, (reader, writer) = os.memfd_create("stdin", os.MFD_CLOEXEC), os.pipe()
    kept = [os.dup(number) for number in range(3)]
    for number, behind in enumerate((stdin, writer, writer)):
        os.dup2(behind, number)
    streams = program.make_streams()
    for number, behind in enumerate(kept):
        os.dup2(behind, number)
    for descriptor in (stdin, reader, writer, *kept):
        os.close(descriptor)
    return streams


def _end_family() -> None:
    """End all that a job left behind, where no namespace does it."""
    while len(family := family_of(os.getpid())) > 1:
        for pid in family[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
