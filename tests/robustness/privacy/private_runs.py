"""A private run of `onym batch`, to find written files that other users can read.

The umask is 0, so that a file is private only if Onym makes it so. Workers are killed while they write, which leaves temp files
and notes about quarantined shards; then the run is completed and exported in every format.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import datetime, sys
from pathlib import Path
from unittest.mock import patch

from onym.batch import compact, export, plan_batch, run_batch
from onym.batch.engines import LocalEngine
from onym.outputs.base import ExportOptions

folder, pipeline = Path(sys.argv[1]), sys.argv[2]
out = folder / "runs" / "private"
plan_batch([folder / "notes"], pipeline, out, private=True, shard_bytes=1)
killed = "import os, pathlib, signal; pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
worker = [sys.executable, "-c", f"{killed}\\nfrom onym.batch.worker import main; main()"]
with patch("onym.batch.run._clean"):
    run_batch(out, engine=LocalEngine(1, worker))
assert list((out / "shards").glob(".*")) and list((out / "quarantine").iterdir())
(folder / "killed").mkdir(0o700)
out.rename(folder / "killed" / "run")
plan_batch([folder / "notes"], pipeline, out, private=True, shard_bytes=1)
run_batch(out, workers=1)
options = ExportOptions(nlp_date=datetime.date(2026, 1, 31), note_keys=folder / "exports" / "keys.csv")
export(out, folder / "exports" / "note_nlp.csv", options=options)
for name in ("links.parquet", "links.csv", "links.tsv", "links.jsonl", "links.xlsx", "notes.fhir.ndjson"):
    export(out, folder / "exports" / name)
for format in ("predictions", "html", "pubtator", "brat", "jsonl"):
    export(out, folder / "exports" / format, format)
compact(out, folder / "exports" / "current.parquet")
"""
EXPORTS = 14
"""Files and folders that a run is exported to."""


def open_to_others(folder: Path, pipeline: Path) -> list[str]:
    """Do a private run in a folder, and return the files and folders that other users may read, list or change."""
    notes = folder / "notes"
    notes.mkdir(mode=0o700)
    (notes / "1.txt").write_text("High fever.")
    words = [sys.executable, "-c", _SCRIPT, str(folder), str(pipeline)]
    done = subprocess.run(words, umask=0, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a private run failed: {done.stderr[-2000:]}")
    written = [path for name in ("runs", "killed", "exports") for path in (folder / name, *(folder / name).rglob("*"))]
    return [str(path.relative_to(folder)) for path in written if path.stat().st_mode & 0o077]
