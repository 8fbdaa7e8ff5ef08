"""Images for the docker sandbox: this machine's own Python, or one of a registry."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image_tree import HostPython, stage_tree
from rewardhub.errors import UsageError

IMAGE = "rewardhub-sandbox"
"""What an image is called, and which one the docker sandbox uses, if nobody says."""

LABEL = "rewardhub.python"
"""The label that says which Python is inside."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EPOCH = "1970-01-01T00:00:00Z"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that is ready.

    Attributes:
        name: its name and tag.
        digest: names its content; equal content has an equal digest.
        python: the version of its Python; empty if it does not say.
        size: in bytes.
        path: where its programs are looked for, as ``PATH``.
        volumes: folders that it declares as volumes.
    """

    name: str
    digest: str
    python: str
    size: int
    path: str = _PATH
    volumes: tuple[str, ...] = ()


def build_host_image(
    daemon: Daemon, *, name: str = IMAGE, distributions: Sequence[str] = ("pytest",)
) -> Image:
    """Make an image of this machine's own Python, without any registry, and return it.

    It has the interpreter and its standard library at their own paths, the distributions and what
    they need, the shared libraries of all these, a few common programs, and nothing else. The
    same files make an image of the same digest.

    Args:
        daemon: takes the image.
        name: of the image, with or without a tag.
        distributions: installed here, and wanted inside.

    Raises:
        UsageError: if a distribution is not installed here, or the name is none.
        InfrastructureError: if the daemon does not answer.
    """
    with daemon.asking("take an image") as client:
        client.ping()
    python = HostPython.find()
    with tempfile.TemporaryDirectory(prefix="rewardhub-image-") as folder:
        root, layer, archive = (Path(folder, each) for each in ("root", "layer.tar", "image.tar"))
        root.mkdir()
        stage_tree(root, python, distributions)
        with layer.open("wb") as stream:
            _write_layer(root, stream)
        with archive.open("wb") as stream:
            _write_archive(layer, stream, _with_tag(name), python.version)
        with daemon.asking(f"take the image {name}") as client, archive.open("rb") as stream:
            client.images.load(stream)
    return image_of(daemon, name)


def build_from_image(
    daemon: Daemon, base: str, *, name: str = IMAGE, distributions: Sequence[str] = ("pytest",)
) -> Image:
    """Make an image of another that has Python and pip, such as ``python:3.12-slim``; return it.

    Args:
        daemon: builds the image, and fetches ``base`` if it has to.
        base: the other image; by digest, if it should be the same everywhere.
        name: of the new image, with or without a tag.
        distributions: what pip installs in it.

    Raises:
        UsageError: if it cannot be built so.
        InfrastructureError: if the daemon does not answer.
    """
    import docker.errors

    lines = [f"FROM {base}", "USER 0", f'ENV LANG="C.UTF-8" PATH="{_PATH}"', "RUN python3 -V"]
    if distributions:
        command = ["python3", "-m", "pip", "install", "--no-cache-dir", *distributions]
        lines.append(f"RUN {json.dumps(command)}")
    lines += ["ENTRYPOINT []", 'CMD ["python3"]']
    with daemon.asking(f"build the image {name}") as client:
        try:
            client.images.build(
                fileobj=io.BytesIO("\n".join(lines).encode()),
                tag=_with_tag(name),
                rm=True,
                forcerm=True,
            )
        except docker.errors.BuildError as error:
            said = "".join(each.get("stream", "") for each in error.build_log)
            raise UsageError(
                f"No image could be built from `{base}`: {error.msg}\n{said[-2000:].strip()}\n"
                "Without a registry at hand, leave `--from` out: the image is then made of this "
                "machine's own Python."
            ) from error
    return image_of(daemon, name)


def image_of(daemon: Daemon, name: str) -> Image:
    """Return the image that the daemon has under a name, tag or digest.

    Raises:
        UsageError: if it has none.
        InfrastructureError: if the daemon does not answer.
    """
    import docker.errors

    with daemon.asking(f"find the image {name}") as client:
        try:
            found = client.images.get(name)
        except docker.errors.ImageNotFound:
            raise UsageError(
                f"The Docker daemon at {daemon.address} has no image `{name}`. Make one with "
                f"{_command_for(name)}, or fetch it with `docker pull {name}`."
            ) from None
        config = found.attrs.get("Config") or {}
        variables = dict(each.partition("=")[::2] for each in config.get("Env") or ())
        return Image(
            name=name,
            digest=str(found.id),
            python=(found.labels or {}).get(LABEL, ""),
            size=int(found.attrs.get("Size", 0)),
            path=variables.get("PATH", _PATH),
            volumes=tuple(config.get("Volumes") or ()),
        )


def _command_for(name: str) -> str:
    if "@" in name or name.startswith("sha256:"):
        return "`rewardhub sandbox image`"
    option = "" if _with_tag(name) == _with_tag(IMAGE) else f" --name {name}"
    return f"`rewardhub sandbox image{option}`"


def _with_tag(name: str) -> str:
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def _write_layer(root: Path, stream: IO[bytes]) -> None:
    """Write a folder as a tar file that is the same for the same files, whoever owns them here."""
    import tarfile

    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            entry = archive.gettarinfo(path, str(path.relative_to(root)))
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            if entry.isdir():
                entry.mode = 0o1777 if path.name == "tmp" else 0o755
            if entry.isreg():
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)


def _write_archive(layer: Path, stream: IO[bytes], name: str, version: str) -> None:
    """Write what ``docker load`` reads: one layer, its configuration, and the name of both."""
    import tarfile

    with layer.open("rb") as files:
        digest = hashlib.file_digest(files, "sha256").hexdigest()
    machine = os.uname().machine
    config = _plain(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "created": _EPOCH,
            "config": {
                "Env": [f"PATH={_PATH}", "LANG=C.UTF-8"],
                "Cmd": ["python3"],
                "Labels": {LABEL: version},
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created": _EPOCH, "created_by": "rewardhub sandbox image"}],
        }
    )
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    entry = {"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for member, content in ((config_name, config), ("manifest.json", _plain([entry]))):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        archive.add(layer, "layer.tar")


def _plain(value: Sequence[Any] | Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
