"""Writes documents in the formats that Onym only reads, for tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from onym.types import Document

ENDINGS = {"medline": ".nbib", "ris": ".ris", "table": ".csv", "records": ".json"}
"""The formats, and their file name extensions."""


def write_citations(name: str, docs: Sequence[Document]) -> bytes:
    """Write documents of a title and an abstract, which the first full stop separates. Line breaks become spaces."""
    rows = [(doc.id, *_title_and_abstract(doc.text)) for doc in docs]
    if name == "medline":
        numbered = ((doc_id if doc_id.isdecimal() else str(n), *texts) for n, (doc_id, *texts) in enumerate(rows, 1))
        return "".join(
            f"\nPMID- {pmid}\nOWN - NLM\nTI  - {title}\nAB  - {text}\nAD  - London.\n" for pmid, title, text in numbered
        ).encode()
    if name == "ris":
        return "".join(f"TY  - JOUR\nAN  - {key}\nTI  - {title}\nAB  - {text}\nER  - \n" for key, title, text in rows).encode()
    if name == "records":
        return json.dumps([dict(zip(("id", "title", "abstract"), row, strict=True)) for row in rows]).encode()
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("id", "title", "abstract"), *rows])
    return table.getvalue().encode()


def _title_and_abstract(text: str) -> tuple[str, str]:
    title, dot, abstract = " ".join(text.split()).partition(". ")
    return title + dot.strip(), abstract
