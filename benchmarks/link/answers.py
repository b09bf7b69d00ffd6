"""Write documents for the workers of both versions, and compare their answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onym.types import Document

Report = dict[str, Any]
"""Figures that a worker prints."""
_SHOWN = 3  # documents


def require_two_versions(now: Report, then: Report) -> None:
    """Raise if both workers imported the same version of Onym."""
    if now["onym"] == then["onym"]:
        msg = f"both processes imported Onym from {now['onym']}"
        raise RuntimeError(msg)


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write documents as JSON lines, with the spans of their mentions but without gold ids."""
    path.write_text("".join(f"{json.dumps(_row(doc))}\n" for doc in documents), "utf-8")


def _row(doc: Document) -> dict[str, Any]:
    passages = [(passage.start, passage.end, passage.kind) for passage in doc.passages]
    mentions = [(mention.start, mention.end, mention.type) for mention in doc.mentions]
    return {"id": doc.id, "text": doc.text, "passages": passages, "mentions": mentions}


def count_changed_documents(now: Path, then: Path) -> int:
    """Count the documents whose answers differ; print the first ones with the differing fields to stderr."""
    rows = zip(now.read_text("utf-8").splitlines(), then.read_text("utf-8").splitlines(), strict=True)
    changed = [(json.loads(one), json.loads(other)) for one, other in rows if one != other]
    for one, other in changed[:_SHOWN]:
        print(f"{now.stem}: document {one['id']}: {', '.join(find_changed_fields(one, other))}", file=sys.stderr)
    return len(changed)


def find_changed_fields(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the fields that differ between two answers for a document.

    >>> find_changed_fields({"id": "1", "links": [{"tied": 0}]}, {"id": "1", "links": [{"tied": 1}]})
    ['tied']
    """
    own = [name for name in one if name != "links" and one[name] != other.get(name)]
    if len(one["links"]) != len(other["links"]):
        return [*own, "number of links"]
    pairs = list(zip(one["links"], other["links"], strict=True))
    return own + sorted({name for mine, yours in pairs for name in mine if mine[name] != yours.get(name)})
