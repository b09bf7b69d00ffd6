"""What systems that find mentions themselves are judged on: a split, the knowledge base, and the concepts that are looked for.

    bc5cdr          chemicals and diseases
    ncbi_disease    diseases
    biored          chemicals and diseases; the genes, variants, species and cell lines of BioRED are not asked for

    nlm_chem        chemicals of whole articles; it has a test split alone

They are linked to the open knowledge base, or to the joined one, where groups say which concepts are looked for. Nothing is
left out: a mention whose id the knowledge base lacks cannot be found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb, open_kb_joined
from onym.datasets.cached import open_dataset
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, select_concepts
from onym.types import Document

DISEASES = (*(f"C{number:02}" for number in range(1, 27)), "F03")
TRAINED_ON = ("bc5cdr",)
"""The corpora that the systems over the open knowledge base were trained on, whatever they are judged on. Those over the joined
one were trained without any document of a dev or test split."""
CHEMICALS = ("D01", "D02", "D03", "D04", "D06", "D09", "D10")


@dataclass(frozen=True, slots=True)
class Kind:
    """A corpus; mentions of other types than `types` are not asked for, and concepts of other kinds are not looked for."""

    title: str
    dataset: str
    concepts: tuple[str, ...]
    types: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("Disease", "Chemical")


KINDS = {
    "bc5cdr": Kind("BC5CDR", "bc5cdr", DISEASES + CHEMICALS),
    "ncbi_disease": Kind("NCBI disease", "ncbi-disease", DISEASES, groups=("Disease",)),
    "biored": Kind("BioRED, diseases and chemicals", "biored", DISEASES + CHEMICALS, ("Disease", "Chemical")),
    "nlm_chem": Kind("NLM-Chem", "nlm-chem", CHEMICALS, ("Chemical",), groups=("Chemical",)),
}
OPEN, JOINED = "open", "joined"
"""The knowledge bases."""


@dataclass(frozen=True, slots=True)
class EndToEndTask:
    """The documents of a split with their gold mentions, the knowledge base, and the concepts that may be answers."""

    documents: tuple[Document, ...]
    kb: KnowledgeBase
    only: ConceptMask | None
    source: dict[str, object]
    shared: frozenset[str] = frozenset()
    """The ids of documents that stand in the train or dev split of another corpus, which models here were trained on."""

    def without_shared(self) -> EndToEndTask:
        """Return the task without these documents."""
        kept = tuple(doc for doc in self.documents if doc.id not in self.shared)
        return replace(self, documents=kept, shared=frozenset())


def end_to_end_task(key: str, split: str, base: str = OPEN) -> EndToEndTask:
    """Open a task over a knowledge base; what was never built on this machine is built in the cache folder."""
    kind, kb = KINDS[key], open_kb_joined() if base == JOINED else open_kb()
    prepared = open_dataset(kind.dataset, data_folder())
    documents = tuple(_of_types(doc, kind.types) for doc in prepared.documents(split))
    wanted = kind.groups if base == JOINED else [each for each in kind.concepts if kb.types.find(each) >= 0]
    only = select_concepts(kb, wanted, ())
    seen = _trained_on(kind.dataset) if base == OPEN else frozenset[str]()
    shared = frozenset(doc.id for doc in documents) & seen
    return EndToEndTask(documents, kb, only, {"name": prepared.name, "digest": prepared.digest, "split": split}, shared)


def _trained_on(dataset: str) -> frozenset[str]:
    """Return the ids of the documents that models of this section have seen, but for those of the dataset itself."""
    others = (open_dataset(name, data_folder()) for name in TRAINED_ON if name != dataset)
    return frozenset(doc.id for other in others for split in ("train", "dev") for doc in other.documents(split))


def _of_types(doc: Document, types: tuple[str, ...]) -> Document:
    mentions = tuple(mention for mention in doc.mentions if not types or mention.type in types)
    return replace(doc, mentions=mentions, relations=())
