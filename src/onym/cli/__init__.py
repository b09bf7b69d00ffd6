"""The command line: a module per command group, a function per command, no logic. Data goes to stdout, messages to stderr."""

from onym.cli.boundary import main

__all__ = ["main"]
