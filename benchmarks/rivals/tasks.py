"""What the systems are compared on: documents with gold mentions, the knowledge base, and the scores of answers.

    text      raw text end to end: strict F1 of spans and concepts
    mentions  the gold mentions in their documents: strict recall@1, one concept for each mention
    terms     each distinct surface of the gold mentions, without context, if all its mentions have the same concept

All tasks but GSC-2024 use the knowledge base of the starter, whose ids are those of MeSH, MONDO and HPO; GSC-2024 uses HPO. A
system may answer several concepts for a mention. Of those with the best score, the first one counts that the task asks for, one
of MeSH before others, because the corpora are annotated with MeSH. Answers that the task does not ask for, such as chemicals in
NCBI disease, are dropped. This is done for all systems alike. Gold ids that are not in the knowledge base count as missed.
"""

from __future__ import annotations

import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb
from benchmarks.rivals.adapters.serving import Answer, Request
from onym.corpora import documents_of, read_corpus
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import Case, ConceptResolver, gold_cases
from onym.evaluate.end_to_end import bootstrap_intervals, score_with_intervals, shares_of_counts
from onym.evaluate.metrics import find_protocol
from onym.evaluate.significance import (
    bootstrap_interval,
    bootstrap_paired_sums,
    mcnemar_exact,
)
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter, select_concepts
from onym.packs.locate import KB, STARTER, locate
from onym.store.cache import cache_folder
from onym.types import Document, Mention

TaskName = Literal["text", "mentions", "terms"]
BaseName = Literal["starter", "hpo"]
DATASETS: dict[str, tuple[str, ...]] = {
    "bc5cdr": ("Chemical", "Disease"),
    "ncbi-disease": ("Disease",),
    "biored": ("Chemical", "Disease"),
}
"""The corpora with MeSH ids, and the semantic groups that are asked for."""
_TYPES = {"biored": ("Chemical", "Disease")}
"""The types of mentions that are scored, of a corpus that has others too."""
GSC = "gsc-2024"
_GSC_FILE = "gsc_2024/gsc_2024.tar.gz"
_ANNOTATION = re.compile(r"(\d+):(\d+)\t(HP:\d{7})\t(.+)")
_OLD = "pubmed/pubmed20n0014.xml.gz"
_SHORTEST = 600  # characters of a citation with an abstract
PREFER: dict[BaseName, tuple[str, ...]] = {"starter": ("mesh",), "hpo": ()}
"""The vocabularies whose concepts come first."""


@dataclass(frozen=True, slots=True)
class RivalTask:
    """Documents with gold mentions, and the knowledge base that all systems link to."""

    name: TaskName
    dataset: str
    documents: tuple[Document, ...]
    kb: KnowledgeBase
    groups: tuple[str, ...] = ()

    def requests(self, part: str) -> list[Request]:
        """Return the documents as the adapters read them."""
        return [request_of(doc, part, self.name) for doc in self.documents]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The score of a system with its 95 % interval, and what a paired test needs: counts by document, or hits by mention."""

    score: float
    low: float
    high: float
    rows: npt.NDArray[np.float64] = field(compare=False, repr=False)


def base_of(dataset: str) -> BaseName:
    """Return the knowledge base of a dataset."""
    return "hpo" if dataset == GSC else "starter"


def base_folder(base: BaseName) -> Path:
    """Return the folder of a knowledge base; that of HPO is built if it is missing."""
    if base == "hpo":
        hpo_kb()
        return cache_folder() / "benchmarks" / "hpo-kb"
    return locate(STARTER) / KB


@cache
def open_base(base: BaseName) -> KnowledgeBase:
    """Open a knowledge base; ids of MeSH come first."""
    return KnowledgeBase.open(base_folder(base), prefer=PREFER[base])


def open_task(name: TaskName, dataset: str, split: str, limit: int | None = None) -> RivalTask:
    """Open a task, at most `limit` documents of it."""
    documents = _read_gsc() if dataset == GSC else read_split(dataset, split)
    chosen = tuple(documents[:limit])
    wanted = _terms(chosen) if name == "terms" else chosen
    return RivalTask(name, dataset, wanted, open_base(base_of(dataset)), DATASETS.get(dataset, ()))


def read_split(dataset: str, split: str) -> list[Document]:
    """Return the documents of a split, with the mentions that are scored."""
    return [_of_types(doc, _TYPES.get(dataset, ())) for doc in open_dataset(dataset, data_folder()).documents(split)]


def request_of(doc: Document, part: str, task: TaskName) -> Request:
    """Return a document as the adapters read it."""
    spans = None if task == "text" else [[each.start, each.end] for each in doc.mentions]
    return {"part": part, "task": task, "id": doc.id, "text": doc.text, "spans": spans}


def open_abstracts(part: str, count: int) -> list[Request]:
    """Return PubMed citations with an abstract."""
    read = documents_of(read_corpus(data_folder() / _OLD))
    found = (doc for doc in read if len(doc.text) >= _SHORTEST)
    return [request_of(doc, part, "text") for doc in islice(found, count)]


def _of_types(doc: Document, types: Sequence[str]) -> Document:
    kept = [each for each in doc.mentions if not types or each.type in types]
    unique = {(each.start, each.end): each for each in reversed(kept)}
    mentions = tuple(Mention(each.start, each.end, each.surface, each.concept_ids) for _, each in sorted(unique.items()))
    return Document(doc.id, doc.text, mentions)


def _read_gsc() -> list[Document]:
    """Read GSC-2024: for each abstract a file with its text and a file with lines of offsets, id and surface."""
    texts: dict[str, str] = {}
    spans: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    with tarfile.open(data_folder() / _GSC_FILE) as archive:
        for member in archive:
            folder, _, name = member.name.rpartition("/")
            if not (file := archive.extractfile(member)):
                continue
            text = file.read().decode("utf-8")
            if folder.endswith("/Text"):
                texts[name] = text
            elif folder.endswith("/Annotations"):
                found = (_ANNOTATION.fullmatch(line.rstrip("\r")) for line in text.split("\n"))
                spans[name] = [(int(each[1]), int(each[2]), each[3].lower()) for each in found if each]
    return [Document(name, text, _mentions_at(text, spans[name])) for name, text in sorted(texts.items())]


def _mentions_at(text: str, spans: Iterable[tuple[int, int, str]]) -> tuple[Mention, ...]:
    ids: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for start, end, concept_id in spans:
        ids[start, end].append(concept_id)
    unique = {span: tuple(dict.fromkeys(found)) for span, found in sorted(ids.items())}
    return tuple(Mention(start, end, text[start:end], found) for (start, end), found in unique.items())


def _terms(documents: Iterable[Document]) -> tuple[Document, ...]:
    ids: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for doc in documents:
        for each in doc.mentions:
            if each.concept_ids:
                ids[" ".join(each.surface.split())].add(each.concept_ids)
    chosen = sorted((surface, next(iter(known))) for surface, known in ids.items() if len(known) == 1)
    return tuple(
        Document(str(number), surface, (Mention(0, len(surface), surface, known),))
        for number, (surface, known) in enumerate(chosen)
    )


class Judge:
    """Scores the answers of systems on one task."""

    def __init__(self, task: RivalTask) -> None:
        self.task = task
        self._resolver = ConceptResolver(task.kb)
        self._mask = select_concepts(task.kb, ConceptFilter(types=task.groups)) if task.groups else None

    def judge(self, answers: Mapping[str, Sequence[Answer]]) -> Judgement:
        """Return the score of the answers of each document."""
        chosen = {key: self.choose(mentions) for key, mentions in answers.items()}
        return self._judge_found(chosen) if self.task.name == "text" else self._judge_given(chosen)

    def choose(self, mentions: Iterable[Answer]) -> dict[tuple[int, int], str]:
        """Return the concept of each span."""
        found = ((start, end, self._best(concepts)) for start, end, concepts in mentions)
        return {(start, end): best for start, end, best in found if best}

    def _best(self, concepts: Sequence[tuple[str, float]]) -> str:
        """Return the best concept; empty if the task does not ask for it."""
        if not concepts:
            return ""
        top = max(score for _, score in concepts)
        equal = [self._resolver.canonical(key) for key, score in concepts if score >= top - 1e-9]
        best = min(
            equal,
            key=lambda key: (not self._is_asked(key), not key.startswith("mesh:")),
        )
        return best if self._is_asked(best) else ""

    def _is_asked(self, concept_id: str) -> bool:
        if self._mask is None:
            return True
        rows = self.task.kb.resolve(concept_id)
        return bool(len(rows)) and bool(self._mask[rows[0]])

    def _judge_found(self, chosen: Mapping[str, Mapping[tuple[int, int], str]]) -> Judgement:
        predicted = [self._predict(doc, chosen.get(doc.id, {})) for doc in self.task.documents]
        found = score_with_intervals(self.task.documents, predicted, "bhowmik-strict", self._resolver.canonical)
        return Judgement(found.scores.f1, *found.f1, found.counts)

    @staticmethod
    def _predict(doc: Document, spans: Mapping[tuple[int, int], str]) -> Document:
        mentions = tuple(Mention(start, end, doc.text[start:end], (key,)) for (start, end), key in sorted(spans.items()))
        return replace(doc, mentions=mentions)

    def _judge_given(self, chosen: Mapping[str, Mapping[tuple[int, int], str]]) -> Judgement:
        def answers(key: Any) -> list[tuple[tuple[str, ...], float, int]]:
            concept = chosen.get(key[0], {}).get((key[1], key[2]))
            return [((concept,), 1.0, 0)] if concept else []

        cases = gold_cases(self.task.documents, answers, self._resolver)
        strict = find_protocol("strict")
        hits = [strict(case) == 1 for case in cases]
        low, high = bootstrap_interval(hits, groups=_document_of(cases))
        return Judgement(sum(hits) / max(len(hits), 1), low, high, np.array(hits, dtype=np.float64))


def _document_of(cases: Sequence[Case]) -> list[str]:
    return [case.document_id for case in cases]


def judgement_of_counts(rows: npt.NDArray[np.float64]) -> Judgement:
    """Return the judgement of raw text from the counts of its documents."""
    return Judgement(float(shares_of_counts(rows.sum(axis=0))[2]), *bootstrap_intervals(rows)[2], rows)


def p_value(task: TaskName, one: Judgement, other: Judgement) -> float:
    """Return the p-value of a paired test: of the F1 over documents, or McNemar's of the recall over mentions."""
    if task == "text":
        return bootstrap_paired_sums(
            one.rows,
            other.rows,
            lambda sums: shares_of_counts(sums)[2],
            replicates=2_000,
        ).p_value
    return mcnemar_exact(one.rows.astype(int), other.rows.astype(int)).p_value
