"""Simulate power cuts: record the writes of commands, replay every prefix, and check that each state can be recovered.

states          possible disk contents after a power cut, which may happen after any write of the commands that build, link,
                index, migrate, make a desk or an audit, and publish a trained model. Unsynced data is kept, dropped, truncated
                or emptied, and unsynced file names are kept or dropped
unrecoverable   states in which neither the earlier nor the new output can be opened completely, or in which running
                the same command again fails; must be 0
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections import Counter

from tests.robustness.disks.replay import Tree, digest_of, iter_states, read_record, write_tree
from tests.robustness.disks.writers import COMMANDS, NOTHING, Writer, is_old_or_new, judge_commands, state_of

_QUICK = 8  # states checked per command with --quick
_OUTPUTS = {
    "train": "model", "index": "index", "build": "kb", "link": "links.jsonl", "migrate": "migrated.txt",
    "review": "desk.sqlite", "audit": "desk.sqlite",
}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--command", choices=sorted(_OUTPUTS), help="run only this command")
    parser.add_argument("--seed", type=int, default=13, help="random seed for the states that --quick selects")


def run(options: argparse.Namespace) -> dict[str, object]:
    names = [options.command] if options.command else list(_OUTPUTS)
    counts = judge_commands(names, lambda worker: _judge_states(worker, random.Random(options.seed) if options.quick else None))
    figures = {key: counts[key] for key in ("states", "unrecoverable")}
    if figures["unrecoverable"]:
        sys.exit(f"unrecoverable must be 0: {figures}")
    return dict(figures)


def _judge_states(worker: Writer, rng: random.Random | None) -> Counter[str]:
    """Recover from every state, or from a random sample; equal states are checked once."""
    new = worker.run(NOTHING).state
    old = state_of(COMMANDS[worker.name], worker.folder / "base")
    writes = read_record(worker.folder / "record", worker.folder / "work")
    states = list(iter_states(worker.folder / "base", writes))
    _require_faithful(states[-5][2], worker)
    known: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for number, policy, tree in rng.sample(states, _QUICK) if rng else states:
        key = digest_of(tree)
        if key not in known:
            known[key] = _problem(worker, tree, old, new)
        counts["states"] += 1
        if known[key]:
            counts["unrecoverable"] += 1
            last = writes[number - 1] if number else None
            where = f"{last.call} {last.path} {last.second}" if last else "the beginning"
            print(f"{worker.name}, {policy} after {where}: {known[key]}", file=sys.stderr)
    return counts


def _require_faithful(replayed: Tree, worker: Writer) -> None:
    """Check that the record of writes is complete: replaying all of them gives the files that the command wrote."""
    output = worker.folder / "work" / _OUTPUTS[worker.name]
    paths = [path for path in output.rglob("*") if path.is_file()] if output.is_dir() else [output]
    for path in paths:
        if replayed.get(path.relative_to(worker.folder / "work").as_posix()) != path.read_bytes():
            raise RuntimeError(f"the record of {worker.name} lacks some writes to {path.name}")


def _problem(worker: Writer, tree: Tree, old: str, new: str) -> str:
    """Return the error of recovering from a state, or an empty string."""
    source = worker.folder / "state"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    write_tree(tree, source)
    found = state_of(COMMANDS[worker.name], source)
    if not is_old_or_new(found, old, new):
        return f"the output is {found}"
    again = worker.run(NOTHING, source="state")
    if again.status == 0 and again.state == new:
        return ""
    # The new output was already published, so publishing it again is rejected.
    if found == new == again.state and "[output-exists]" in again.message:
        return ""
    last = again.message.strip().splitlines()[-1:] or [""]
    return f"run again: status {again.status}, {again.state}, {last[0]}"
