"""One pack measured: size, time to the first answer, speed, and what is lost against the pipeline that it was made of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import onym
from benchmarks.own_cache import own_cache
from onym.corpora.plain import with_answers
from onym.evaluate.end_to_end import score_end_to_end
from onym.packs import build_pack, open_pack
from onym.pipeline import Pipeline
from onym.types import Document

_TURNS = 3
_FIRST = """
import json, sys, time
began = time.process_time()
torch_s = 0.0
if sys.argv[3] == "torch":
    import torch
    torch_s = time.process_time() - began
import onym
linked = onym.load(sys.argv[1]).link(sys.argv[2])
found = {"seconds": time.process_time() - torch_s, "torch_s": torch_s, "torch": "torch" in sys.modules}
print(json.dumps({**found, "links": len(linked.links)}))
"""

Canonical = Callable[[Pipeline], Callable[[str], str]]
"""Returns how the ids of a pipeline are compared with those of the corpora."""


def measured(
    pipeline: Path | str,
    folder: Path,
    name: str,
    corpora: Mapping[str, Sequence[Document]],
    *,
    narrowed: Callable[[Pipeline, str], Pipeline],
    canonical: Canonical | None = None,
    compress: bool = False,
) -> dict[str, object]:
    """Build a pack of a pipeline in a folder, twice, and measure it in a cache directory of its own.

    `narrowed` returns the pipeline as a corpus is judged with; `canonical` maps ids where the corpora have others.
    """
    path, again = folder / f"{name}.onymp", folder / f"{name}-again.onymp"
    build_pack(pipeline, path, compress=compress)
    build_pack(pipeline, again, name=name, compress=compress)
    is_same = path.read_bytes() == again.read_bytes()
    again.unlink()
    record = open_pack(path).record
    text = next(iter(corpora.values()))[0].text
    before = onym.load(pipeline)
    with own_cache(folder / f"{name}-cache"):
        first, *later = (_first_answer(path, text) for _ in range(_TURNS + 1))
        fastest = min(later, key=lambda each: float(str(each["seconds"])))
        after = onym.load(path)
        speed = _speed(after, next(iter(corpora.values())))
        f1 = {
            key: (_f1(narrowed(before, key), docs, canonical), _f1(narrowed(after, key), docs, canonical))
            for key, docs in corpora.items()
        }
    with_torch = {"torch_import_s": round(float(str(fastest["torch_s"])), 2)} if fastest["torch"] else {}
    return {
        "pipeline": name,
        "mb": round(path.stat().st_size / 1e6, 1),
        "unpacked_mb": round(sum(each.bytes for each in record.files.values()) / 1e6, 1),
        "unpack_s": round(float(str(first["seconds"])) - float(str(fastest["seconds"])), 2),
        "first_answer_s": round(float(str(fastest["seconds"])), 2),
        **with_torch,
        "documents_per_s_one_core": round(speed, 1),
        "strict_f1": {key: round(100 * new, 1) for key, (_, new) in f1.items()},
        "f1_loss": round(max(100 * (old - new) for old, new in f1.values()), 2),
        "deterministic": int(is_same),
    }


def _first_answer(path: Path, text: str) -> dict[str, object]:
    """Return the CPU seconds of a fresh process from its start to its first answer, those of torch's import apart."""
    for torch in ("", "torch"):
        command = [sys.executable, "-c", _FIRST, str(path), text, torch]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
        found: dict[str, object] = json.loads(done.stdout)
        if not found["torch"] or torch:
            return found
    raise AssertionError


def _speed(pipeline: Pipeline, docs: Sequence[Document]) -> float:
    """Return the documents in a second of CPU, after those that open what is opened on first use."""
    plain = [replace(doc, mentions=(), relations=()) for doc in docs]
    _link(pipeline, plain[:20])
    began = time.process_time()
    _link(pipeline, plain[20:])
    return len(plain[20:]) / (time.process_time() - began)


def _link(pipeline: Pipeline, docs: Sequence[Document]) -> None:
    for _ in pipeline.link_many(docs):
        pass


def _f1(pipeline: Pipeline, docs: Sequence[Document], canonical: Canonical | None) -> float:
    linked = pipeline.link_many(replace(doc, mentions=(), relations=()) for doc in docs)
    same = canonical(pipeline) if canonical else lambda concept_id: concept_id
    return float(score_end_to_end(docs, map(with_answers, linked), canonical=same).f1)
