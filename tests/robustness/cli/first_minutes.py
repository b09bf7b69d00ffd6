"""Run the commands of README.md in order, in a fresh virtual environment and an empty folder, as a new user would.

commands      commands in the README: shell commands, and each Python block as one command
failures      commands that failed; each is named on stderr
first_link_s  seconds that `onym link` takes for a real abstract, as the first command after installation (not included)
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from benchmarks.fresh import Fresh, fresh_environment
from benchmarks.report import data_folder

from onym.datasets.prepared import open_dataset

UPPER_BOUNDS = {"failures": 0}
_README = Path(__file__).parents[3] / "README.md"
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INSTALL = "pip install"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--readme", type=Path, default=_README, help="page whose commands are run (default: README.md)")


def run(options: argparse.Namespace) -> dict[str, object]:
    abstract = next(iter(open_dataset("bc5cdr", data_folder()).documents("test"))).text
    commands = commands_of(options.readme.read_text())
    with fresh_environment() as fresh:
        began = time.perf_counter()
        first = fresh.run(["onym", "link", abstract])
        seconds = time.perf_counter() - began
        failures = int(first.returncode != 0) + sum(not _succeeds(fresh, *each) for each in commands)
    return {"commands": 1 + len(commands), "failures": failures, "first_link_s": round(seconds, 2)}


def commands_of(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page, each with its language, except those that install Onym."""
    found: list[tuple[str, str]] = []
    for language, block in _BLOCK.findall(page):
        if language == "python":
            lines = [line[4:] for line in block.splitlines() if line.startswith((">>>", "..."))]
            found.append(("python", "\n".join(lines)))
        else:
            found += [("bash", command) for command in _shell(block) if not command.startswith(_INSTALL)]
    return found


def _shell(block: str) -> list[str]:
    """Split a shell block into commands; a here-document (<<'EOF') belongs to its command."""
    commands: list[str] = []
    end = ""
    for line in block.splitlines():
        if end:
            commands[-1] += f"\n{line}"
            end = "" if line == end else end
        elif line.startswith("$ "):
            commands.append(line[2:])
            found = re.search(r"<<'?(\w+)'?", line)
            end = found[1] if found else ""
    return commands


def _succeeds(fresh: Fresh, language: str, command: str) -> bool:
    done = fresh.run([language, "-c", command])
    if done.returncode:
        print(f"{command}\n{done.stderr[-500:]}", file=sys.stderr)
    return done.returncode == 0
