"""Run batch plans in a subprocess and measure their CPU and memory; make PubMed test files."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.report import data_folder
from onym.batch.ledger import Ledger, status
from onym.store.cache import cache_folder

_DRIVER = """
import json, resource, sys, time
from onym.batch.run import run_batch
began = time.monotonic()
run_batch(sys.argv[1], workers=int(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, time.monotonic() - began]))
"""


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of all workers, peak memory of one worker, and wall seconds."""

    cpu_s: float
    peak_gb: float
    wall_s: float


def measure_run(out: Path, workers: int) -> tuple[Ledger, Used]:
    """Run a plan to completion; exit if shards failed."""
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(out), str(workers)], stdout=subprocess.PIPE, text=True, check=True
    )
    ledger = status(out)
    if not ledger.is_done:
        sys.exit(f"shards were quarantined: {ledger.quarantined}")
    return ledger, Used(*json.loads(done.stdout.splitlines()[-1]))


# Real PubMed files, excerpts, and update files made of their citations.

OLD, MODERN = "pubmed20n0014.xml.gz", "pubmed21n1298.xml.gz"
_END = b"</PubmedArticle>"
_PMID = re.compile(rb'<PMID Version="\d+">\d+</PMID>')
_HEAD, _FOOT = b'<?xml version="1.0" encoding="utf-8"?><PubmedArticleSet>', b"</PubmedArticleSet>"


def real_files() -> list[Path]:
    """Return an early baseline file and a recent update file, which is downloaded once."""
    modern = cache_folder() / "pubmed" / MODERN
    if not modern.exists():
        subprocess.run(["bash", str(data_folder() / "pubmed" / "get"), str(modern.parent)], check=True)
    return [data_folder() / "pubmed" / OLD, modern]


def cut(path: Path, dest: Path, citations: int) -> Path:
    """Write the first citations and the deletions of a file."""
    text = gzip.decompress(path.read_bytes())
    parts = text.split(_END, citations)
    tail = text[text.rindex(_END) + len(_END) :]
    found = dest / path.name.removesuffix(".gz")
    found.write_bytes(_END.join(parts[:citations]) + _END + tail)
    return found


def citations_of(path: Path, count: int) -> list[bytes]:
    """Return the XML elements of citations."""
    text = gzip.decompress(path.read_bytes())
    found = re.finditer(rb"<PubmedArticle>.*?</PubmedArticle>", text, re.DOTALL)
    return [each[0] for each in islice(found, count)]


def write_citations(dest: Path, citations: Sequence[bytes]) -> Path:
    """Write a file of citations."""
    dest.write_bytes(_HEAD + b"".join(citations) + _FOOT)
    return dest


def update_files(dest: Path, citations: list[bytes], files: int, seed: int = 13) -> dict[str, str]:
    """Write update files, and return the expected final state: each current document with the file that contains it.

    Files contain new citations, later versions, deletions, and re-added deleted citations. They are written in a different
    order from their names.
    """
    rng = random.Random(seed)
    dest.mkdir()
    ids = [f"{90_000_000 + number}" for number in range(len(citations))]
    made = [_draw_articles(rng, len(ids)) for _ in range(files)]
    for number in rng.sample(range(files), files):
        articles, deleted = made[number]
        body = b"".join(_PMID.sub(_element(ids[row], version), citations[row], count=1) for row, version in articles)
        gone = b"".join(_element(ids[row], version) for row, version in deleted)
        text = _HEAD + body + (b"<DeleteCitation>" + gone + b"</DeleteCitation>" if gone else b"") + _FOOT
        (dest / f"pubmed26n{number:04}.xml.gz").write_bytes(gzip.compress(text, 1))
    current: dict[str, str] = {}
    for number, (articles, deleted) in enumerate(made):
        current |= {_name(ids[row], version): f"pubmed26n{number:04}.xml.gz" for row, version in articles}
        for row, version in deleted:
            current.pop(_name(ids[row], version), None)
    return current


def _draw_articles(rng: random.Random, count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    articles = [(rng.randrange(count), rng.choice((1, 1, 1, 2, 3))) for _ in range(count // 8)]
    return articles, list(_draw_deletions(rng, count))


def _draw_deletions(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    for _ in range(count // 40):
        yield rng.randrange(count), rng.choice((1, 1, 2))


def _element(pmid: str, version: int) -> bytes:
    return f'<PMID Version="{version}">{pmid}</PMID>'.encode()


def _name(pmid: str, version: int) -> str:
    return pmid if version == 1 else f"{pmid}.{version}"
