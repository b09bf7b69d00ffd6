"""`onym train mentions`: what the dictionary finds in annotated documents, a regression, thresholds on dev, in this order."""

from __future__ import annotations

import json
import logging
import platform
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np

from onym.detect.classifier import RECORD, ClassifierSettings, MentionClassifier, write_classifier
from onym.store.output import whole_folder
from onym.train.corpora import renamed
from onym.train.mentions.collate import occurrences_of
from onym.train.mentions.config import MentionsTrainingConfig
from onym.train.mentions.context import MentionsContext
from onym.train.mentions.dev import tuned
from onym.train.mentions.trainer import fit_weights

_log = logging.getLogger("onym.train")


def train_classifier(config: MentionsTrainingConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a classifier and publish it at `dest`. The same configuration and data give the same weights."""
    context = MentionsContext(config, data)
    parts = []
    for corpus in context.corpora:
        _log.info("%s: %d documents, left out %s", corpus.name, len(corpus.documents), corpus.left_out)
        parts += [occurrences_of(context, corpus.name, corpus.documents, each) for each in ("", corpus.name)]
    weights = fit_weights(parts, config.regression)
    dev = {
        dataset.name: occurrences_of(context, dataset.name, renamed(dataset.documents(config.dev.split), config.data.types), "")
        for dataset in context.datasets
        if config.dev.split in dataset.splits
    }
    settings, figures = tuned(MentionClassifier(weights, ClassifierSettings()), dev) if dev else (ClassifierSettings(), {})
    _log.info("%s", figures)
    record = _record(context, int(np.count_nonzero(weights)), settings, figures)
    with whole_folder(dest) as folder:
        write_classifier(weights, settings, record, folder.path)
        for name, text in ((RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n"), ("README.md", card(record))):
            with folder.file(name) as file:
                file.write(text.encode())
    return dest


def _record(context: MentionsContext, weights: int, settings: ClassifierSettings, figures: Any) -> dict[str, Any]:
    kb = context.kb
    return {
        "stage": context.config.stage,
        "config": context.config.model_dump(mode="json"),
        "kb": {"digest": kb.digest, "concepts": len(kb), "names": len(kb.names)},
        "corpora": [corpus.as_dict() for corpus in context.corpora],
        "weights": weights,
        "thresholds": settings.model_dump(mode="json"),
        "metrics": {"dev": figures},
        "machine": f"{cpu_count()} cores, {platform.processor() or platform.machine()}",
        "versions": {name: version(name) for name in ("onym", "numpy", "scikit-learn")},
    }


def card(record: dict[str, Any]) -> str:
    """Return the card of a classifier, as Markdown."""
    lines = [
        "---",
        "library_name: onym",
        "tags: [entity-linking, biomedical]",
        "---",
        "# A classifier that tells mentions from words",
        "",
        "For names that a dictionary finds in a text: a logistic regression over the name and the words around it.",
        "",
        *(f"- Corpus: {each['name']}, {each['documents']:,} documents ({each['licence']})" for each in record["corpora"]),
        f"- Knowledge base: {record['kb']['digest']} ({record['kb']['concepts']:,} concepts)",
        f"- Weights: {record['weights']:,}",
        "",
        "| dev, F1 of spans | dictionary | with the classifier | as the corpus annotates |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {each['f1_without']:.1f} | {each['f1']:.1f} | {each['f1_by_convention']:.1f} |"
            for name, each in record["metrics"]["dev"].items()
        ),
        "",
        "```console",
        "$ onym link --kb KB_FOLDER --detector-classifier THIS_FOLDER notes/ -o links.jsonl",
        "```",
        "",
        "The configuration, and the digests of everything it was made of, are in training.json.",
    ]
    return "\n".join(lines) + "\n"
