"""Tasks of end-to-end systems: a split, the knowledge base, and the concepts to find.

    bc5cdr          chemicals and diseases
    ncbi_disease    diseases
    biored          chemicals and diseases; not the genes, variants, species and cell lines of BioRED

    nlm_chem        chemicals in full-text articles; only a test split
    hpo_gsc         phenotypic abnormalities, linked to the Human Phenotype Ontology; no training split

All but hpo_gsc are linked to the open knowledge base, or to the joined one, whose semantic groups select the concepts to find.
All gold mentions count: one whose id is not in the knowledge base counts as missed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.accuracy.kb_hpo import hpo_parents
from benchmarks.report import data_folder
from benchmarks.results.store import Figures
from benchmarks.results.tasks import hpo_kb, open_kb, open_kb_joined
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.end_to_end import ScoresWithIntervals, merge_predictions, score_all
from onym.evaluate.metrics import score
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter, ConceptMask, concepts_with_ids, select_concepts
from onym.outputs.predictions import DocumentNames, Predictions
from onym.types import Document

DISEASES = (*(f"C{number:02}" for number in range(1, 27)), "F03")
TRAINED_ON = ("bc5cdr",)
"""The corpora that the systems over the open knowledge base were trained on, whatever they are judged on. Those over the joined
one were trained without any document of a dev or test split."""
CHEMICALS = ("D01", "D02", "D03", "D04", "D06", "D09", "D10")


@dataclass(frozen=True, slots=True)
class Kind:
    """A corpus. Only mentions of `types`, and concepts of the matching kinds, are used.

    `base` is its knowledge base if only one is possible. `dev_corpus`, for a corpus without a dev split, is the corpus whose
    dev split selects the best system.
    """

    title: str
    dataset: str
    concepts: tuple[str, ...]
    types: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("Disease", "Chemical")
    base: str = ""
    dev_corpus: str = ""


KINDS = {
    "bc5cdr": Kind("BC5CDR", "bc5cdr", DISEASES + CHEMICALS),
    "ncbi_disease": Kind("NCBI disease", "ncbi-disease", DISEASES, groups=("Disease",)),
    "biored": Kind("BioRED, diseases and chemicals", "biored", DISEASES + CHEMICALS, ("Disease", "Chemical")),
    "nlm_chem": Kind("NLM-Chem", "nlm-chem", CHEMICALS, ("Chemical",), groups=("Chemical",), dev_corpus="bc5cdr"),
    "hpo_gsc": Kind("HPO GSC+", "hpo-gsc", (), base="hpo"),
}
OPEN, JOINED = "open", "joined"
"""The knowledge bases."""
PHENOTYPES = "HP:0000118"
"""The term of HPO that all phenotypic abnormalities are below; the others are modes of inheritance, modifiers and the like."""


@dataclass(frozen=True, slots=True)
class EndToEndTask:
    """The documents of a split with their gold mentions, the knowledge base, and the allowed concepts."""

    documents: tuple[Document, ...]
    kb: KnowledgeBase
    only: ConceptMask | None
    source: dict[str, object]
    shared: frozenset[str] = frozenset()
    """The ids of documents that stand in the train or dev split of another corpus, which models here were trained on."""

    def drop_documents(self) -> EndToEndTask:
        """Return the task without these documents."""
        kept = tuple(doc for doc in self.documents if doc.id not in self.shared)
        return replace(self, documents=kept, shared=frozenset())


def end_to_end_task(key: str, split: str, base: str = OPEN) -> EndToEndTask:
    """Open a task over a knowledge base; missing artefacts are built in the cache directory."""
    kind = KINDS[key]
    prepared = open_dataset(kind.dataset, data_folder())
    documents = tuple(_of_types(doc, kind.types) for doc in prepared.documents(split))
    kb, only = _phenotypes() if kind.base else _open_filtered_kb(kind, base)
    seen = _find_training_ids(kind.dataset) if base == OPEN and not kind.base else frozenset[str]()
    shared = frozenset(doc.id for doc in documents) & seen
    return EndToEndTask(documents, kb, only, {"name": prepared.name, "digest": prepared.digest, "split": split}, shared)


def _open_filtered_kb(kind: Kind, base: str) -> tuple[KnowledgeBase, ConceptMask | None]:
    """Return a knowledge base and the concepts to find."""
    kb = open_kb_joined() if base == JOINED else open_kb()
    wanted = kind.groups if base == JOINED else [each for each in kind.concepts if kb.types.find(each) >= 0]
    return kb, select_concepts(kb, ConceptFilter(types=tuple(wanted)))


def _phenotypes() -> tuple[KnowledgeBase, ConceptMask]:
    """Return the Human Phenotype Ontology and its phenotypic abnormalities."""
    kb, parents = hpo_kb(), hpo_parents()
    below = {PHENOTYPES}
    while more := {term for term, above in parents.items() if term not in below and not below.isdisjoint(above)}:
        below |= more
    return kb, concepts_with_ids(kb, sorted(below))


def _find_training_ids(dataset: str) -> frozenset[str]:
    """Return the ids of documents in the training data of this section's models, excluding the dataset itself."""
    others = (open_dataset(name, data_folder()) for name in TRAINED_ON if name != dataset)
    return frozenset(doc.id for other in others for split in ("train", "dev") for doc in other.documents(split))


def _of_types(doc: Document, types: tuple[str, ...]) -> Document:
    mentions = tuple(mention for mention in doc.mentions if not types or mention.type in types)
    return replace(doc, mentions=mentions, relations=())


# Figures computed from stored predictions, for detected and for gold mentions, under the keys that rows have.

KEYS = {
    "strict": "bhowmik-strict",
    "partial": "bhowmik-partial",
    "overlap": "neleval-overlap-maxmax",
    "document": "document",
}


def judge_found(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return precision, recall and F1 in percent by each protocol, and the 95 % confidence interval of the strict F1."""
    found = _scores(task, predictions)
    figures: Figures = {}
    for key, protocol in KEYS.items():
        scores = found[protocol].scores
        figures |= {f"{key}_p": scores.precision, f"{key}_r": scores.recall, f"{key}_f1": scores.f1}
    low, high = found[KEYS["strict"]].f1
    if task.shared:
        figures["reduced_f1"] = _scores(task.drop_documents(), predictions)[KEYS["strict"]].scores.f1
    shares = {name: round(100 * value, 1) for name, value in (figures | {"low": low, "high": high}).items()}
    counts = {"documents": len(task.documents), "gold": sum(len(doc.mentions) for doc in task.documents)}
    return shares | counts | ({"shared": len(task.shared)} if task.shared else {})


def _scores(task: EndToEndTask, predictions: Predictions) -> dict[str, ScoresWithIntervals]:
    return score_all(task.documents, merge_predictions(task.documents, predictions), ConceptResolver(task.kb).canonical)


def judge_annotated(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return recall@1 and MAP in percent on gold mentions; a gold id that is not in the KB counts as wrong."""
    known = predictions.answers_to(DocumentNames.of_documents(task.documents))
    cases = gold_cases(task.documents, lambda key: known[key], ConceptResolver(task.kb), is_decided=predictions.is_decided)
    any_id, strict = score(cases, "any-id"), score(cases, "strict")
    shares = {"any_id_r1": any_id.recall[1], "strict_r1": strict.recall[1], "map": strict.mean_average_precision}
    counts = {"documents": len(task.documents), "gold": len(cases), "in_kb": strict.in_kb}
    return {name: round(100 * value, 1) for name, value in shares.items()} | counts
