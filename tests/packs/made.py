"""Builds test packs: a small pipeline with a reranker."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onym.methods import linker_config
from onym.packs.archive import PackRecord
from onym.packs.build import build_pack
from onym.pipeline.folder import build_pipeline
from tests.support.models import save_reranker

CORPUS = {"name": "bc5cdr", "licence": "public domain, a work of NLM", "documents": 500}
RECORD = {"corpora": [CORPUS]}
LICENCES = {"tiny": "CC0"}


def write_pipeline(folder: Path, kb: Path, record: Mapping[str, Any] | None = None, **options: Any) -> Path:
    """Build a pipeline with a reranker in a separate folder."""
    model = save_reranker(folder / "reranker", {**RECORD, **(record or {})}, {"mi": "mesh:D009203"})
    build_pipeline(kb, folder / "pipeline", linker=linker_config("rerank", model=model), **options)
    return folder / "pipeline"


def write_pack(folder: Path, kb: Path, **options: Any) -> Path:
    """Build a pack of a pipeline with a reranker."""
    pipeline = write_pipeline(folder, kb)
    build_pack(pipeline, folder / "tiny.onymp", **{"licences": LICENCES, **options})
    return folder / "tiny.onymp"


def members(path: Path) -> dict[str, bytes]:
    """Return the content of each archive member by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def record_of(path: Path, **changes: Any) -> PackRecord:
    """Return the record of a pack with some values replaced."""
    values = json.loads(members(path)["pack.json"])
    return PackRecord.model_validate({**values, **changes})
