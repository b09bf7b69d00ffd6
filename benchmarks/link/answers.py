"""Compare the first answers of two versions: start, end, id, score and confidence of each mention."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""A document and its links, or one of these links."""
TOLERANCE = 1e-5
_NUMBERS = ("score", "confidence")


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_terms(path: Path, column: str) -> list[Row]:
    """Read a table of mapped terms (JSON lines), each as a document with one link."""
    rows = enumerate(read_rows(path), 1)
    return [{"document": str(number), "links": [_link_of_term(row, row[column])]} for number, row in rows]


def _link_of_term(row: Row, term: str) -> Row:
    numbers = {name: row[name] for name in _NUMBERS}
    return {"start": 0, "end": len(term), "text": term, "id": row["concept_id"], **numbers}


def compare_documents(now: list[Row], before: list[Row], tolerance: float = TOLERANCE) -> list[Row]:
    """Return a row for each mention with another answer: document, differing fields, and the answers of both versions."""
    changes = []
    for one, other in zip(now, before, strict=True):
        if one["document"] != other["document"]:
            msg = f"the versions read different documents: {one['document']} and {other['document']}"
            raise RuntimeError(msg)
        changes += [{"document": one["document"], **change} for change in _compare_links(one, other, tolerance)]
    return changes


def _compare_links(now: Row, before: Row, tolerance: float) -> Iterator[Row]:
    one, other = _by_span(now["links"]), _by_span(before["links"])
    for span in sorted(one.keys() | other.keys()):
        if fields := find_changed_fields(one.get(span), other.get(span), tolerance):
            yield {"fields": fields, "now": one.get(span), "before": other.get(span)}


def _by_span(links: list[Row]) -> dict[tuple[int, int, int], Row]:
    """Return links by start, end and their number among those with the same span."""
    found: dict[tuple[int, int, int], Row] = {}
    for link in links:
        span = link["start"], link["end"]
        found[*span, sum(key[:2] == span for key in found)] = link
    return found


def find_changed_fields(now: Row | None, before: Row | None, tolerance: float = TOLERANCE) -> list[str]:
    """Return the fields that differ between two links of the same span; start and end, if only one version has a link there.

    >>> find_changed_fields({"id": "a", "score": 0.5, "confidence": None}, {"id": "a", "score": 0.6, "confidence": None})
    ['score']
    """
    if now is None or before is None:
        return ["start", "end"]
    numbers = [name for name in _NUMBERS if not _is_close(now[name], before[name], tolerance)]
    return [*(["id"] if now["id"] != before["id"] else []), *numbers]


def _is_close(now: float | None, before: float | None, tolerance: float) -> bool:
    if now is None or before is None:
        return now is before
    return abs(now - before) <= tolerance
