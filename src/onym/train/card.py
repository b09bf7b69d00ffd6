"""Model cards (Markdown) and training records (`training.json`).

`card` writes the card of a model, `pipeline_card` the card of a pipeline; both use `format_card`.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from os import cpu_count
from typing import Any, NamedTuple

from onym.datasets import PreparedDataset
from onym.kb import KnowledgeBase
from onym.pipeline.config import FittedCalibration, PipelineConfig
from onym.store.markdown import code, page, table
from onym.store.output import Folder

RECORD, CARD = "training.json", "README.md"
ORIGIN_NOTE = "The configuration, and the digests of all training inputs, are in training.json."
_FRONT_MATTER = ("---", "library_name: onym", "tags: [entity-linking, biomedical]", "---")


def format_card(title: str, *blocks: Sequence[str]) -> str:
    r"""Return a Markdown card: front matter, title, then `blocks` (lists of lines) separated by empty lines.

    >>> format_card("A model", ["It links."]).splitlines()[3:]
    ['---', '# A model', '', 'It links.']
    """
    return page([*_FRONT_MATTER, f"# {title}"], *blocks)


def write_record(folder: Folder, record: Mapping[str, Any], text: str) -> None:
    """Write the training record and the card (`text`) into the folder of the trained model."""
    folder.write(RECORD, json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")
    folder.write(CARD, text.encode())


def describe_kb(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the entry for a knowledge base in a training record."""
    return {"digest": kb.digest, "concepts": len(kb), "names": len(kb.names)}


def describe_machine(*packages: str) -> dict[str, Any]:
    """Return the machine and the versions of Onym and of `packages`, as stored in a training record."""
    machine = f"{cpu_count()} cores, {platform.processor() or platform.machine()}"
    return {"machine": machine, "versions": {name: version(name) for name in ("onym", *packages)}}


class _ModelKind(NamedTuple):
    """A kind of model, with the class of the linker that opens such models."""

    title: str
    does: str
    linker: str


_GENERATIVE = _ModelKind(
    "A generative entity linker",
    "For a mention in its context, it generates a name of the concept, constrained to the names of a knowledge base.",
    "GenerativeLinker",
)


_ENCODER = _ModelKind(
    "An encoder of names",
    "It embeds mentions and names; a mention is linked to the concept of the nearest name of a knowledge base.",
    "DenseLinker",
)


_COLLECTIVE = _ModelKind(
    "A collective entity linker",
    "It encodes a document once, to detect its mentions, to link them to the nearest names of a knowledge base, or both.",
    "CollectiveLinker",
)


_DETECTOR = _ModelKind(
    "A detector of mentions",
    "It encodes a document once, to detect its mentions and their types.",
    "",
)


_KINDS = {"align": _ENCODER, "match": _ENCODER, "collective": _COLLECTIVE, "detect": _DETECTOR}


def card(record: dict[str, Any]) -> str:
    """Return the Markdown card of a model from its training record. The last stage in the record determines the kind of model.

    >>> record = {"first_start": "bart", "stages": ["finetune"], "parameters": 1000, "hours_in_all": 0.5, "machine": "2 cores",
    ...           "kb": {"digest": "ab", "concepts": 1, "names": 2}, "corpus": {}, "metrics": {"dev_r1": 50.0}, "steps": 3}
    >>> print(card(record).splitlines()[4])
    # A generative entity linker, from bart
    """
    kind = _KINDS.get(record["stages"][-1], _GENERATIVE)
    header = f"on dev{'' if kind is _DETECTOR else ', any-id'}{_of_mentions(record)}"
    figures = ((name, f"{value:.1f}") for name, value in record["metrics"].items() if "_threshold" not in name)
    facts = [
        f"- Started from: {record['first_start']}; stages: {', '.join(record['stages'])}",
        f"- Parameters: {record['parameters']:,}",
        *_origin(record),
        f"- Trained: {record['steps']:,} steps, {record['hours_in_all']} hours in total, on {record['machine']}",
    ]
    scores = table({header: "---", "%": "---"}, figures)
    return format_card(f"{kind.title}, from {record['first_start']}", [kind.does], facts, scores, _usage(kind), [ORIGIN_NOTE])


def _of_mentions(record: dict[str, Any]) -> str:
    """Return the number of dev mentions for the table header; "" for older records, which do not store this number."""
    return f", {record['dev_mentions']:,} mentions" if record.get("dev_mentions") else ""


def _origin(record: dict[str, Any]) -> list[str]:
    """Return the lines about the knowledge base and the corpora."""
    if "corpora" in record:
        return [line for each in record["corpora"] for line in (_corpus(each), *overlap_lines(each.get("overlap", {})))]
    corpus = record["corpus"]
    return [
        kb_line(record["kb"]),
        f"- Dataset: {corpus['name']} ({corpus['digest']})" if corpus else "- Dataset: none",
        *overlap_lines(corpus.get("overlap", {})),
    ]


def kb_line(kb: Mapping[str, Any]) -> str:
    """Return the card line for a knowledge base described by `describe_kb`."""
    return f"- Knowledge base: {kb['digest']} ({kb['concepts']:,} concepts, {kb['names']:,} names)"


def corpora_table(record: Mapping[str, Any]) -> list[str]:
    """Return the card's table of training corpora, with the documents left out of each."""
    header = {"corpus": "---", "documents": "--:", "left out: in a dev or test split": "--:", "licence": "---"}
    rows = (
        (each["name"], f"{each['documents']:,}", f"{sum(each['left_out'].values()):,}", str(each["licence"]))
        for each in record["corpora"]
    )
    return table(header, rows)


def _corpus(each: dict[str, Any]) -> str:
    left_out = sum(each["left_out"].values()) if "left_out" in each else 0
    note = f"; {left_out:,} left out, because they are in a dev or test split" if left_out else ""
    return f"- Corpus: {each['name']}, {each['documents']:,} documents ({each['licence']}){note}"


def overlap_lines(overlap: dict[str, Any]) -> list[str]:
    """Return card lines about the overlap of dev and test with train.

    >>> overlap_lines({"dev in train": {"mentions": 8, "same_span": 0, "same_surface_and_ids": 4}})
    ['- dev in train: 4 of 8 mentions have a surface and ids seen in train; 0 are the same mention']
    """
    return [
        f"- {splits}: {each['same_surface_and_ids']:,} of {each['mentions']:,} mentions have a surface and ids seen in train; "
        f"{each['same_span']:,} are the same mention"
        for splits, each in overlap.items()
        if "same_span" in each
    ]


def _usage(kind: _ModelKind) -> list[str]:
    if kind is _DETECTOR:
        return pipeline_usage("--detector model --detector-model THIS_FOLDER")
    return code(
        "python",
        "from onym.kb import KnowledgeBase",
        f"from onym.methods import {kind.linker}",
        "",
        f'linker = {kind.linker}.from_pretrained("THIS_FOLDER", KnowledgeBase.open("KB_FOLDER"))',
    )


def pipeline_usage(options: str) -> list[str]:
    """Return two commands: build a pipeline with these detector options, and link texts with the pipeline."""
    build = f"$ onym pipeline build --kb KB_FOLDER {options} -o my-pipeline"
    return code("console", build, "$ onym link notes/ --pipeline my-pipeline -o links.jsonl")


_DETECTORS = {
    "dictionary": "the dictionary with a trained classifier",
    "student": "a trained student, and names of the dictionary that a classifier accepts",
}


def pipeline_card(
    config: PipelineConfig, kb: KnowledgeBase, datasets: Sequence[PreparedDataset], encoder: str, dev: Mapping[str, Any]
) -> str:
    """Return the Markdown card of a pipeline; `dev` has its scores on dev and the numbers of dev mentions and documents."""
    kind = config.detector.kind if config.detector else ""
    detector = f"a model trained from {encoder}" if encoder else _DETECTORS.get(kind, kind)
    facts = [
        kb_line(describe_kb(kb)),
        *(line for dataset in datasets for line in _dataset(dataset)),
        f"- Detector: {detector}; linker: {config.linker.kind}",
    ]
    header = {f"on dev, {dev['mentions']:,} mentions in {dev['documents']:,} documents": "---", "": "---"}
    rows = (
        ("strict F1, from raw text, without a threshold", f"{100 * dev['f1_without']:.1f}"),
        ("with a threshold tuned on the other dev documents (cross-validation)", f"{100 * dev['f1_held_out']:.1f}"),
        ("threshold", "none: it does not improve F1" if config.threshold is None else str(config.threshold)),
        _confidence("links", config.calibration),
        _confidence("terms", config.term_calibration),
    )
    usage = code("console", "$ onym link TEXT --pipeline THIS_FOLDER")
    title = f"A pipeline trained on {', '.join(dataset.name for dataset in datasets)}"
    return format_card(title, facts, table(header, rows), ["The confidences were fitted on dev."], usage)


def _dataset(dataset: PreparedDataset) -> Iterator[str]:
    report = dataset.report
    counts = (f"{split} {each['documents']:,} documents" for split, each in report["splits"].items())
    yield f"- Dataset: {dataset.name} ({dataset.digest}; {report['licence'] or 'no licence stated'}): {', '.join(counts)}"
    yield from overlap_lines(report["overlap"])


def _confidence(what: str, fitted: FittedCalibration | None) -> tuple[str, str]:
    if fitted is None:
        return f"confidence of {what}", "none"
    quality = fitted.calibration.quality
    return f"confidence of {what}: calibration error, of {quality.answers:,} answers", f"{quality.ece:.3f}"
