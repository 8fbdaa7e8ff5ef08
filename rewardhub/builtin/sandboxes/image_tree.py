"""The files of an image that holds this machine's own Python, gathered without any registry.

Everything keeps its absolute path, so that the interpreter finds its library as it does here, and a
folder that the local sandbox shows and one in the image are the same to a program.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardhub.errors import UsageError

PROGRAMS = (
    *("basename", "bash", "cat", "chmod", "cp", "date", "diff", "dirname", "echo", "env"),
    *("expr", "false", "find", "grep", "head", "ls", "mkdir", "mktemp", "mv", "printf", "pwd"),
    *("rm", "sed", "seq", "sh", "sleep", "sort", "tail", "tee", "test", "touch", "tr", "true"),
    *("uname", "uniq", "wc", "which", "xargs"),
)
"""What shell commands of graded programs call; those that this machine lacks are left out."""

_SKIPPED = {
    *("__pycache__", "test", "tests", "idlelib", "idle_test", "ensurepip", "turtledemo"),
    *("tkinter", "lib2to3", "site-packages", "dist-packages"),
}
"""Folders of the standard library that graded programs have no use for."""

_USERS = "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
_GROUPS = "root:x:0:\nnogroup:x:65534:\n"
_FOLDERS = ("dev", "etc", "proc", "sys", "tmp", "var/tmp")
_PROBE = """
import json, os, platform, site, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
    "executable": sys.executable,
    "stdlib": [paths["stdlib"], paths["platstdlib"]],
    "packages": site.getsitepackages()[0],
    "version": platform.python_version(),
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """The interpreter that this process runs on, below its virtual environment.

    Attributes:
        executable: the program.
        stdlib: the folders of its standard library.
        packages: the folder where distributions belong.
        version: as ``3.12.4``.
    """

    executable: Path
    stdlib: tuple[Path, ...]
    packages: Path
    version: str

    @classmethod
    def find(cls) -> HostPython:
        """Return it.

        Raises:
            UsageError: if it does not run by itself.
        """
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        beside = Path(sys.base_prefix) / "bin" / name
        program = beside if beside.exists() else Path(sys.executable).resolve()
        told = subprocess.run(  # noqa: S603  # our own interpreter
            [program, "-I", "-c", _PROBE], capture_output=True, text=True, check=False
        )
        if told.returncode:
            raise UsageError(
                f"The Python at {program} does not run: {told.stderr.strip()[-300:]}. "
                "Build the image from one of a registry instead: `--from python:3.12-slim`."
            )
        said = json.loads(told.stdout)
        return cls(
            executable=Path(said["executable"]),
            stdlib=tuple(Path(each) for each in dict.fromkeys(said["stdlib"])),
            packages=Path(said["packages"]),
            version=said["version"],
        )


def stage_tree(root: Path, python: HostPython, distributions: Sequence[str]) -> None:
    """Put all files of the image below ``root``: Python, distributions, programs, libraries.

    Args:
        root: an empty folder.
        python: the interpreter.
        distributions: names of installed distributions; what they need comes along.

    Raises:
        UsageError: if a distribution is not installed here, or only as an editable one.
    """
    tree = _Tree(root)
    tree.add(python.executable.resolve(), python.executable)
    for folder in python.stdlib:
        for file in _walk(folder):
            tree.add(file, file)
    for source, place in distribution_files(distributions):
        tree.add(source, python.packages / place)
    for program in PROGRAMS:
        if found := shutil.which(program, path="/bin:/usr/bin"):
            tree.add(Path(found).resolve(), Path("/bin", program))
    for name in ("python3", "python"):
        tree.link(Path("/usr/bin", name), python.executable)
    _add_libraries(tree)
    if Path("/usr/share/zoneinfo").is_dir():
        for file in _walk(Path("/usr/share/zoneinfo")):
            tree.add(file, file)
    for folder_name in _FOLDERS:
        (root / folder_name).mkdir(parents=True, exist_ok=True)
    (root / "etc/passwd").write_text(_USERS, encoding="utf-8")
    (root / "etc/group").write_text(_GROUPS, encoding="utf-8")
    _compile(root, python)


class _Tree:
    """Files on their way into the image, by where they are here."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.sources: dict[Path, Path] = {}

    def inside(self, place: Path) -> Path:
        return self._root / place.relative_to("/")

    def add(self, source: Path, place: Path) -> None:
        target = self.inside(place)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        self.sources[source] = place

    def link(self, place: Path, to: Path) -> None:
        target = self.inside(place)
        if not target.exists() and place != to:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(to)


def _walk(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED and not Path(path, name, "libpython-static").exists()
        )
        for name in sorted(files):
            file = Path(path, name)
            if not name.endswith((".a", ".pyc")) and file.is_file():
                yield file


def distribution_files(names: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """Yield each file of the distributions and of what they need, and its place among packages.

    Raises:
        UsageError: if one is not installed here, or only as an editable one.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop(0)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise UsageError(
                f"`{name}` is not installed here, and the image takes distributions from this "
                f"Python. Install it first: `pip install {name}`."
            ) from None
        if found.name.lower() in seen:
            continue
        seen.add(found.name.lower())
        if _is_editable(found.read_text("direct_url.json")):
            raise UsageError(
                f"`{name}` is installed as an editable one, so its files are not among the "
                "packages. Install it without `-e`, and build the image again."
            )
        for file in found.files or ():
            outside = file.parts[0] == ".." or file.suffix == ".pyc"
            source = Path(str(found.locate_file(file)))
            if not outside and source.is_file():
                yield source, Path(file)
        waiting.extend(_needed(found.requires or ()))


def _is_editable(direct_url: str | None) -> bool:
    return bool(json.loads(direct_url or "{}").get("dir_info", {}).get("editable"))


def _needed(requirements: Iterable[str]) -> Iterator[str]:
    from packaging.requirements import Requirement

    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name


_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def _add_libraries(tree: _Tree) -> None:
    """Add the shared libraries that the programs and modules load, and what these load."""
    binaries = [
        str(source)
        for source, place in tree.sources.items()
        if ".so" in place.name or place.parent.name == "bin"
    ]
    told = subprocess.run(  # noqa: S603  # files of this machine's own Python
        ["ldd", *binaries],  # noqa: S607  # wherever the C library put it
        capture_output=True,
        text=True,
        check=False,
    )
    found = {Path(each) for each in _LIBRARY.findall(told.stdout)}
    homes = [each.parent for each in found if each.name.startswith("libc.")]
    home = min(homes, default=Path("/lib"))  # of several names for it, the same each time
    unwinder = home / "libgcc_s.so.1"  # loaded by name when a thread ends
    if unwinder.exists():
        found.add(unwinder)
    for library in sorted(found):
        if library in tree.sources:
            continue
        tree.add(library.resolve(), library)
        # Without a cache of its own the loader looks in the standard folders only.
        tree.link(home / library.name, library)


def _compile(root: Path, python: HostPython) -> None:
    """Compile all modules beforehand: the image is read-only, and nobody should pay for it twice.

    The bytecode is the same each time (a fixed hash seed, one process, no times in it), so that
    equal files make an image of the same digest.
    """
    folders = {root / each.relative_to("/") for each in (*python.stdlib, python.packages)}
    subprocess.run(  # noqa: S603  # our own interpreter
        [
            *(python.executable, "-S", "-s", "-m", "compileall", "-q"),
            *("--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/"),
            *sorted(each for each in folders if each.is_dir()),
        ],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        check=False,  # some packages carry files that are no valid Python on purpose
    )
