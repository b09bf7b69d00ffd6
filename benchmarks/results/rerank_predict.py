"""Predict splits with a trained reranker, and store the predictions and the figures of their rows.

    onym train rerank --preset rerank-open --set data.kb=KB -o RERANKER
    python -m benchmarks.results.rerank_predict --kb KB --model RERANKER --split dev
    python -m benchmarks.results.rerank_predict --kb KB --model RERANKER --split test
    python -m benchmarks.results.rerank_predict --kb KB --alone tfidf --split test

All choices are made on dev; test is predicted once, with the selected configuration. `--dataset` predicts only one dataset.
`--alone` runs another linker without the reranker.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.bare import bare_pipeline
from benchmarks.results.rerank_rows import (
    ALONE,
    KEPT,
    SPLITS,
    TYPES,
    file_of,
    judge,
    open_of_types,
    rows_of_dataset,
    source_without_paths,
)
from benchmarks.results.store import ROWS, shorten_scores, write_packed
from benchmarks.results.tasks import MESH
from onym.kb import KnowledgeBase
from onym.methods import linker_config, open_linker
from onym.methods.base import Linker
from onym.outputs.predictions import Prediction, Predictions, predictions_of
from onym.store.output import whole_file

TOP_K = 5


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    kb = KnowledgeBase.open(options.kb, prefer=MESH)
    own = {} if options.alone else {"model": options.model, "encoder": options.encoder, "follow_annotations": True}
    linker = open_linker(linker_config(options.alone or "rerank", **own), kb)
    for name in [options.dataset] if options.dataset else TYPES:
        if options.split in open_of_types(name, ()).splits:
            figures = keep(linker, name, options.split, options.alone)
            print(json.dumps({"dataset": name, "split": options.split, "rows": figures}), flush=True)
    return 0


def keep(linker: Linker, name: str, split: str, alone: str = "") -> dict[str, dict[str, float]]:
    """Predict a split, store its predictions and figures, and return the figures by row."""
    dataset = open_of_types(name, TYPES[name])
    about = {"name": dataset.name, "digest": dataset.digest, "split": split}
    pipeline = bare_pipeline(linker, TOP_K)
    found = predictions_of(pipeline.link_many(dataset.documents(split)))
    made = Predictions.of((one for one in found if isinstance(one, Prediction)), {**pipeline.source(), "dataset": about})
    predictions = Predictions.of(shorten_scores(made), made.source)  # score the rounded values, because only these are stored
    file_of(name, split, alone).parent.mkdir(exist_ok=True)
    write_packed(file_of(name, split, alone), predictions)
    figures = {key: judge(key, split, linker.kb, predictions) for key in rows_of_dataset(name)}
    rows = read_rows(alone)
    for key, values in figures.items():
        rows.setdefault(key, {})[split] = {"figures": values, "made": source_without_paths(dict(made.source))}
    with whole_file(KEPT / alone / ROWS, force=True) as file:
        file.write(json.dumps(dict(sorted(rows.items())), indent=1).encode() + b"\n")
    return figures


def read_rows(alone: str = "") -> dict[str, dict[str, dict[str, object]]]:
    """Return all rows by key and split."""
    path = KEPT / alone / ROWS
    found: dict[str, dict[str, dict[str, object]]] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.rerank_predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kb", type=Path, required=True, help="folder of the open, joined knowledge base")
    parser.add_argument("--model", help="folder of the reranker")
    parser.add_argument("--alone", choices=ALONE, default="", help="run this linker without the reranker")
    parser.add_argument("--encoder", default=None, help="folder of the reranker's encoder, if it was trained with one")
    parser.add_argument("--split", choices=SPLITS, default="dev")
    parser.add_argument("--dataset", choices=tuple(TYPES), default="", help="only this dataset")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
