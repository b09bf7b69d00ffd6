"""The command line: one command per file, no logic. stdout is data, stderr is for people."""

from onym.cli.boundary import main

__all__ = ["main"]
