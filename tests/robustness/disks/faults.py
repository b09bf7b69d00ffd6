"""Make each file system call of a command fail in turn, and check that outputs stay complete and errors have a code.

commands        commands that write: build, link, index, migrate, review create, audit plan, and train (only the step that
                publishes the model)
calls_faulted   number of file system calls that were made to fail, each in a separate run: every call fails with each possible
                error (no space, input/output error, no permission), and every write is cut short
torn            runs that left neither the complete earlier output nor the complete new one; must be 0. The output of `link`,
                `migrate` or `review create` is also complete without its document, if the document is reported as unreadable
                (exit status 5)
lost            runs that left no output, or that succeeded but left the earlier output; must be 0
unhandled       runs that failed without an error code; must be 0
"""

from __future__ import annotations

import argparse
import errno
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.robustness.disks.writers import (
    ACCOUNTED,
    COMMANDS,
    LIST,
    NOTHING,
    Outcome,
    Writer,
    is_old_or_new,
    judge_commands,
    state_of,
)

_WRITES = ("create", "write", "wsync", "mkdir", "rename")
_NAMED = ("create", "open", "mkdir", "rename", "unlink", "chmod")
_CODE = re.compile(r"\[[a-z]+(-[a-z]+)+\]")
_TOLD = re.compile("problems: 1|^input-unreadable: |documents is missing", re.MULTILINE)
_STATUSES = (2, 3, 4, 5, 6)
_LEFT_OUT = 5  # exit status if a file could not be read: the run skips the file and reports it
_QUICK = 12  # faults per command with --quick


class Fault(NamedTuple):
    call: int
    kind: str
    error: int
    is_lasting: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--command", choices=sorted(COMMANDS), help="run only this command")
    parser.add_argument(
        "--faults", type=int, help=f"faults per command, evenly spaced (default: all, or {_QUICK} with --quick)"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    names = [options.command] if options.command else list(COMMANDS)
    counts = judge_commands(
        names, lambda worker: _judge_calls(worker, limit=options.faults or (_QUICK if options.quick else None))
    )
    figures = {"commands": len(names), **{key: counts[key] for key in ("calls_faulted", "torn", "lost", "unhandled")}}
    if figures["torn"] or figures["lost"] or figures["unhandled"]:
        sys.exit(f"torn, lost and unhandled must be 0: {figures}")
    return dict(figures)


def _judge_calls(worker: Writer, limit: int | None) -> Counter[str]:
    """Make each call fail in turn; with `limit`, only that many calls, evenly spaced."""
    listed = worker.run(LIST)
    calls = [line.split("\t")[0] for line in (worker.folder / "record").read_text().splitlines()]
    new = worker.run(NOTHING).state
    if listed.status or new in ("absent", "torn"):
        raise RuntimeError(f"{worker.name} fails without a fault: {listed}")
    old = state_of(COMMANDS[worker.name], worker.folder / "base")
    faults = list(_faults(calls))
    counts: Counter[str] = Counter()
    for fault in faults[:: -(-len(faults) // limit)] if limit else faults:
        outcome = worker.run(fault.call, fault.error, is_lasting=fault.is_lasting)
        counts["calls_faulted"] += 1
        if harm := _harm(outcome, old, new):
            counts[harm] += 1
            last = outcome.message.strip().splitlines()[-1:] or [""]
            print(f"{worker.name}, {fault}: {harm}, status {outcome.status}, {last[0]}", file=sys.stderr)
    return counts


def _faults(calls: list[str]) -> Iterator[Fault]:
    """Yield each call with each of its possible errors."""
    for number, kind in enumerate(calls, 1):
        yield Fault(number, kind, errno.EIO, is_lasting=False)
        if kind in _WRITES:
            yield Fault(number, kind, errno.ENOSPC, is_lasting=True)
        if kind in _NAMED:
            yield Fault(number, kind, errno.EACCES, is_lasting=False)
        if kind == "write":
            yield Fault(number, kind, 0, is_lasting=False)


def _harm(outcome: Outcome, old: str, new: str) -> str:
    """Return the failure: torn, lost, unhandled, or an empty string."""
    if outcome.status == 0:
        return "" if outcome.state == new else "torn" if outcome.state == "torn" else "lost"
    if outcome.status == _LEFT_OUT and outcome.state in (new, ACCOUNTED) and _TOLD.search(outcome.message):
        return ""
    if not is_old_or_new(outcome.state, old, new):
        return "torn" if outcome.state != "absent" else "lost"
    is_coded = outcome.status in _STATUSES and _CODE.search(outcome.message) and "Traceback" not in outcome.message
    return "" if is_coded else "unhandled"
