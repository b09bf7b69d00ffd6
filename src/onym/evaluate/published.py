"""Published scores of other systems, shown in reports next to the evaluated system.

They are copied from the papers. The mentions and the protocol are the same as ours; knowledge bases, models and training data
may differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PUBLISHED_TITLE = "Published on the same mentions, by the same protocol"
PUBLISHED_NOTE = "As reported in the papers. Knowledge bases, models and training data differ between systems."
_SPLIT = "test"
_GENBIOEL, _ANGEL = "Yuan and others 2022, tables 1 and 2", "Kim and others 2024, table 1"
_SAPBERT, _BHOWMIK = "Liu and others 2021, table 2", "Bhowmik and others 2021, table 7"
_BART, _PUBMEDBERT = "BART-large, 406 M", "PubMedBERT, 110 M"
_TWO_BERTS = "BioBERT-base, 110 M, two of them"


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A published score in percent on the test split of a dataset: recall@1, or F1 for end-to-end protocols."""

    dataset: str
    protocol: str
    system: str
    model: str
    percent: float
    source: str


PUBLISHED = (
    PublishedFigure("ncbi-disease-genbioel", "any-id", "ANGEL", _BART, 92.8, _ANGEL),
    PublishedFigure("ncbi-disease-genbioel", "any-id", "GenBioEL", _BART, 91.9, _GENBIOEL),
    PublishedFigure("ncbi-disease-genbioel", "any-id", "GenBioEL, run again by ANGEL", _BART, 91.0, _ANGEL),
    PublishedFigure("bc5cdr", "any-id", "ANGEL", _BART, 94.5, _ANGEL),
    PublishedFigure("bc5cdr", "any-id", "GenBioEL", _BART, 93.3, _GENBIOEL),
    PublishedFigure("bc5cdr", "any-id", "GenBioEL, run again by ANGEL", _BART, 93.1, _ANGEL),
    PublishedFigure("ncbi-disease-biosyn", "biosyn", "SapBERT, fine-tuned", _PUBMEDBERT, 92.3, _SAPBERT),
    PublishedFigure("ncbi-disease-biosyn", "biosyn", "SapBERT, aligned on UMLS", _PUBMEDBERT, 92.0, _SAPBERT),
    PublishedFigure("ncbi-disease-biosyn", "biosyn", "PubMedBERT off the shelf", _PUBMEDBERT, 77.8, _SAPBERT),
    PublishedFigure("bc5cdr-disease-biosyn", "biosyn", "SapBERT, aligned on UMLS", _PUBMEDBERT, 93.5, _SAPBERT),
    PublishedFigure("bc5cdr-disease-biosyn", "biosyn", "SapBERT, fine-tuned", _PUBMEDBERT, 93.2, _SAPBERT),
    PublishedFigure("bc5cdr-disease-biosyn", "biosyn", "PubMedBERT off the shelf", _PUBMEDBERT, 89.0, _SAPBERT),
    PublishedFigure("bc5cdr", "bhowmik-strict", "dual encoder, spans", _TWO_BERTS, 73.8, _BHOWMIK),
    PublishedFigure("bc5cdr", "bhowmik-strict", "MedType", "", 23.5, _BHOWMIK),
    PublishedFigure("bc5cdr", "bhowmik-strict", "SciSpacy", "", 22.3, _BHOWMIK),
    PublishedFigure("bc5cdr", "bhowmik-partial", "dual encoder, spans", _TWO_BERTS, 75.2, _BHOWMIK),
    PublishedFigure("bc5cdr", "bhowmik-partial", "MedType", "", 25.7, _BHOWMIK),
    PublishedFigure("bc5cdr", "bhowmik-partial", "SciSpacy", "", 24.0, _BHOWMIK),
)
"""Ordered by dataset and protocol, the best system first."""


def find_published(dataset: str, split: str, protocol: str) -> tuple[PublishedFigure, ...]:
    """Return the published scores for a dataset and protocol; empty if the split is not `test`.

    >>> [figure.percent for figure in find_published("bc5cdr", "test", "any-id")], find_published("bc5cdr", "dev", "any-id")
    ([94.5, 93.3, 93.1], ())
    """
    is_same = split == _SPLIT
    return tuple(each for each in PUBLISHED if is_same and (each.dataset, each.protocol) == (dataset, protocol))


def find_published_for(manifest: dict[str, Any], protocol: str) -> tuple[PublishedFigure, ...]:
    """Return the published scores for an evaluation's dataset and protocol; empty if only some types are scored."""
    dataset = manifest["dataset"] if not manifest.get("types_scored") else {}
    return find_published(str(dataset.get("name")), str(dataset.get("split")), protocol)
