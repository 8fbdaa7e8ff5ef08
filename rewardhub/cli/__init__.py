"""The command line: words on a terminal. Everything heavy is imported by the command it is for."""

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.entry import main

__all__ = ["ExitCode", "main"]
