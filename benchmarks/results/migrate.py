"""Bring kept results from format 1 of predictions to format 2, once. The lines of answers stay byte for byte.

    python -m benchmarks.results.migrate

Headers and rows get the words that the code now uses; `answers.json` beside them keeps a digest of every file's answers.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "results"
ANSWERS = "answers.json"
_KEYS = {
    "benchmark": "dataset",
    "expand": "expand_abbreviations",
    "remembered": "cache_size",
    "share": "average_repeated_mentions",
    "longest": "max_span_tokens",
    "wide": "dim",
    "shortest": "min_length",
    "as_written": "case_sensitive_below",
    "reachable": "in_kb",
}
_VALUES = (
    ("+sure", "+threshold"),
    (", above threshold", ", above threshold"),
    ("target-shortest", "target-short-name"),
    ("ncbi-shortest", "ncbi-short-name"),
)


def main() -> int:
    for folder in sorted(path.parent for path in FOLDER.glob("*/rows.json")):
        digests = {}
        for path in sorted(folder.glob("*.jsonl.gz")):
            head, answers = gzip.decompress(path.read_bytes()).split(b"\n", 1)
            name = renamed(path.name)
            digests[name] = hashlib.sha256(answers).hexdigest()
            path.unlink()
            (folder / name).write_bytes(_packed(migrated_head(json.loads(head)), answers))
        rows = [migrated(row) for row in json.loads((folder / "rows.json").read_text("utf-8"))]
        _write(folder / "rows.json", sorted(rows, key=lambda row: str(row["row"])))
        _write(folder / ANSWERS, digests)
    return 0


def migrated_head(head: dict[str, Any]) -> dict[str, Any]:
    """Return the first line of a file in format 2.

    >>> migrated_head({"kind": "predictions", "format": 1, "source": {"linker": {"expand": True}}})
    {'kind': 'predictions', 'format': 2, 'source': {'linker': {'expand_abbreviations': True}}}
    """
    if head["format"] != 1:
        sys.exit("the results are in format 2 already")
    return {**migrated(head), "format": 2}


def migrated(value: Any) -> Any:
    """Return values with keys and words renamed."""
    if isinstance(value, dict):
        return {_KEYS.get(key, key): migrated(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [migrated(inner) for inner in value]
    return renamed(value) if isinstance(value, str) else value


def renamed(text: str) -> str:
    """Return a row's key, a file's name or another value with words renamed.

    >>> renamed("bc5cdr.given+exact.jsonl.gz"), renamed("given"), renamed("dense, above threshold")
    ('bc5cdr.gold+exact.jsonl.gz', 'gold', 'dense, above threshold')
    """
    for old, new in _VALUES:
        text = text.replace(old, new)
    return "gold" if text == "given" else text.replace("given+", "gold+").replace('"given"', '"gold"')


def _packed(head: dict[str, Any], answers: bytes) -> bytes:
    line = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    return gzip.compress(line + b"\n" + answers, 9, mtime=0)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
