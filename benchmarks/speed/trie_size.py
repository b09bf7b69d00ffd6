"""Measure size, opening time and build cost of the packed trie, for the open knowledge base and for six million names."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.accuracy.kb_open import build_open_kb
from benchmarks.big_kb import Words, kb_of_release, kb_of_words
from benchmarks.decoding import BATCH, adapter_for, draw_sources, step_seconds
from benchmarks.models import model_folder
from onym.kb import KnowledgeBase
from onym.methods.generative.template import GENBIOEL
from onym.methods.generative.trie import Origin, PackedTrie, build_trie, open_trie
from onym.methods.generative.trie.artefact import TokenSource
from onym.models.tokens import Tokenizer

SIX_MILLION, QUICK, FEW = 6_000_000, 50_000, 100_000
_BUILD = """
import sys
from pathlib import Path
from benchmarks.speed.trie_size import build
build(Path(sys.argv[1]), Path(sys.argv[2]), is_quick=sys.argv[3] == "quick")
status = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help="output folder; a temporary folder by default")


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        base = Path(folder)
        kb = kb_of_words(base / "kb", QUICK) if options.quick else build_open_kb(base / "kb")
        start = time.perf_counter()
        build(base / "kb", base / "trie", is_quick=options.quick)
        build_s = time.perf_counter() - start
        origin = Origin.of(kb, tokenizer(is_quick=options.quick), GENBIOEL)
        trie = open_trie(base / "trie", origin)
        figures = {
            "open_names": len(trie.names),
            "bytes_per_node": round(trie.nbytes / trie.node_count, 2),
            "bare_bytes_per_node": round((trie.tokens.nbytes + trie.first.nbytes) / trie.node_count, 2),
            "open_ms": round(1000 * median(_seconds_to_open(base / "trie", origin) for _ in range(51)), 2),
            "build_s": round(build_s, 1),
        }
        return figures | _six_million(base, is_quick=options.quick)


def _six_million(base: Path, *, is_quick: bool) -> dict[str, object]:
    trie, seconds, peak_gb = big_trie(base, is_quick=is_quick)
    figures: dict[str, object] = {
        "six_million_mb": round(trie.nbytes / 1e6, 1),
        "six_million_build_s": round(seconds, 1),
        "six_million_peak_gb": round(peak_gb, 2),
    }
    return figures | {"step_ratio_6m_to_100k": round(_step_ratio(trie, base / "big-kb", is_quick=is_quick), 2)}


def _step_ratio(trie: PackedTrie, kb: Path, *, is_quick: bool) -> float:
    """Return the time of a step on the large trie, divided by that on a small part of it."""
    tokens = tokenizer(is_quick=is_quick)
    names = KnowledgeBase.open(kb).names
    few = [GENBIOEL.name_text(names[i]) for i in range(0, len(names), max(1, len(names) // FEW))]
    small = PackedTrie.build(tokens.ids_of(few), tokens.eos, tokens.vocabulary)
    adapter = adapter_for(tokens.vocabulary, is_quick=is_quick)
    sources = draw_sources(tokens.vocabulary, BATCH)
    pairs = [(step_seconds(trie, adapter, sources), step_seconds(small, adapter, sources)) for _ in range(3)]
    return median(large / little for large, little in pairs)


def tokenizer(*, is_quick: bool) -> TokenSource:
    return Words() if is_quick else Tokenizer.open(model_folder("bart-tokenizer"))


def build(kb: Path, dest: Path, *, is_quick: bool) -> None:
    build_trie(KnowledgeBase.open(kb), tokenizer(is_quick=is_quick), GENBIOEL, dest)


def big_trie(base: Path, *, is_quick: bool) -> tuple[PackedTrie, float, float]:
    """Build the trie of six million names in a separate process; return the trie, the seconds and the peak memory in GB."""
    kb = kb_of_words(base / "big-kb", QUICK) if is_quick else kb_of_release(base / "big-kb", SIX_MILLION)
    tokenizer(is_quick=is_quick)  # download the tokenizer before timing starts
    start = time.perf_counter()
    command = [sys.executable, "-c", _BUILD, str(base / "big-kb"), str(base / "big-trie"), "quick" if is_quick else "full"]
    # The child prints its peak memory. `ru_maxrss` would not do: a child inherits its parent's value until it calls exec.
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak_gb = time.perf_counter() - start, int(done.stdout) * 1024 / 1e9
    return (
        open_trie(base / "big-trie", Origin.of(kb, tokenizer(is_quick=is_quick), GENBIOEL)),
        seconds,
        peak_gb,
    )


def _seconds_to_open(folder: Path, origin: Origin) -> float:
    start = time.perf_counter()
    open_trie(folder, origin)
    return time.perf_counter() - start
