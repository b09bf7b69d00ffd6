"""Compare encoding a document once for all its mentions with encoding a window of 128 tokens for each mention.

Uses the test mentions of BC5CDR, MiniLM, and the precision that `auto` selects on this machine. Both methods batch windows of
similar length, with the same number of tokens per batch, and return one vector per mention. Search is timed separately: an
exact search for the 10 nearest vectors, among one random vector for each name of the open knowledge base. `--quick` uses fewer
documents and vectors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from onym.datasets.prepared import open_dataset
from onym.methods.collective.documents import TokenWindow
from onym.methods.collective.model import Collective, Heads
from onym.methods.collective.settings import CollectiveSettings
from onym.methods.collective.torch_documents import TorchDocumentReader, window_rows
from onym.methods.dense.index.kinds import faiss
from onym.models.encoder import batches
from onym.models.tokens import Placed, Tokenizer
from onym.models.torch_encoder import Encoder, open_body, token_vectors
from onym.types import Document

SINGLE = 128
_BUDGET = 4_096  # tokens per batch, the same for windows and for documents
_NAMES = 923_667  # number of names of the open knowledge base
_TURNS = 3
_K = 10
Vectors = Any


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=0, help="number of documents; all 500 without --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    limit = options.documents or (8 if options.quick else None)
    documents = list(open_dataset("bc5cdr", data_folder()).documents("test"))[:limit]
    model = open_model()
    mentions = sum(len(doc.mentions) for doc in documents)
    turns = 1 if options.quick else _TURNS
    vectors, together = _best(lambda: all_at_once(model, documents), turns)
    single, alone = _best(lambda: one_at_a_time(model, documents), turns)
    if len(vectors) != len(single):
        msg = "the two methods encoded different numbers of mentions"
        raise RuntimeError(msg)
    return {
        "documents": len(documents),
        "mentions": mentions,
        "precision": model.config["precision"],
        "mentions_per_s_collective": round(len(vectors) / together, 1),
        "mentions_per_s_single": round(len(single) / alone, 1),
        "ratio": round(alone / together, 2),
        "search_ms_per_mention": round(_search(vectors, 20_000 if options.quick else _NAMES), 3),
    }


def open_model(*, with_names: bool = False) -> Collective:
    """Return MiniLM as a document encoder with random heads; the cost does not depend on their weights.

    With `with_names`, names are encoded by off-the-shelf MiniLM, and a mention is the mean of its token vectors.
    """
    folder = model_folder("minilm")
    body = open_body(folder)
    settings = CollectiveSettings(represent="mean" if with_names else "ends", dim=int(body.config.hidden_size))
    reader = TorchDocumentReader(body, Tokenizer.open(folder), length=settings.window, overlap=settings.overlap)
    heads = Heads(reader.width, settings.dim, settings.represent, settings.detect).eval().requires_grad_(False)
    return Collective(reader, heads, settings, Encoder.open(folder) if with_names else None)


def all_at_once(model: Collective, documents: Sequence[Document]) -> Vectors:
    """Return the vectors of all mentions; each document is encoded once."""
    return model.mention_vectors(documents)[0]


@torch.inference_mode()
def one_at_a_time(model: Collective, documents: Sequence[Document]) -> Vectors:
    """Return the vectors of all mentions, each encoded in its own window."""
    tokenizer = model.reader.tokenizer
    rows = [row for doc in documents for row in _single(doc, tokenizer)]
    lengths = np.array([window.end - window.start for _, window in rows], dtype=np.int64)
    found = np.zeros((len(rows), model.heads.dim), dtype=np.float32)
    before = len(tokenizer.before)
    for batch in batches(lengths, _BUDGET):
        selected = [rows[row] for row in batch.tolist()]
        hidden = token_vectors(model.reader.model, *window_rows(tokenizer, selected, model.reader.model.config.pad_token_id))
        firsts = torch.tensor([before + window.first - window.start for _, window in selected])
        lasts = torch.tensor([before + window.last - window.start for _, window in selected])
        shifts = torch.arange(len(selected)) * hidden.shape[1]
        found[batch] = model.heads.vectors(hidden.flatten(0, 1), firsts + shifts, lasts + shifts).numpy()
    return found


def _single(doc: Document, tokenizer: Tokenizer) -> list[tuple[Placed, TokenWindow]]:
    """Return for each mention a window centred on it."""
    tokens, room = tokenizer.tokenize_with_offsets(doc.text), SINGLE - len(tokenizer.before) - len(tokenizer.after)
    rows = []
    for mention in doc.mentions:
        if span := tokens.span(mention.start, mention.end):
            first, last = span[0], min(span[1], span[0] + room)
            start = max(0, min((first + last - room) // 2, len(tokens) - room))
            rows.append((tokens, TokenWindow(start, min(start + room, len(tokens)), first, last)))
    return rows


def _best(read: Callable[[], Vectors], turns: int) -> tuple[Vectors, float]:
    """Return the result of encoding and the seconds of the fastest round."""
    found, seconds = None, []
    for _ in range(turns):
        start = time.perf_counter()
        found = read()
        seconds.append(time.perf_counter() - start)
    return found, min(seconds)


def _search(vectors: Vectors, names: int) -> float:
    """Return the search time per mention in milliseconds."""
    index = faiss().IndexFlatIP(vectors.shape[1])
    rng = np.random.default_rng(0)
    for first in range(0, names, 100_000):
        index.add(rng.standard_normal((min(100_000, names - first), vectors.shape[1]), dtype=np.float32))
    queries = vectors[:1_000]
    start = time.perf_counter()
    index.search(queries, _K)
    return 1000 * (time.perf_counter() - start) / len(queries)
