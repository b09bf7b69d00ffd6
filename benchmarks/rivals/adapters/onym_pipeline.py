"""Onym itself, measured like the others: the starter, or a dictionary with a linker over a knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve
from onym.kb import KnowledgeBase
from onym.methods import detector_config, linker_config, open_detector, open_linker
from onym.packs.locate import load
from onym.pipeline import Pipeline, PipelineOptions
from onym.types import Document, LinkedDocument, Mention


def open_tool(job: Job) -> Tool:
    """Open the pipeline that the settings name, or build one over the knowledge base."""
    pipeline = _open_pipeline(job["settings"], Path(job["kb"]) / "onym", job["prefer"])
    given = pipeline.without_detector().with_threshold(None)
    by_task = {"text": pipeline, "mentions": given, "terms": pipeline.for_terms()}

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        return map(
            _answers,
            by_task[requests[0]["task"]].link_many(_document(each) for each in requests),
        )

    return link


def _open_pipeline(settings: dict[str, Any], folder: Path, prefer: Sequence[str]) -> Pipeline:
    if "pipeline" in settings:
        return load(settings["pipeline"], prefer=prefer)
    kb = KnowledgeBase.open(folder, prefer=prefer)
    detector = open_detector(detector_config("dictionary", **settings.get("detector", {})), kb)
    linker = open_linker(linker_config(settings["linker"], **settings.get("options", {})), kb)
    options = PipelineOptions(prefer=tuple(prefer), under=tuple(settings.get("under", ())))
    return Pipeline(linker, detector, options)


def prepare(job: Job) -> None:
    """Make what Onym derives from a knowledge base on first use and keeps: the table of names for many texts."""
    tool = open_tool(job)
    for task in ("text", "mentions"):
        some: list[Request] = [
            {
                "part": "",
                "task": task,
                "id": str(number),
                "text": "fever " * 100,
                "spans": [[0, 5]],
            }
            for number in range(200)
        ]
        list(tool(some))


def _document(request: Request) -> Document:
    text = request["text"]
    mentions = tuple(Mention(start, end, text[start:end]) for start, end in request["spans"] or ())
    return Document(request["id"], text, mentions)


def _answers(linked: LinkedDocument) -> list[Answer]:
    return [
        (
            link.mention.start,
            link.mention.end,
            [(each.concept_id, each.score) for each in link.candidates] if link.concept_id else [],
        )
        for link in linked.links
    ]


if __name__ == "__main__":
    serve(open_tool, prepare)
