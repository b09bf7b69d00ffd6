"""Measure the memory of four processes that share a mapped trie of six million names, against one process.

Memory is the growth of the proportional set size (PSS) by opening and walking the trie: a page mapped by four processes counts
a quarter for each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.speed.trie_size import big_trie

_WALK = """
import sys
import numpy as np
from onym.store.arrays import Ragged
from onym.methods.generative.trie import PackedTrie, open_trie

def walk(trie, seed, rounds):
    rng = np.random.default_rng(seed)
    met = 0
    for _ in range(rounds):
        nodes = np.zeros(20_000, dtype=np.int64)
        while len(nodes):
            met += int(trie.high[nodes].sum() - trie.low[nodes].sum()) + int(trie.height[nodes].max())
            widths = trie.first[nodes + 1].astype(np.int64) - trie.first[nodes]
            children = trie.first[nodes] + (rng.random(len(nodes)) * widths).astype(np.int64)
            children = trie.step(nodes, trie.tokens[children])
            ends = children[trie.is_leaf(children)]
            met += int(trie.names[trie.low[ends]].sum())
            nodes = children[~trie.is_leaf(children)]
    return met

small = Ragged(np.arange(1001), np.arange(1000) % 90 + 3)
walk(PackedTrie.build(small, 2, 100), 0, 1)
print("ready", flush=True)
sys.stdin.readline()
trie = open_trie(sys.argv[1])
walk(trie, int(sys.argv[2]), int(sys.argv[3]))
print("walked", flush=True)
sys.stdin.readline()
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help="output folder; a temporary folder by default")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        trie, _, _ = big_trie(Path(folder), is_quick=options.quick)
        rounds = 5 if options.quick else 50
        one, four = (_measure_growth_mb(Path(folder) / "big-trie", count, rounds) for count in (1, 4))
        return {
            "trie_mb": round(trie.nbytes / 1e6, 1),
            "one_process_mb": round(one, 1),
            "four_processes_mb": round(four, 1),
            "ratio_4_processes": round(four / one, 3),
        }


def _measure_growth_mb(trie: Path, count: int, rounds: int) -> float:
    """Return the total memory growth of `count` processes that walk the trie."""
    with ExitStack() as stack:
        walkers = [stack.enter_context(_walker(trie, seed, rounds)) for seed in range(count)]
        _say(walkers, "ready")
        before = sum(_pss_mb(walker.pid) for walker in walkers)
        for walker in walkers:
            walker.stdin.write("walk\n")  # type: ignore[union-attr]
            walker.stdin.flush()  # type: ignore[union-attr]
        _say(walkers, "walked")
        return sum(_pss_mb(walker.pid) for walker in walkers) - before


def _walker(trie: Path, seed: int, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WALK, str(trie), str(seed), str(rounds)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _say(walkers: list[subprocess.Popen[str]], expected: str) -> None:
    for walker in walkers:
        said = walker.stdout.readline().strip()  # type: ignore[union-attr]
        if said != expected:
            sys.exit(f"a process said {said!r} instead of {expected!r}")


def _pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
