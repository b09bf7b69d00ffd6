"""The card of a trained pipeline: what it learnt from, what dev shares with that, how many mentions its figures rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onym.datasets import PreparedDataset
from onym.kb import KnowledgeBase
from onym.pipeline.config import FittedCalibration, PipelineConfig
from onym.train.card import overlap_lines


def pipeline_card(
    config: PipelineConfig, kb: KnowledgeBase, datasets: Sequence[PreparedDataset], encoder: str, dev: Mapping[str, Any]
) -> str:
    """Return the card as Markdown; `dev` has the strict F1 with and without a threshold, and the gold mentions behind it."""
    detector = f"a model trained from {encoder}" if encoder else "the dictionary with a trained classifier"
    lines = [
        "---",
        "library_name: onym",
        "tags: [entity-linking, biomedical]",
        "---",
        f"# A pipeline trained on {', '.join(dataset.name for dataset in datasets)}",
        "",
        f"- Knowledge base: {kb.digest} ({len(kb):,} concepts, {len(kb.names):,} names)",
        *(line for dataset in datasets for line in _dataset(dataset)),
        f"- Detector: {detector}; linker: {config.linker.kind}",
        "",
        f"| on dev, {dev['mentions']:,} mentions in {dev['documents']:,} documents | |",
        "|---|---|",
        f"| strict F1, from raw text, without a threshold | {100 * dev['f1_without']:.1f} |",
        f"| with a threshold that the other documents of dev had tuned | {100 * dev['f1_held_out']:.1f} |",
        f"| threshold | {'none: it brings nothing' if config.threshold is None else config.threshold} |",
        *_confidence("links", config.calibration),
        *_confidence("terms", config.term_calibration),
        "",
        "The confidences were fitted on dev.",
        "",
        "```console",
        "onym link TEXT --pipeline THIS_FOLDER",
        "```",
    ]
    return "\n".join(lines) + "\n"


def _dataset(dataset: PreparedDataset) -> Iterator[str]:
    report = dataset.report
    counts = (f"{split} {each['documents']:,} documents" for split, each in report["splits"].items())
    yield f"- Dataset: {dataset.name} ({dataset.digest}; {report['licence'] or 'no licence stated'}): {', '.join(counts)}"
    yield from overlap_lines(report["overlap"])


def _confidence(what: str, fitted: FittedCalibration | None) -> Iterator[str]:
    if fitted is None:
        yield f"| confidence of {what} | none |"
        return
    quality = fitted.calibration.quality
    yield f"| confidence of {what}: calibration error, of {quality.answers:,} answers | {quality.ece:.3f} |"
