"""Build pipelines and link documents with the Onym that is installed for this interpreter.

    python worker.py build TASKS              build a knowledge base or a pipeline for each JSON line
    python worker.py link PIPELINE DOCUMENTS WARM_UP ANSWERS [PRECISION]

`link` reads documents as JSON lines, writes the links of each document as a JSON line to ANSWERS, and prints the time for all
but the first WARM_UP documents. This file runs with different versions of Onym, so it imports only stable names of `onym` and
`onym.types`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import onym
from onym.types import Document, Mention, Passage


def build(tasks: str) -> None:
    for line in Path(tasks).read_text("utf-8").splitlines():
        task: dict[str, Any] = json.loads(line)
        if "recipe" in task:
            onym.build_kb(onym.Recipe.from_toml(Path(task["recipe"])), Path(task["folder"]), root=Path(task["root"]))
        else:
            linker = onym.linker_config(task["linker"], **task.get("options", {}))
            more = task.get("pipeline", {})
            onym.build_pipeline(task["kb"], Path(task["folder"]), linker=linker, detector=task.get("detector"), **more)


def link(pipeline: str, documents: str, warm_up: int, answers: str, precision: float | None = None) -> None:
    docs = [_document(json.loads(line)) for line in Path(documents).read_text("utf-8").splitlines()]
    found = onym.load(pipeline)
    found = found if precision is None else found.with_precision(precision)
    linked = list(found.link_many(docs[:warm_up]))
    wall, cpu = time.perf_counter(), time.process_time()
    linked += found.link_many(docs[warm_up:])
    figures = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "onym": onym.__file__}
    Path(answers).write_text("".join(f"{json.dumps(_answer(each))}\n" for each in linked), "utf-8")
    print(json.dumps({**figures, "mentions": sum(len(each.links) for each in linked)}))


def _document(row: dict[str, Any]) -> Document:
    mentions = tuple(Mention(start, end, row["text"][start:end], type=kind) for start, end, kind in row.get("mentions", ()))
    return Document(row["id"], row["text"], mentions, tuple(Passage(*each) for each in row["passages"]))


def _answer(linked: Any) -> dict[str, Any]:
    problems = [(each.code, each.where) for each in linked.problems]
    return {"id": linked.document.id, "links": [_link(each) for each in linked.links], "problems": problems}


def _link(link: Any) -> dict[str, Any]:
    """Return all fields of a link; JSON preserves floats exactly."""
    mention = link.mention
    return {
        "span": [mention.start, mention.end, mention.surface, mention.type, mention.parts],
        "concept_id": link.concept_id,
        "candidates": [[c.concept_id, c.name, c.preferred_name, c.type] for c in link.candidates],
        "scores": [c.score for c in link.candidates],
        "detection_score": link.detection_score,
        "confidence": link.confidence,
        "nil_reason": link.nil_reason,
        "tied": link.tied,
        "stage": link.stage,
        "assertion": link.assertion,
    }


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(sys.argv[2])
    else:
        link(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], *map(float, sys.argv[6:]))
