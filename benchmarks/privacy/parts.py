"""Linkers and pipelines that raise where they read text, with the text in the message."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from benchmarks.privacy.canaries import Canaries, planted_documents
from benchmarks.privacy.watch import described, shown_by
from onym.corpora.isolation import require_complete
from onym.detect.dictionary import DictionaryDetector
from onym.kb import KnowledgeBase
from onym.linkers import base as _surfaces
from onym.linkers.dense import DenseLinker
from onym.linkers.exact import ExactLinker
from onym.linkers.generative import GenerativeLinker
from onym.linkers.tfidf import TfidfLinker
from onym.pipeline.pipeline import Pipeline
from onym.types import Document, LinkedDocument

Link = Callable[[Iterable[Document]], Iterable[LinkedDocument]]


@dataclass(frozen=True)
class Breakable:
    """Something that links, and where it can be made to raise: objects, and names of functions that receive text."""

    link: Link
    spots: tuple[tuple[Any, str], ...]


def breakables(kb: KnowledgeBase, folder: Path, *, with_models: bool) -> list[Breakable]:
    """Open linkers and a pipeline that need no model, and those with tiny models."""
    return [*_without_models(kb), *(_with_models(kb, folder) if with_models else ())]


def _without_models(kb: KnowledgeBase) -> list[Breakable]:
    tfidf = TfidfLinker(kb)
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    return [
        Breakable(ExactLinker(kb).link, ((ExactLinker, "_find"), (_surfaces, "queries"), (ExactLinker, "_ranked"))),
        Breakable(tfidf.link, ((type(tfidf.similarity), "top"),)),
        Breakable(_bare(pipeline), ((DictionaryDetector, "_spans"), (DictionaryDetector, "_names"), (_surfaces, "queries"))),
    ]


def _with_models(kb: KnowledgeBase, folder: Path) -> list[Breakable]:
    from onym.testing.models import save_encoder, save_model

    dense = DenseLinker.from_pretrained(save_encoder(folder / "encoder"), kb)
    generative = GenerativeLinker.from_pretrained(save_model(folder / "seq2seq"), kb, width=2)
    return [
        Breakable(dense.link, ((type(dense.encoder), "encode"), (DenseLinker, "_answers"))),
        Breakable(generative.link, ((GenerativeLinker, "decode_mentions"), (type(generative.layout), "source"))),
    ]


def broken_run(rng: random.Random, canaries: Canaries, parts: list[Breakable]) -> str:
    """Break one of the parts, link planted documents, and return what was shown."""
    part, docs = rng.choice(parts), planted_documents(canaries)
    target, name = rng.choice(part.spots)

    def act() -> str:
        with patch.object(target, name, _raising(rng.choice(_ERRORS))):
            linked = list(part.link(docs))
        problems = [problem for each in linked for problem in each.problems]
        return described(problems) + shown_by(lambda: list(require_complete(linked)) and "") + repr(linked[0].document)

    return shown_by(act)


def _bare(pipeline: Pipeline) -> Link:
    return lambda docs: pipeline.link_many(Document(doc.id, doc.text) for doc in docs)


def _raising(error: Callable[[str], Exception]) -> Callable[..., NoReturn]:
    def raise_with_text(*args: Any, **options: Any) -> NoReturn:
        received = " ".join(map(_text, (*args, *options.values())))
        try:
            raise ValueError(received)
        except ValueError as cause:
            raise error(received) from cause

    return raise_with_text


def _text(value: object) -> str:
    if isinstance(value, Document):
        return value.text
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(getattr(value, "text", value))


def _encoding_error(text: str) -> Exception:
    return UnicodeEncodeError("utf-8", text, 0, 1, text)


def _group(text: str) -> Exception:
    return ExceptionGroup(text, [ValueError(text)])


_ERRORS: tuple[Callable[[str], Exception], ...] = (
    ValueError, TypeError, KeyError, RuntimeError, OSError, MemoryError, AssertionError, RecursionError,
    _encoding_error, _group,
)  # fmt: skip
