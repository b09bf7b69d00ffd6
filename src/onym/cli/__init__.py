"""The command line: a module per group, a function per command, no logic. stdout is data, stderr is for people."""

from onym.cli.boundary import main

__all__ = ["main"]
