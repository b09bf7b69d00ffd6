"""The loop of an adapter: read documents as JSON lines, write answers as JSON lines, then the CPU time and the memory.

The first line of the input is a `Job`: the settings of the tool, and the folder with the exported knowledge base. Each other
line is a document: `id`, `text`, and `spans` ([start, end] of the annotated mentions) unless the tool has to find them. An
answer has the id of the document and its `mentions`: [start, end, [[concept id, score], ...]], best first.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO, TypedDict

Answer = tuple[int, int, list[tuple[str, float]]]
"""Start, end, and the concepts with their scores."""


class Request(TypedDict):
    """A document of a part, such as the test split of a dataset; `spans` is None if the tool finds the mentions itself.

    `task` is `text`, `mentions` or `terms`.
    """

    part: str
    task: str
    id: str
    text: str
    spans: list[list[int]] | None


class Job(TypedDict):
    """The folder with the exported knowledge base, a folder for what the tool derives from it, and the tool's settings.

    `prefer` are the vocabularies that come first; `seconds` has the parts of which no more documents are processed after this
    CPU time.
    """

    kb: str
    derived: str
    settings: dict[str, Any]
    prefer: list[str]
    seconds: dict[str, float]


Tool = Callable[[Sequence[Request]], Iterable[Sequence[Answer]]]
"""Returns the mentions of each document, in order. All documents of a call belong to one part."""


def serve(
    open_tool: Callable[[Job], Tool],
    prepare: Callable[[Job], None] | None = None,
    *,
    batch: int | None = 32,
) -> None:
    """Process the documents of stdin; with the argument `prepare`, only derive from the knowledge base what the tool needs.

    A call of the tool gets at most `batch` documents; None means all of a part. What a tool prints goes to stderr.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)
        job: Job = json.loads(sys.stdin.readline())
        if sys.argv[1:] == ["prepare"]:
            if prepare:
                Path(job["derived"]).mkdir(parents=True, exist_ok=True)
                prepare(job)
            return
        requests: list[Request] = [json.loads(line) for line in sys.stdin]
        tool = open_tool(job)
        list(tool(requests[:1]))
        first = cpu_seconds()
        parts = {
            part: _answer_part(tool, list(own), output, job["seconds"].get(part, math.inf), batch)
            for part, own in groupby(requests, key=lambda request: request["part"])
        }
        figures = {"first_s": first, "memory_gb": memory_gb(), "parts": parts}
        output.write(json.dumps({"figures": figures}) + "\n")


def _answer_part(
    tool: Tool,
    requests: Sequence[Request],
    output: TextIO,
    seconds: float,
    batch: int | None,
) -> dict[str, float]:
    """Write the answers of one part, and return the number of documents and the CPU time."""
    began, done, step = cpu_seconds(), 0, batch or len(requests)
    for start in range(0, len(requests), step):
        if cpu_seconds() - began > seconds:
            break
        some = requests[start : start + step]
        output.writelines(
            json.dumps({"part": request["part"], "id": request["id"], "mentions": mentions}) + "\n"
            for request, mentions in zip(some, tool(some), strict=True)
        )
        done += len(some)
    return {"documents": done, "seconds": cpu_seconds() - began}


def cpu_seconds() -> float:
    """Return the CPU time of this process and its children since the start of the interpreter."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def memory_gb() -> float:
    """Return the peak resident memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
