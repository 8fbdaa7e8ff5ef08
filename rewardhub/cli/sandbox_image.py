"""`rewardhub sandbox image`: make the image that the docker sandbox runs programs in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image import IMAGE, build_from_image, build_host_image
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.session import Session

_DISTRIBUTIONS = ("pytest",)
_BUILD_SECONDS = 1800.0


def make_image(
    session: Session,
    *,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What the image is called.")
    ] = IMAGE,
    distributions: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="A distribution that programs can import; may be repeated. [default: pytest]",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="IMAGE",
            help="Build on this image and install with pip, as python:3.12-slim. "
            "[default: this machine's own Python, without any registry]",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Which Docker daemon. [default: DOCKER_HOST, or that of the docker command]",
        ),
    ] = "",
) -> ExitCode:
    """Make the image that the docker sandbox runs programs in.

    Without --from it holds this machine's own Python, its standard library, and distributions
    that are installed here: no registry is asked, and the same files give the same digest.
    """
    daemon = Daemon(host, seconds=_BUILD_SECONDS)
    wanted = tuple(distributions or _DISTRIBUTIONS)
    session.say(f"Making the image {name} at {daemon.address} with {', '.join(wanted)} ...")
    try:
        if base is None:
            image = build_host_image(daemon, name=name, distributions=wanted)
        else:
            image = build_from_image(daemon, base, name=name, distributions=wanted)
    finally:
        daemon.close()
    if session.as_json:
        session.show_json({**asdict(image), "with": list(wanted)})
    else:
        python = f"Python {image.python}, " if image.python else ""
        session.show(f"{image.name} is ready ({python}{image.size / 1e6:.0f} MB): {image.digest}")
    return ExitCode.OK
