"""Evaluation tasks: a split of a dataset, and the knowledge base that its gold ids are resolved in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from onym._version import __version__
from onym.datasets import PreparedDataset, open_dataset
from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.kb.diff import read_replacements
from onym.kb.search import open_similarity
from onym.packs.locate import locate_kb
from onym.store.cache import Verify
from onym.text.similarity import NameSimilarity
from onym.types import Document


@dataclass(frozen=True)
class EvaluationTask:
    """A split of a dataset and a knowledge base. `replaced` maps retired ids to their successors, for scoring only.

    `types` are the annotated types that are scored; empty means all.
    """

    dataset: PreparedDataset
    split: str
    kb: KnowledgeBase
    replaced: Mapping[str, str] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        dataset: str,
        split: str = "test",
        *,
        kb: Path | KnowledgeBase | None = None,
        data: Path | None = None,
        replaced: Path | None = None,
        verify: Verify = "once",
        prefer: Sequence[str] = (),
    ) -> EvaluationTask:
        """Open a dataset by name or folder, and a knowledge base; it defaults to the dictionary that belongs to the dataset.

        `data` is the folder with the published files, `replaced` a table of old and new ids. `verify` says when the files of
        dataset and KB are hashed. If concepts have equal scores, linkers rank concepts of the vocabularies in `prefer` first.

        >>> EvaluationTask.open("no-such-dataset")
        Traceback (most recent call last):
        onym.errors.ConfigError: [dataset-unknown] no dataset is named 'no-such-dataset'...
        """
        prepared = open_dataset(dataset, data, verify=verify)
        resolved = kb if isinstance(kb, KnowledgeBase) else _open_kb(prepared, kb, verify, prefer)
        return cls(prepared, split, resolved, _read_replaced(replaced) if replaced else {})

    @property
    def source(self) -> dict[str, Any]:
        """The dataset as recorded in predictions and reports."""
        return {"name": self.dataset.name, "digest": self.dataset.digest, "split": self.split}

    def gold(self) -> list[Document]:
        """Return the documents of the split, with only the mentions of the scored types."""
        documents = list(self.dataset.documents(self.split))
        if not self.types:
            return documents
        return [
            replace(doc, mentions=tuple(each for each in doc.mentions if each.type in self.types), relations=())
            for doc in documents
        ]

    @cached_property
    def annotated_types(self) -> tuple[str, ...]:
        """All annotated types of the split, sorted."""
        return tuple(sorted({mention.type for doc in self.dataset.documents(self.split) for mention in doc.mentions}))

    def with_types(self, types: Sequence[str]) -> EvaluationTask:
        """Return a copy that scores only these annotated types; raise ConfigError if the split lacks one of them."""
        if unknown := sorted(set(types) - set(self.annotated_types)):
            what = f"no mention of {self.title} has the type {unknown[0]!r}"
            raise ConfigError("filter-unknown", what, fix=f"use one of {', '.join(self.annotated_types)}")
        return replace(self, types=tuple(dict.fromkeys(types)))

    def texts(self) -> Iterator[Document]:
        """Yield the documents of the split without their annotations."""
        return map(without_annotations, self.dataset.documents(self.split))

    @property
    def title(self) -> str:
        """The dataset and split for display, e.g. `bc5cdr (test)`."""
        return f"{self.dataset.name} ({self.split})"

    @property
    def drop_counts(self) -> dict[str, int]:
        """The number of mentions dropped by the dataset preparation, by reason."""
        dropped: dict[str, int] = self.dataset.report["splits"][self.split]["dropped"]
        return {f"dropped by the preparation: {reason}": count for reason, count in dropped.items()}

    @cached_property
    def resolver(self) -> ConceptResolver:
        """Resolves gold and predicted ids to concepts."""
        return ConceptResolver(self.kb, self.replaced)

    @cached_property
    def similarity(self) -> NameSimilarity:
        """The string similarity of names of the knowledge base."""
        return open_similarity(self.kb)

    def manifest(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        """Return all inputs and settings that the scores depend on; `predictions` is the source recorded in the predictions."""
        return {
            "onym": __version__,
            "dataset": self.source,
            "inputs": {entry.name: entry.sha256 for entry in self.dataset.manifest.inputs},
            "kb": {"digest": self.kb.digest, "concepts": len(self.kb), "names": len(self.kb.names)},
            "predictions": dict(predictions),
            "replaced_ids": len(self.replaced),
            "types_scored": list(self.types),
            "types_restricted": bool(self.dataset.report["restricts_types"]),
            "overlap": self.dataset.report["overlap"],
        }

    def require_same_kb(self, predictions: Mapping[str, Any]) -> None:
        """Raise ConfigError if the predictions record a different knowledge base."""
        kb = predictions.get("kb")
        digest = kb.get("digest", "") if isinstance(kb, dict) else ""
        if digest and digest != self.kb.digest:
            what = f"the predictions were made with the knowledge base {digest}, not with {self.kb.digest}"
            fix = "pass that knowledge base with --kb, or link again with this one"
            raise ConfigError("kb-mismatch", what, where=str(self.kb.folder), fix=fix)


def describe_split(manifest: Mapping[str, Any]) -> str:
    """Return the scored split for display; if only some annotated types are scored, these are listed too.

    >>> describe_split({"dataset": {"split": "test"}, "types_scored": ["Disease"]})
    'test, type Disease'
    """
    types = manifest.get("types_scored", ())
    named = f", {'types' if len(types) > 1 else 'type'} {', '.join(types)}" if types else ""
    return f"{manifest['dataset']['split']}{named}"


def without_annotations(doc: Document) -> Document:
    """Return a copy of a document with its id, text and source only.

    >>> without_annotations(Document("1", "fever", source="a.txt", ordinal=3)).key
    ('1', 'a.txt', 3)
    """
    return Document(doc.id, doc.text, source=doc.source, ordinal=doc.ordinal)


def _open_kb(dataset: PreparedDataset, kb: Path | None, verify: Verify, prefer: Sequence[str]) -> KnowledgeBase:
    folder = kb or dataset.kb_folder
    if folder is None:
        what = f"{dataset.name} has no dictionary of its own; it was annotated with {dataset.report['kb']['intended']}"
        raise ConfigError("kb-needed", what, fix="build that knowledge base and pass it with --kb")
    return KnowledgeBase.open(locate_kb(folder), verify=verify, prefer=prefer)


def _read_replaced(path: Path) -> dict[str, str]:
    """Read a table of retired ids; ids with several successors are skipped as ambiguous."""
    return dict(read_replacements(path).unique("concept", keep="none").iter_rows())
