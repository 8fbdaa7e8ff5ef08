"""Programs that attack the sandbox they run in. Each prints what it got, as a JSON list.

A sandbox that holds makes each print an empty list, or ends it first. Run them only where a sandbox
says that it holds: what the kernel allows, they do.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
from collections.abc import Generator

_WRITE = r"""
import json, os
got = []
for folder in ("/", "/usr", "/usr/bin", "/etc", "/root", "/lib", "/var", "/opt", "/home", "/sys"):
    name = f"{folder.rstrip('/')}/rewardhub-attack-{os.getpid()}"
    try:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        os.unlink(name)
        got.append(name)
    except OSError:
        pass
for name in ("/etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness",
             "/proc/sysrq-trigger", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/kmsg"):
    try:
        os.close(os.open(name, os.O_WRONLY))
        got.append(name)
    except OSError:
        pass
print(json.dumps(got))
"""

_READ = r"""
import glob, json
got = []
for pattern in ("/etc/shadow", "/root/.*", "/root/*", "/home/*/*", "/proc/kcore", "/dev/mem",
                "/var/run/docker.sock", "/run/docker.sock", "/dev/sd*", "/dev/vd*"):
    for name in glob.glob(pattern):
        try:
            with open(name, "rb") as file:
                file.read(1)
            got.append(name)
        except OSError:
            pass
print(json.dumps(got))
"""

_KERNEL = r"""
import ctypes, json, os, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
numbers = {
    "bpf": 321 if x86 else 280, "keyctl": 250 if x86 else 219, "add_key": 248 if x86 else 217,
    "userfaultfd": 323 if x86 else 282, "io_uring_setup": 425,
    "perf_event_open": 298 if x86 else 241,
    "pidfd_getfd": 438, "process_vm_readv": 310 if x86 else 270, "open_tree": 428, "fsopen": 430,
    "kexec_load": 246 if x86 else 104, "init_module": 175 if x86 else 105,
    "pivot_root": 155 if x86 else 41, "setns": 308 if x86 else 268, "quotactl": 179 if x86 else 60,
}
arguments = {"bpf": (0, 0, 0), "keyctl": (0, -3, 1), "add_key": (b"user", b"a", b"b", 1, -3),
             "userfaultfd": (1,), "io_uring_setup": (4, ctypes.create_string_buffer(120)),
             "process_vm_readv": (os.getpid(), 0, 0, 0, 0, 0)}
got = []
def attempt(name, call):
    child = os.fork()
    if child == 0:
        try:
            result = call()
        except Exception:
            result = -1
        os._exit(7 if result is not None and result >= 0 else 0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7:
        got.append(name)
for name, number in numbers.items():
    attempt(name, lambda: libc.syscall(number, *arguments.get(name, (0, 0, 0, 0, 0))))
spaces = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000}
for name, flag in spaces.items():
    attempt(f"unshare {name}", lambda: libc.unshare(flag))
attempt("mount", lambda: libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None))
attempt("bind", lambda: libc.mount(b"/", b"/tmp", None, 4096, None))
attempt("remount", lambda: libc.mount(None, b"/", None, 4096 | 32, None))
attempt("umount", lambda: libc.umount2(b"/proc", 2))
attempt("chroot", lambda: libc.chroot(b"/tmp"))
attempt("ptrace", lambda: libc.ptrace(0, 0, 0, 0))
attempt("mknod", lambda: os.mknod("/tmp/null", 0o20666, os.makedev(1, 1)) or 0)
print(json.dumps(got))
"""

_CALL_HOME = r"""
import json, os, socket, sys
port, abstract = json.loads(sys.stdin.read())
got = []
def attempt(name, family, kind, address, greeting=b""):
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(1)
            one.connect(address)
            one.send(greeting or b"x")
            if kind != socket.SOCK_DGRAM or one.recv(1):
                got.append(name)
    except OSError:
        pass
attempt("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
attempt("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
attempt("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port))
attempt("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
for name in ("/var/run/docker.sock", "/run/docker.sock", "/run/dbus/system_bus_socket"):
    attempt(name, socket.AF_UNIX, socket.SOCK_STREAM, name)
for family in ("AF_PACKET", "AF_VSOCK", "AF_NETLINK"):
    try:
        socket.socket(getattr(socket, family), socket.SOCK_RAW).close()
        got.append(family)
    except (OSError, AttributeError):
        pass
print(json.dumps(got))
"""

QUIET: dict[str, str] = {
    "writes outside": _WRITE,
    "reads outside": _READ,
    "asks the kernel": _KERNEL,
}
"""Attacks that need nothing of the host."""

CALL_HOME = _CALL_HOME
"""Tries to reach the host; reads ``[port, abstract name]`` of its listeners from stdin."""


@contextlib.contextmanager
def listening() -> Generator[str]:
    """Listen on this machine, on TCP and on an abstract socket; yield the stdin of `CALL_HOME`."""
    name = f"rewardhub-{secrets.token_hex(8)}"
    with (
        contextlib.closing(socket.create_server(("127.0.0.1", 0))) as tcp,
        contextlib.closing(socket.socket(socket.AF_UNIX)) as abstract,
    ):
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield json.dumps([tcp.getsockname()[1], name])


FORKS = r"""
import os, time
made = 0
for _ in range(300):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
    except OSError:
        break
print(made)
"""

MANY_EATERS = r"""
import os, time
read, write = os.pipe()
for _ in range(8):
    try:
        if os.fork() == 0:
            try:
                held = bytearray(400 << 20)
                held[::4096] = b"x" * len(held[::4096])
                os.write(write, b"+")
                time.sleep(60)
            finally:
                os._exit(0)
    except OSError:
        pass
time.sleep(3)
os.set_blocking(read, False)
try:
    print(len(os.read(read, 64)), flush=True)
except BlockingIOError:
    print(0, flush=True)
"""

FILLS_DISK = r"""
import json, os
written = {}
for folder in ("/work", "/tmp", "/dev/shm", "."):
    total = 0
    try:
        for number in range(64):
            with open(f"{folder}/{number}", "wb", buffering=0) as file:
                for _ in range(16):
                    total += file.write(bytes(1 << 20))
    except OSError:
        pass
    for number in range(64):
        try:
            os.unlink(f"{folder}/{number}")
        except OSError:
            pass
    written[folder] = total
print(json.dumps(written))
"""

MANY_FILES = r"""
made = 0
try:
    for number in range(20000):
        open(f"/tmp/{number}", "w").close()
        made += 1
except OSError:
    pass
print(made)
"""

MANY_DESCRIPTORS = r"""
import os
held = []
try:
    while len(held) < 30000:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
os.closerange(100, 30100)
print(len(held))
"""

DEAF = r"""
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
"""

DAEMON = r"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        # It holds the pipes of the job open, and its own name.
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "MARK"])
    os._exit(0)
os.wait()
time.sleep(0.2)
print("left")
"""

KILLS = r"""
import os, signal
for target in (os.getppid(), 1, -1):
    if target != os.getpid():
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            pass
"""

LEAVES_THINGS = r"""
import ctypes, os
for folder in ("/work", "/tmp", "/dev/shm", "/var/tmp", "."):
    try:
        with open(f"{folder}/left-behind", "w") as file:
            file.write("MARK")
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
libc.shmget(0x5EED, 4096, 0o1666)
libc.semget(0x5EED, 1, 0o1666)
libc.msgget(0x5EED, 0o1666)
os.environ["LEFT_BEHIND"] = "MARK"
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(600)
print("left")
"""

FINDS_THINGS = r"""
import ctypes, json, os
got = [f"{folder}/left-behind" for folder in ("/work", "/tmp", "/dev/shm", "/var/tmp", ".")
       if os.path.exists(f"{folder}/left-behind")]
libc = ctypes.CDLL(None, use_errno=True)
got += [name for name, call in (("shm", lambda: libc.shmget(0x5EED, 0, 0)),
                                ("sem", lambda: libc.semget(0x5EED, 0, 0)),
                                ("msg", lambda: libc.msgget(0x5EED, 0))) if call() >= 0]
got += [name for name in os.environ if name == "LEFT_BEHIND"]
for number in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{number}/stat") as file:
            owner = os.stat(f"/proc/{number}").st_uid
        if owner == os.getuid() and int(number) not in (os.getpid(), 1):
            got.append(f"process {number}")
    except OSError:
        pass
print(json.dumps(got))
"""

SCANS_MEMORY = r"""
import sys
text = sys.stdin.read().strip()
first, rest = text[:-9:-1].encode(), text[:-8].encode()
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps.readlines():
        place, rights = line.split()[:2]
        start, end = (int(part, 16) for part in place.split("-"))
        if "r" not in rights or end - start > 256 << 20:
            continue
        try:
            memory.seek(start)
            piece = memory.read(end - start)
        except (OSError, ValueError, OverflowError):
            continue
        at = piece.find(first)
        while at >= 0:
            after = at + len(first)
            found += piece[after : after + len(rest)][::-1] == rest
            at = piece.find(first, after)
print(found)
"""
"""Looks through its own memory for a text that stdin gives backwards, so as not to find itself."""
