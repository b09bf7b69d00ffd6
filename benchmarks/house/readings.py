"""How often a document is read on its way through a pipeline: once for its abbreviations, once by a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onym
from benchmarks.house.pipelines import build_pipeline, link_all, save_collective, texts
from onym.text.abbreviations import Abbreviations
from onym.types import Document

_WINDOW, _OVERLAP = 64, 16


def abbreviation_passes(kb: Path, folder: Path, count: int) -> float:
    """Return how often abbreviations are looked for in a document: by the dictionary detector and the exact linker together."""
    pipeline = onym.load(build_pipeline(kb, folder / "exact"))
    documents = [Document(str(number), text) for number, text in enumerate(texts(count))]
    passes = [0]
    own = Abbreviations.from_text.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Abbreviations], *arguments: Any, **options: Any) -> Any:
        passes[0] += 1
        return own(cls, *arguments, **options)

    with patch.object(Abbreviations, "from_text", classmethod(counted)):
        linked = link_all(pipeline, documents)
    return round(passes[0] / linked, 3)


def document_readings(kb: Path, folder: Path, count: int, tokens: int) -> float:
    """Return how often a model reads a document: windows read, divided by those that cover the documents once.

    Detector and linker are one model, and the documents have at least so many tokens each.
    """
    from onym.models.documents import windows
    from onym.models.tokens import Tokenizer

    model = save_collective(folder / "model", window=_WINDOW, overlap=_OVERLAP)
    options = ("--detector", "model", "--detector-model", str(model), "--linker", "collective", "--model", str(model))
    pipeline = onym.load(build_pipeline(kb, folder / "collective", *options))
    tokenizer = Tokenizer.open(model)
    documents = [Document(str(number), text) for number, text in enumerate(texts(count, sentences=tokens // 10))]
    room = _WINDOW - len(tokenizer.before) - len(tokenizer.after)
    lengths = [len(tokenizer.placed(doc.text)) for doc in documents]
    if min(lengths) < tokens:
        raise ValueError(f"a document has {min(lengths)} tokens only")
    with counted_rows() as rows:
        link_all(pipeline, documents)
    return round(rows[0] / sum(len(windows(length, room, _OVERLAP)) for length in lengths), 3)


@contextmanager
def counted_rows() -> Iterator[list[int]]:
    """Count the rows of all batches that a BERT reads."""
    from transformers import BertModel

    rows = [0]
    own = BertModel.forward

    def counted(self: BertModel, *arguments: Any, **options: Any) -> Any:
        ids = options.get("input_ids", arguments[0] if arguments else None)
        rows[0] += 0 if ids is None else len(ids)
        return own(self, *arguments, **options)

    with patch.object(BertModel, "forward", counted):
        yield rows
