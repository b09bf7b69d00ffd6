"""Files that tools read besides the knowledge base: an ontology, abstracts without annotations, and annotated documents."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.accuracy.kb_hpo import NEWEST
from benchmarks.report import data_folder
from benchmarks.rivals.tasks import DATASETS, open_abstracts, read_split
from onym.store.output import whole_file
from onym.types import Document

_TRAINING_ABSTRACTS = 2_000


def write_texts(folder: Path, names: tuple[str, ...]) -> None:
    """Write the files that are missing."""
    for name in names:
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(_WRITERS[name]())


def _ontology() -> bytes:
    """Return HPO in OBO, of the same release as the knowledge base."""
    return gzip.decompress((data_folder() / f"ontologies/hp-{NEWEST}.obo.gz").read_bytes())


def _abstracts() -> bytes:
    """Return PubMed abstracts, one on each line."""
    texts = (" ".join(each["text"].split()) for each in open_abstracts("", _TRAINING_ABSTRACTS))
    return "".join(f"{text}\n" for text in texts).encode()


def _training() -> bytes:
    """Return the train splits as an export of MedCATtrainer, without documents of a dev or test split of any corpus."""
    kept = {doc.id for dataset in DATASETS for split in ("dev", "test") for doc in read_split(dataset, split)}
    return annotated_texts(doc for dataset in DATASETS for doc in read_split(dataset, "train") if doc.id not in kept)


def annotated_texts(documents: Iterable[Document]) -> bytes:
    """Return documents with their mentions as an export of MedCATtrainer."""
    project = {
        "name": "train",
        "id": 1,
        "cuis": "",
        "tuis": "",
        "documents": [_export_document(doc) for doc in documents],
    }
    return json.dumps({"projects": [project]}).encode()


def _export_document(doc: Document) -> dict[str, object]:
    annotations = [
        {
            "start": each.start,
            "end": each.end,
            "cui": each.concept_ids[0],
            "value": each.surface,
        }
        for each in doc.mentions
        if len(each.concept_ids) == 1
    ]
    return {
        "name": doc.id,
        "id": doc.id,
        "last_modified": "",
        "text": doc.text,
        "annotations": annotations,
    }


_WRITERS: dict[str, Callable[[], bytes]] = {
    "hp.obo": _ontology,
    "abstracts.txt": _abstracts,
    "training.json": _training,
}
