"""Check exports and batch runs: leftovers of rejected runs, private runs, and large files."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.robustness.stumbles.rows import Scene, stumble


@stumble("onym link notes -o note_nlp.csv --nlp-date 2026-01-31")
def refused_omop_run_does_not_block_the_next(scene: Scene) -> str:
    notes = scene.folder / "notes"
    notes.mkdir()
    (notes / "ward7.txt").write_text("Type 2 diabetes.")
    (notes / "scan.bin").write_bytes(b"\xff\xfe")
    words = ("link", "notes", "-o", "note_nlp.csv", "--nlp-date", "2026-01-31")
    assert scene.onym(*words).status == 3
    left = [path.name for path in scene.folder.iterdir() if path != notes]
    assert not left, f"the rejected run left {left}"
    assert scene.onym(*words, "--note-keys", "keys.csv").status == 5
    assert (scene.folder / "note_nlp.csv").exists()
    return "the rejected run leaves no files, and the next run writes note_nlp.csv"


@stumble("onym batch plan notes -o run --private")
def private_run_and_its_exports_are_closed_to_others(scene: Scene) -> str:
    notes = scene.folder / "notes"
    notes.mkdir()
    (notes / "patient Smith.txt").write_text("Type 2 diabetes.")
    for words in ("plan notes -o run --private", "run run --workers 1", "export run -o exports/links.csv"):
        assert scene.onym("batch", *words.split()).status == 0
    written = [path for name in ("run", "exports") for path in (scene.folder / name, *(scene.folder / name).rglob("*"))]
    left_open = [path.name for path in written if path.stat().st_mode & 0o077]
    assert not left_open, f"other users may read {left_open}"
    return f"{len(written)} files and folders, including plan.json and the export, can be read only by their owner"


_PLAN = ("batch", "plan", "pubmed.xml.gz", "-o", "run", "--shard-mb", "1", "--shard-documents", "50", "--json")


@stumble("onym batch plan pubmed.xml.gz -o run")
def one_large_file_is_shared_by_all_workers(scene: Scene) -> str:
    _write_citations(scene.folder / "pubmed.xml.gz", 200)
    shards = json.loads(scene.onym(*_PLAN).stdout)["shards"]
    assert shards == 4, f"the file is planned as {shards} shards"
    counts = json.loads(scene.onym("batch", "run", "run", "--workers", "2", "--json").stdout)
    assert (counts["done"], counts["documents"], counts["problems"]) == (4, 200, {})
    return "a compressed file of 200 documents is split into 4 shards, and each document is linked once"


@stumble("onym batch run run")
def progress_of_a_run_counts_documents(scene: Scene) -> str:
    _write_citations(scene.folder / "pubmed.xml.gz", 200)
    assert scene.onym(*_PLAN).status == 0
    shown = _stderr_on_a_terminal(scene.folder, "batch", "run", "run", "--workers", "1")
    time = "[0-9]:[0-9]{2}:[0-9]{2}"
    found = re.search(rf"documents linked, [1-4] of 4 shards done.*?([0-9]+)/\? *([0-9.,]+/s) {time} ({time})", shown)
    assert found, shown[-300:]
    return f"the bar shows documents ({found[1]}), their rate ({found[2]}), the time left ({found[3]}), and shards"


def _write_citations(path: Path, count: int) -> None:
    """Write citations to a compressed file that is large for its few documents."""
    articles = (
        f"<PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article><ArticleTitle>Type 2 diabetes.</ArticleTitle>"
        f"</Article></MedlineCitation><PubmedData>{'x' * 1000}</PubmedData></PubmedArticle>"
        for number in range(count)
    )
    data = f"<?xml version='1.0'?><PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>".encode()
    path.write_bytes(gzip.compress(data, 0))


def _stderr_on_a_terminal(folder: Path, *arguments: str) -> str:
    terminal, other_end = pty.openpty()
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "onym", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=other_end):
        os.close(other_end)
        shown = b""
        with suppress(OSError):  # os.read raises this when the process has ended
            while data := os.read(terminal, 1 << 16):
                shown += data
    os.close(terminal)
    return shown.decode()
