"""Names that mean something else in another pipeline, and the documents that can contain one.

A pipeline is exact if each name is searched and linked on its own: a dictionary detector without classifier, and exact match.
For such a pipeline, everything that the knowledge base says about a name can be computed name by name: whether it is searched,
its spellings, its type, and its ranked candidates. A name has changed if this differs, or if only one of the pipelines has it.

Most names have equal rows in both knowledge bases, and only the others are compared.

A document can change only if a changed name, or another form of one, occurs in its text, as a long form of an abbreviation, or
as an annotated mention. The test may report documents that stay the same, but misses none that changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from onym.detect.dictionary import DictionaryDetector
from onym.detect.names import bare_form
from onym.kb.name_table import NameTable
from onym.kb.ranking import Ranked
from onym.linkers.exact import ExactLinker
from onym.pipeline.pipeline import Pipeline
from onym.store.arrays import Ragged, Strings
from onym.store.storage import Storage
from onym.text.analysis import AnalysedDocument, analyse
from onym.text.fingerprints import NormalTexts
from onym.text.normal import normal_name
from onym.text.spelling import other_forms
from onym.text.typography import fold_document
from onym.types import Document

FILE = "changed-names.parquet"
_NAMES = 1_000  # names that are compared at a time
_WIDER = 4  # with a filter, a linker lists 4 * top_k candidates first
_BYTES = 8
_OF_KB = ("kb", "order", "concepts_spellings", "concepts_digest")  # values of a source that follow from the knowledge base
_SIGMA = "\u03a3"  # its lower case depends on its neighbours
Spellings = frozenset[str] | None


def why_inexact(pipeline: Pipeline) -> str:
    """Return why the links of a pipeline do not depend on single names; empty for an exact pipeline.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> why_inexact(Pipeline(ExactLinker(kb), DictionaryDetector(kb)))
    ''
    """
    detector, linker = pipeline.detector, pipeline.linker
    if detector is not None and type(detector) is not DictionaryDetector:
        return "the detector is not the dictionary"
    if type(linker) is not ExactLinker:
        return f"the linker {linker.config['linker']!r} depends on the whole knowledge base"
    if "classifier" in (detector.config if detector else {}):
        return "the detector has a classifier"
    if linker.config.get("reordered") or (detector and detector.config.get("reordered")):
        return "words are found in any order (option reordered)"
    return "the pipeline has corrections" if pipeline.corrections else ""


def why_other(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return why the sources of two pipelines differ in more than the knowledge base; empty if they do not.

    >>> why_other({"kb": {"digest": "a"}, "top_k": 10}, {"kb": {"digest": "b"}, "top_k": 5})
    'the pipelines differ in top_k'
    """
    before, after = map(_without_kb, (old, new))
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return f"the pipelines differ in {', '.join(names)}" if names else ""


def _without_kb(source: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in source.items() if name not in _OF_KB}
    return {name: _without_kb(value) if isinstance(value, dict) else value for name, value in own.items()}


@dataclass(frozen=True)
class ChangedNames:
    """Changed names in normal form, each with its allowed spellings in either pipeline; None allows all.

    >>> changed = ChangedNames({"fever": None})
    >>> changed.find_documents([Document("1", "High fever."), Document("2", "No cough."), Document("3", "Fevers")])
    [True, False, True]
    """

    names: Mapping[str, Spellings]

    @classmethod
    def between(cls, old: Pipeline, new: Pipeline) -> ChangedNames:
        """Compare two exact pipelines with the same options over two knowledge bases.

        >>> from onym.kb import KnowledgeBase
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
        >>> len(ChangedNames.between(pipeline, pipeline).names)
        0
        """
        rows = _rows_that_differ(old, new)
        before, after = (_describe_names(pipeline, own) for pipeline, own in zip((old, new), rows, strict=True))
        both = before.join(after, on="name", how="full", coalesce=True)
        changed = both.filter(pl.col("said").ne_missing(pl.col("said_right")))["name"]
        return cls({name: _spellings_in(name, (old, new)) for name in changed.sort()})

    @classmethod
    def read(cls, storage: Storage) -> ChangedNames:
        """Read the names of a run."""
        with storage.open(FILE) as file:
            rows = pl.read_parquet(file)
        return cls({name: None if forms is None else frozenset(forms) for name, forms in rows.iter_rows()})

    def write(self, storage: Storage) -> None:
        """Write the names to the folder of a run."""
        forms = [None if each is None else sorted(each) for each in self.names.values()]
        rows = pl.DataFrame(
            {"name": list(self.names), "spellings": forms}, schema={"name": pl.String, "spellings": pl.List(pl.String)}
        )
        with storage.publish(FILE) as file:
            rows.write_parquet(file)

    def find_documents(self, documents: Sequence[Document]) -> list[bool]:
        """Return for each document whether its links can change."""
        if not self.names or not documents:
            return [False] * len(documents)
        docs = [analyse(fold_document(document)) for document in documents]
        found = [_SIGMA in doc.text for doc in docs]
        texts = NormalTexts([doc.text for doc in docs])
        for row in texts.odd:
            found[row] = True
        first, last, rows = self._table.find(texts)
        spans = texts.owners[first], texts.raw_starts[first], texts.raw_ends[last], rows
        for owner, start, end, row in zip(*(column.tolist() for column in spans), strict=True):
            found[owner] = found[owner] or self._may_be_mention(docs[owner], start, end, row)
        return [is_found or self._is_named_otherwise(doc) for is_found, doc in zip(found, docs, strict=True)]

    @cached_property
    def _table(self) -> NameTable:
        return NameTable.of(Strings.of(list(self.names)), forms=True)

    @cached_property
    def _spellings(self) -> list[Spellings]:
        return list(self.names.values())

    def _may_be_mention(self, doc: AnalysedDocument, start: int, end: int, row: int) -> bool:
        """Return whether a name is a mention in one of the pipelines: it has an allowed spelling, or stands for a long form."""
        allowed, surface = self._spellings[row], doc.text[start:end]
        return allowed is None or bare_form(surface) in allowed or doc.analysis.abbreviations.expand(surface) is not None

    def _is_named_otherwise(self, doc: AnalysedDocument) -> bool:
        """Return whether a long form of an abbreviation, or an annotated mention, has a changed name."""
        long_forms = (each.long for each in doc.analysis.abbreviations.definitions)
        surfaces = (mention.surface for mention in doc.mentions)
        return any(self._is_changed(normal_name(text)) for texts in (long_forms, surfaces) for text in texts)

    def _is_changed(self, query: str) -> bool:
        plain = " ".join(query.split())
        return any(name in self.names for name in (query, plain, *other_forms(query), *other_forms(plain)))


def _rows_that_differ(old: Pipeline, new: Pipeline) -> tuple[Sequence[int], Sequence[int]]:
    """Return the rows of names, in either knowledge base, of which the stored rows differ: only these names can have changed.

    If the vocabularies have another order, these are all names.
    """
    if old.kb.order.vocabularies != new.kb.order.vocabularies:
        return range(len(old.kb.names)), range(len(new.kb.names))
    before, after = _terms_of(old), _terms_of(new)
    own = [each for each in before.columns if each != "row"]
    differ = pl.concat([before.join(after, on=own, how="anti"), after.join(before, on=own, how="anti")]).select("name").unique()
    first, last = (terms.join(differ, on="name", how="semi")["row"].unique().sort().to_list() for terms in (before, after))
    return first, last


def _terms_of(pipeline: Pipeline) -> pl.DataFrame:
    """Return the terms of a knowledge base with all that `_digest_names` depends on; `row` is the row of the name."""
    kb, only = pipeline.kb, pipeline.only
    first = kb.concept_terms.astype(np.int64)
    counts = first[1:] - first[:-1]
    owners = np.repeat(np.arange(len(kb), dtype=np.uint32), counts)
    sources = np.full(len(owners), len(kb.sources))
    np.minimum.at(sources, kb.term_sources.owners(), kb.term_sources.values)
    terms = {
        "row": kb.term_names,
        "concept": owners,
        "form": pl.Series(kb.term_forms.to_arrow(), dtype=pl.String),
        "kind": kb.term_kinds,
        "lent": np.zeros(len(owners), np.uint8) if kb.term_lent is None else np.asarray(kb.term_lent),
        "source": sources,
    }
    names = pl.DataFrame({"name": pl.Series(kb.names.to_arrow(), dtype=pl.String)}).with_row_index("row")
    labels = [kb.label_of(row) for row in range(len(kb))]
    concepts = pl.DataFrame(
        {
            "id": pl.Series(kb.concept_ids.to_arrow(), dtype=pl.String),
            "preferred": pl.Series([preferred for preferred, _ in labels], dtype=pl.String),
            "label": pl.Series([group for _, group in labels], dtype=pl.String),
            "types": _join_lists(kb.types, kb.concept_types),
            "groups": _join_lists(kb.groups, kb.concept_groups),
            "names": counts,
            "allowed": np.ones(len(kb), bool) if only is None else only,
        }
    ).with_row_index("concept")
    found = pl.DataFrame(terms).join(names, on="row", maintain_order="left").join(concepts, on="concept", maintain_order="left")
    return found.drop("concept").with_columns(pl.int_range(pl.len()).over("row", "id").alias("nth"))


def _join_lists(words: Strings, lists: Ragged) -> pl.Series:
    """Return each list of words as one string."""
    known = list(words)
    return pl.Series(["\n".join(known[each] for each in lists[row].tolist()) for row in range(len(lists))], dtype=pl.String)


def _describe_names(pipeline: Pipeline, rows: Sequence[int]) -> pl.DataFrame:
    """Return names with a digest of everything that the links of a pipeline depend on."""
    parts = [rows[start : start + _NAMES] for start in range(0, len(rows), _NAMES)]
    digests = [digest for part in parts for digest in _digest_names(pipeline, part)]
    names = [pipeline.kb.names[row] for row in rows]
    return pl.DataFrame({"name": pl.Series(names, dtype=pl.String), "said": pl.Series(digests, dtype=pl.Binary)})


def _digest_names(pipeline: Pipeline, rows: Sequence[int]) -> Iterator[bytes]:
    kb, detector, linker = pipeline.kb, pipeline.detector, pipeline.linker
    texts = [kb.names[row] for row in rows]
    top_k, only = pipeline.options.top_k, pipeline.only
    rankings = [(top_k, only)] if only is None or pipeline.options.restrict else [(_WIDER * top_k, None), (top_k, only)]
    answers = [linker.answering(*each)(texts) for each in rankings] if isinstance(linker, ExactLinker) else []
    for number, row in enumerate(rows):
        found = detector.describe_name(row) if isinstance(detector, DictionaryDetector) else None
        said = (found and (found[0], found[1] and sorted(found[1]), found[2]), [_describe(each[number]) for each in answers])
        yield hashlib.blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


def _describe(ranked: Ranked) -> tuple[Any, ...]:
    found = ((each.concept_id, each.name, each.score, each.preferred_name, each.type) for each in ranked.candidates)
    return ranked.tied, *found


def _spellings_in(name: str, pipelines: Iterable[Pipeline]) -> Spellings:
    """Return the spellings of a name that are mentions in one of the pipelines.

    All are returned if a pipeline has another form of the name, because a rejected name hides its other forms.
    """
    found: set[str] = set()
    for pipeline in pipelines:
        detector, names = pipeline.detector, pipeline.kb.names
        row = names.find(name)
        if not isinstance(detector, DictionaryDetector) or any(names.find(form) >= 0 for form in other_forms(name)):
            return None
        if row >= 0:
            allowed = detector.describe_name(row)[1]
            if allowed is None:
                return None
            found |= allowed
    return frozenset(found)
