"""The corpora that a detector learns from: which labels there are, and which of them each corpus speaks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onym.datasets.training import TrainingCorpus
from onym.models.collective import Label
from onym.train.collective.detector.config import DetectorDataConfig
from onym.train.corpora import renamed
from onym.types import Document


@dataclass(frozen=True)
class LabelledCorpus:
    """Documents whose mentions have the types of labels, and the column of each type that the corpus annotates."""

    name: str
    documents: tuple[Document, ...]
    columns: Mapping[str, int]


def labelled_corpora(
    corpora: Sequence[TrainingCorpus], config: DetectorDataConfig
) -> tuple[tuple[Label, ...], list[LabelledCorpus]]:
    """Return the labels, one for each corpus and type or for each type alone, and the corpora with their columns.

    >>> from onym.types import Mention
    >>> def corpus(name, *types):
    ...     mentions = tuple(Mention(0, 3, "flu", ("a:1",), each) for each in types)
    ...     return TrainingCorpus(name, "", "", (Document("1", "flu", mentions),), {})
    >>> both = [corpus("one", "Disease", "Gene"), corpus("two", "Disease")]
    >>> for conventions in (True, False):
    ...     config = DetectorDataConfig(datasets=("one", "two"), conventions=conventions)
    ...     [each.columns for each in labelled_corpora(both, config)[1]]
    [{'Disease': 0, 'Gene': 1}, {'Disease': 2}]
    [{'Disease': 0, 'Gene': 1}, {'Disease': 0}]
    """
    labels: dict[tuple[str, str], int] = {}
    found = []
    for corpus in corpora:
        documents = renamed(corpus.documents, config.types)
        types = sorted({mention.type for doc in documents for mention in doc.mentions})
        convention = corpus.name if config.conventions else ""
        columns = {name: labels.setdefault((convention, name), len(labels)) for name in types}
        found.append(LabelledCorpus(corpus.name, documents, columns))
    return tuple(Label(type=name, corpus=convention) for convention, name in labels), found
