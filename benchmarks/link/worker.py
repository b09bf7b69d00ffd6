"""Link documents with the Onym of this interpreter.

    python worker.py PIPELINE DOCUMENTS ANSWERS [single]

Writes one line of JSON per document to ANSWERS, with the first answer of each mention, and prints the CPU seconds of linking
(without opening the pipeline and the first documents) and the peak memory. With `single`, documents are passed one at a time.
Runs with different versions of Onym, so it uses few names of the package.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import onym

_WARM_UP = 20  # documents


def link(name: str, documents: str, answers: str, *, is_single: bool) -> None:
    docs = [item for item in onym.read_corpus(documents) if isinstance(item, onym.Document)]
    pipeline = onym.load(name)
    list(pipeline.link_many(docs[:_WARM_UP]))
    began = time.process_time()
    batches = [[doc] for doc in docs] if is_single else [docs]
    rows = [_row(linked) for batch in batches for linked in pipeline.link_many(batch)]
    figures = {"onym": onym.__file__, "documents_per_s": len(docs) / (time.process_time() - began), "memory_mb": _peak_mb()}
    Path(answers).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    print(json.dumps(figures))


def _row(linked: Any) -> dict[str, Any]:
    return {"document": linked.document.id, "links": [_first_answer(link) for link in linked.links]}


def _first_answer(link: Any) -> dict[str, Any]:
    """Return the fields that are compared, and the text of the mention for reading the differences."""
    return {
        "start": link.mention.start,
        "end": link.mention.end,
        "text": link.mention.surface,
        "id": link.concept_id,
        "score": link.candidates[0].score if link.candidates else None,
        "confidence": link.confidence,
    }


def _peak_mb() -> float:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()  # not getrusage, which counts the parent before exec
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    link(*sys.argv[1:4], is_single=sys.argv[4:] == ["single"])
