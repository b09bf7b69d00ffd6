"""Commands whose file system fails once, at each call in turn: what they leave behind is whole, and what they say has a code.

commands        that write: build, link, index, train (its publishing)
calls_faulted   calls of the file system that were made to fail, each in a run of its own: every call, by each error that it can
                have (no space, input/output error, no permission), and each write cut short
torn            runs after which the output was neither the earlier one nor the new one, as a whole; it fails if there is one.
                A linking that cannot read its document leaves it out, tells of it, and ends with status 5
lost            runs after which neither was there, or the new one was not there although the command said so; it fails if there
                is one
unhandled       runs that ended with something else than a code; it fails if there is one
"""

from __future__ import annotations

import argparse
import errno
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.robustness.disks.writers import ACCOUNTED, COMMANDS, LIST, NOTHING, Outcome, Writer, judge_commands, state_of

_WRITES = ("create", "write", "wsync", "mkdir", "rename")
_NAMED = ("create", "open", "mkdir", "rename", "unlink", "chmod")
_CODE = re.compile(r"\[[a-z]+(-[a-z]+)+\]")
_STATUSES = (2, 3, 4, 5, 6)
_LEFT_OUT = 5  # a file that could not be read: the run goes on without it, and tells
_QUICK = 12  # faults of each command


class Fault(NamedTuple):
    call: int
    kind: str
    error: int
    is_lasting: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--command", choices=sorted(COMMANDS), help="only this one")
    parser.add_argument(
        "--faults", type=int, help=f"so many of each command, evenly spread; all by default, {_QUICK} with --quick"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    names = [options.command] if options.command else list(COMMANDS)
    counts = judge_commands(
        names, lambda worker: _judge_calls(worker, limit=options.faults or (_QUICK if options.quick else None))
    )
    figures = {"commands": len(names), **{key: counts[key] for key in ("calls_faulted", "torn", "lost", "unhandled")}}
    if figures["torn"] or figures["lost"] or figures["unhandled"]:
        sys.exit(f"a fault did harm: {figures}")
    return dict(figures)


def _judge_calls(worker: Writer, limit: int | None) -> Counter[str]:
    """Let each call fail in turn, or `limit` of them, evenly spread."""
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
    """Yield each call with each error that it can have."""
    for number, kind in enumerate(calls, 1):
        yield Fault(number, kind, errno.EIO, is_lasting=False)
        if kind in _WRITES:
            yield Fault(number, kind, errno.ENOSPC, is_lasting=True)
        if kind in _NAMED:
            yield Fault(number, kind, errno.EACCES, is_lasting=False)
        if kind == "write":
            yield Fault(number, kind, 0, is_lasting=False)


def _harm(outcome: Outcome, old: str, new: str) -> str:
    """Return what must not be: nothing, torn, lost or unhandled."""
    if outcome.status == 0:
        return "" if outcome.state == new else "torn" if outcome.state == "torn" else "lost"
    if outcome.status == _LEFT_OUT and outcome.state in (new, ACCOUNTED) and "problems: 1" in outcome.message:
        return ""
    if outcome.state not in (old, new):
        return "torn" if outcome.state != "absent" else "lost"
    is_coded = outcome.status in _STATUSES and _CODE.search(outcome.message) and "Traceback" not in outcome.message
    return "" if is_coded else "unhandled"
