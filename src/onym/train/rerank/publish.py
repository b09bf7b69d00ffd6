"""A trained reranker as a folder: its artefact, its memory, a record of its training and a card."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Any

from onym.calibrate import Isotonic
from onym.rerank.memory import write_memory
from onym.rerank.trees import MEMORY, RECORD, RerankerOrigin, Trees, write_reranker
from onym.store.output import whole_folder
from onym.train.rerank.context import RerankContext


def publish(context: RerankContext, trees: Trees, calibration: Isotonic | None, metrics: Mapping[str, Any], dest: Path) -> None:
    """Write the folder atomically: it appears only when complete."""
    record = record_of(context, trees, metrics)
    encoder = context.parts.encoder
    origin = RerankerOrigin(features=context.columns, parts=tuple(context.parts.linkers), encoder=encoder, kb=context.kb.digest)
    with whole_folder(dest) as folder:
        write_memory(context.counts, record["corpora"], folder.path / MEMORY)
        write_reranker(folder.path, origin, trees, calibration, record)
        for name, data in ((RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n"), ("README.md", card(record))):
            with folder.file(name) as file:
                file.write(data.encode())


def record_of(context: RerankContext, trees: Trees, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reranker was made of, and its figures."""
    return {
        "stage": context.config.stage,
        "config": context.config.model_dump(mode="json"),
        "kb": {"digest": context.kb.digest, "concepts": len(context.kb), "names": len(context.kb.names)},
        "corpora": [corpus.as_dict() for corpus in context.corpora],
        "parts": list(context.parts.linkers),
        "features": list(context.columns),
        "trees": len(trees.roots),
        "nodes": len(trees.feature),
        "metrics": dict(metrics),
        "machine": f"{cpu_count()} cores, {platform.processor() or platform.machine()}",
        "versions": {name: version(name) for name in ("onym", "numpy", "scikit-learn")},
    }


def card(record: Mapping[str, Any]) -> str:
    """Return the card of a reranker, as Markdown."""
    kb = record["kb"]
    corpora = [
        f"| {corpus['name']} | {corpus['documents']:,} | {sum(corpus['left_out'].values()):,} | {corpus['licence']} |"
        for corpus in record["corpora"]
    ]
    figures = [
        f"| {name} | {' | '.join(_percent(each, key) for key in ('strict_r1', 'seen', 'unseen'))} | {each['in_kb']:,} |"
        for name, each in record["metrics"].get("dev", {}).items()
    ]
    lines = [
        "---",
        "library_name: onym",
        "tags: [entity-linking, biomedical]",
        "---",
        "# A reranker of entity linking candidates",
        "",
        "Gradient-boosted trees order pooled candidates by the probability that each is the right concept. `memory` holds how",
        "often a surface meant a concept in the training documents of these corpora.",
        "",
        f"- Knowledge base: {kb['digest']} ({kb['concepts']:,} concepts, {kb['names']:,} names)",
        f"- Candidates of: {', '.join(record['parts'])}, exact names, memory",
        f"- Trees: {record['trees']:,}, with {record['nodes']:,} nodes, over {len(record['features'])} features",
        "",
        "| corpus | documents | left out: in a dev or test split | licence |",
        "|---|--:|--:|---|",
        *corpora,
        "",
        "| dev, strict recall@1 | all | seen surfaces | unseen | mentions in the KB |",
        "|---|--:|--:|--:|--:|",
        *figures,
        "",
        "```console",
        "$ onym link --kb KB_FOLDER --linker rerank --model THIS_FOLDER corpus.pubtator",
        "```",
        "",
        "The configuration, and the digests of everything it was made of, are in training.json.",
    ]
    return "\n".join(lines) + "\n"


def _percent(figures: Mapping[str, float], key: str) -> str:
    return f"{figures[key]:.1f}" if key in figures else "-"
