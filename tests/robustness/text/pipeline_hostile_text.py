"""Link texts with difficult Unicode, and check that the offsets of all mentions are right.

documents      generated texts: emoji with joiners, combining marks, CRLF and lone carriage returns, zero-width characters,
               right-to-left text, characters beyond the BMP, lone surrogates, letters whose lower case is longer, thousands of
               unclosed brackets; up to 200,000 characters
mentions       mentions found
planted        names inserted between two spaces; `missed` are those outside all mentions: some texts happen to define such a
               name as an abbreviation, as in `Na (Na+/K+ ATPase)`
offset_errors  mentions whose surface is not `text[start:end]` or not a name, and texts that changed
crashes        texts that raised an exception or gave a problem
worst_s        longest CPU time for one text, in seconds
peak_gb        peak memory of the process, in GB
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import own_bytes

from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline
from onym.types import Document

FULL, QUICK = 1_000, 50
MAX_LENGTH = 200_000
NAMES = (
    "fever", "heart attack", "myocardial infarction", "infarction", "diabetes mellitus", "type 2 diabetes", "β-actin",
    "interleukin-2", "naïve T cell", "Sjögren syndrome", "poly(ADP-ribose)", "Na+/K+ ATPase", "5-HT", "疾病", "сердце",
    "ΣΑΣ syndrome", "p53", "L-dopa", "COVID-19", "İzmir fever",
)  # fmt: skip
PLAIN = ("the", "of", "was", "and", "patients", "with", "(", ")", "[", "]", ".", ",", ";", "-", "/", "0.5", "mg", "ALL", "i.e.")
ODD = (
    "\r\n", "\r", "\n\n", "\u2028", "\u0085", "\u00a0", "\u2009", "\t", "\x0b", "\x00", "\x1f", "\u200b", "\u200d", "\u2060",
    "\ufeff", "\u00ad", "\u0301", "e\u0301\u0323", "\u0327\u0301", "\u202e", "\u202c", "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u0631\u0636", "\U0001f9ec", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f3f4\U000e0067\U000e007f",
    "\U00020000", "\U0001d49c", "\ufb01brosis", "\u0130", "\u00df", "\u1e9e", "\u03a3", "\u2167", "\u00bd", "\uff11",
    "\ud83d", "\udc00", "\uffff", "\U0010ffff", "\u1100\u1161\u11a8", "\u0e33", "\u0f71\u0f72",
)  # fmt: skip
RUNS = ("(", "[", ")", " ", ".", "-", "\u0301", "\U0001f9ec", "a", "fever ", "(MI) ", "heart ", "A. ", "\r\n")


@dataclass(frozen=True)
class Made:
    """A text, and the spans of the names inserted between two spaces."""

    text: str
    planted: tuple[tuple[int, int], ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detector", default="dictionary", help="name of the detector")
    parser.add_argument("--documents", type=int, default=0, help="number of texts (default: 1,000, or 50 with --quick)")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.documents or (QUICK if options.quick else FULL)
    with tempfile.TemporaryDirectory() as folder:
        pipeline = build_pipeline(make_kb(Path(folder)), Path(folder) / "pipeline", detector=options.detector)
        figures: Counter[str] = Counter(
            dict.fromkeys(("documents", "mentions", "planted", "missed", "offset_errors", "crashes"), 0)
        )
        worst = 0.0
        for number in range(count):
            made, before = make(number, options.seed), time.process_time()
            figures.update(judge_text(pipeline, made, str(number)))
            worst = max(worst, time.process_time() - before)
    return {**figures, "worst_s": round(worst, 2), "peak_gb": round(own_bytes("VmHWM") / 1e9, 2)}


def make_kb(folder: Path, prefix: str = "made") -> Path:
    """Build a knowledge base of names that are hard to find; its ids start with a prefix."""
    rows = "".join(f"{prefix}:{number}\t{name}\n" for number, name in enumerate(NAMES))
    (folder / "made.tsv").write_text(f"id\tname\n{rows}", encoding="utf-8")
    build_kb(Recipe.of({"sources": [{"path": "made.tsv"}]}), folder / "kb", root=folder)
    return folder / "kb"


def make(number: int, seed: int = 0) -> Made:
    """Make a text: every 50th has the maximum length, and every 25th mostly repeats one unit."""
    rng = random.Random(f"{seed} {number}")
    length = MAX_LENGTH if number % 50 == 0 else int(10 ** rng.uniform(0, 4.3))
    pieces: list[str] = []
    planted: list[tuple[int, int]] = []
    size = 0
    run = rng.choice(RUNS) if number % 25 == 0 else ""
    while size < length:
        kind = rng.random()
        if run and kind < 0.9:
            piece = run * rng.randrange(1, 2_000)
        elif kind < 0.3:
            name = rng.choice(NAMES)
            piece = f" {name} "
            planted.append((size + 1, size + 1 + len(name)))
        elif kind < 0.7:
            piece = rng.choice(PLAIN) + rng.choice((" ", "", " ", "\r\n"))
        elif kind < 0.95:
            piece = rng.choice(ODD)
        else:
            name = rng.choice(NAMES)
            cut = rng.randrange(len(name) + 1)
            piece = name[:cut] + rng.choice(ODD) + name[cut:]
        pieces.append(piece)
        size += len(piece)
    text = "".join(pieces)[:length]
    return Made(text, tuple(span for span in planted if span[1] < length))


def judge_text(pipeline: Pipeline, made: Made, document_id: str) -> Counter[str]:
    """Link one text, and count the errors in the result."""
    figures = Counter(documents=1, planted=len(made.planted))
    try:
        linked = pipeline.link(Document(document_id, made.text))
    except Exception:  # any exception counts as a crash
        return figures + Counter(crashes=1)
    # An internal error is also a crash; it is reported as a problem of the document.
    figures["crashes"] = int(not linked.is_complete)
    figures["mentions"] = len(linked.links)
    figures["offset_errors"] = int(linked.document.text != made.text)
    for link in linked.links:
        surface = made.text[link.mention.start : link.mention.end]
        figures["offset_errors"] += surface != link.mention.surface or not link.candidates
    covered = sorted((link.mention.start, link.mention.end) for link in linked.links)
    figures["missed"] = count_missed(made.planted, covered)
    return figures


def count_missed(planted: tuple[tuple[int, int], ...], covered: list[tuple[int, int]]) -> int:
    """Return how many planted spans no covered span contains. Both lists are sorted, and covered spans are disjoint."""
    count = span = 0
    for start, end in planted:
        while span < len(covered) and covered[span][1] < end:
            span += 1
        count += not (span < len(covered) and covered[span][0] <= start)
    return count
