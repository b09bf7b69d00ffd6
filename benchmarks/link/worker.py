"""Link documents with whatever Onym this interpreter has, and print how long it took and a digest of each document's links.

`python worker.py KB DOCUMENTS WARM_UP`: the documents are lines of JSON, and the first WARM_UP of them are not timed. It is run
by interpreters with different versions of Onym, so it uses nothing but what all of them have.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import onym
from onym.pipeline import build_pipeline
from onym.types import Document, Passage


def main(kb: str, documents: str, warm_up: int) -> None:
    docs = [_document(json.loads(line)) for line in Path(documents).read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        build_pipeline(kb, Path(folder) / "pipeline")
        pipeline = onym.load(Path(folder) / "pipeline")
    link_many: Any = getattr(pipeline, "link_many", None) or getattr(pipeline, "iter_linked", None)
    linked = list(link_many(docs[:warm_up]))
    wall, cpu = time.perf_counter(), time.process_time()
    linked += link_many(docs[warm_up:])
    figures = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "onym": onym.__file__}
    print(json.dumps({**figures, "mentions": sum(len(each.links) for each in linked), "digests": list(map(_digest, linked))}))


def _document(row: dict[str, Any]) -> Document:
    return Document(row["id"], row["text"], passages=tuple(Passage(*each) for each in row["passages"]))


def _digest(linked: Any) -> str:
    links = [
        (link.mention.start, link.mention.end, [(c.concept_id, c.name, c.score) for c in link.candidates])
        for link in linked.links
    ]
    return hashlib.sha256(repr((linked.document.id, links)).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
