"""Slices: subgroups of the test cases, for results by subgroup.

The first seven are the sub-populations of GenBioEL (appendix C.2, table 8); the five similarity bins are those of ANGEL's
figure 4. Mentions are used as written in the documents, without expanding abbreviations. GenBioEL expands them (appendix A),
apparently before counting: it reports about 7,040 single-word mentions in BC5CDR's test split, and we count 7,657. If the
preparation split a composite mention into parts, all its parts must satisfy the definition of a slice. If the definition says
*any part*, one part is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from onym.evaluate.cases import CanonicalId, Case
from onym.kb import KnowledgeBase
from onym.text.abbreviations import Abbreviations
from onym.text.normal import normal_name
from onym.types import Document

Similarity = Callable[[list[str], list[list[str]]], list[float]]
"""The string similarity, from 0 to 1, of each surface to the most similar of its names; both are normalised."""

BINS = 5
"""The number of similarity bins."""
TOP = 100
"""The number of most frequent training concepts in the slice `top-100-concepts`."""
NO_TRAINING = "needs the documents that the system was trained on"
NO_SIMILARITY = "needs a measure of string similarity"


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice: its short name, its title for reports, and its definition."""

    name: str
    title: str
    definition: str


@dataclass(frozen=True, slots=True)
class Sliced:
    """The indices of the cases in each slice, by slice name, and the reason for each slice that was left out."""

    indices: dict[str, list[int]]
    left_out: dict[str, str] = field(default_factory=dict)


def _bin(number: int) -> Slice:
    low, high = f"{number / BINS:.1f}", f"{(number + 1) / BINS:.1f}"
    definition = (
        f"The string similarity of the mention to the most similar name of a gold concept is at least {low} and "
        f"{'at most' if number + 1 == BINS else 'below'} {high}; for mentions split into parts, the least similar part counts; "
        f"cases whose gold concepts have no name in the knowledge base are in no bin."
    )
    return Slice(f"similarity-{low}", f"Similarity {low} to {high}", definition)


_SLICES = (
    Slice("overall", "Overall", "All cases."),
    Slice("single-word", "Single-word mentions", "The mention is one word, without white space."),
    Slice("multi-word", "Multi-word mentions", "The mention has several words, separated by white space."),
    Slice("unseen-mentions", "Unseen mentions", "The normalised mention is not in the training documents."),
    Slice("unseen-concepts", "Unseen concepts", "A gold concept is not in the training documents."),
    Slice("not-direct-match", "Not direct match", "The normalised mention is not a name of a gold concept."),
    Slice(
        "top-100-concepts",
        "Top 100 concepts",
        "All gold concepts are among the 100 that the training documents mention most often.",
    ),
    Slice("seen-mentions", "Seen mentions", "The normalised mention is in the training documents."),
    Slice("seen-concepts", "Seen concepts", "All gold concepts are in the training documents."),
    Slice(
        "homonyms",
        "Homonyms",
        "The normalised mention or its long form is a name of more than one concept of the knowledge base (any part).",
    ),
    Slice("abbreviations", "Abbreviations", "The document defines the mention as an abbreviation (any part)."),
    Slice("composites", "Composites", "The mention has more than one gold concept."),
    *map(_bin, range(BINS)),
)
SLICES: dict[str, Slice] = {part.name: part for part in _SLICES}
"""All slices, in the order of the report."""
SIMILARITY_BINS: tuple[str, ...] = tuple(_bin(number).name for number in range(BINS))
NEED_TRAINING = ("unseen-mentions", "unseen-concepts", "top-100-concepts", "seen-mentions", "seen-concepts")


@dataclass(frozen=True, slots=True)
class Training:
    """Training data of a system: normalised mentions, and the number of mentions of each concept."""

    surfaces: frozenset[str]
    concepts: Counter[str]

    @classmethod
    def of(cls, documents: Iterable[Document], canonical: CanonicalId = str) -> Training:
        """Collect the mentions and concepts of training documents; mentions without a concept are ignored.

        >>> from onym.types import Mention
        >>> doc = Document("1", "Fever", (Mention(0, 5, "Fever", ("mesh:D005334",)),))
        >>> Training.of([doc]).surfaces
        frozenset({'fever'})
        """
        mentions = [mention for doc in documents for mention in doc.mentions if mention.concept_ids]
        concepts = Counter(canonical(concept_id) for mention in mentions for concept_id in mention.concept_ids)
        return cls(frozenset(normal_name(mention.surface) for mention in mentions), concepts)

    def top(self, count: int) -> frozenset[str]:
        """Return the `count` most frequent concepts; ties are broken by id."""
        ordered = sorted(self.concepts.items(), key=lambda item: (-item[1], item[0]))
        return frozenset(concept_id for concept_id, _ in ordered[:count])


def slices_of(
    cases: Sequence[Case],
    kb: KnowledgeBase,
    *,
    training: Training | None = None,
    similarity: Similarity | None = None,
) -> Sliced:
    """Assign cases to slices. A slice whose input (`training` or `similarity`) is missing is left out, with the reason.

    The ids in the cases and in the training documents must already be canonical.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> case = Case("1", frozenset({"mesh:D005334"}), ((),), mentions=(Mention(0, 5, "Fever"),))
    >>> found = slices_of([case], kb)
    >>> found.indices["single-word"], found.indices["not-direct-match"]
    ([0], [])
    >>> found.left_out["seen-mentions"]
    'needs the documents that the system was trained on'
    """
    tests = _tests(kb)
    left_out: dict[str, str] = {}
    if training is None:
        left_out |= dict.fromkeys(NEED_TRAINING, NO_TRAINING)
    else:
        tests |= _training_tests(training)
    found = {name: [i for i, case in enumerate(cases) if test(case)] for name, test in tests.items()}
    if similarity is None:
        left_out |= dict.fromkeys(SIMILARITY_BINS, NO_SIMILARITY)
    else:
        found |= _bins(cases, kb, similarity)
    return Sliced({name: found[name] for name in SLICES if name in found}, left_out)


_Test = Callable[[Case], bool]


def _tests(kb: KnowledgeBase) -> dict[str, _Test]:
    long_forms = _LongForms()

    def is_homonym(case: Case) -> bool:
        return any(len(kb.concepts_named(name)) > 1 for name in (*_surfaces(case), *long_forms.of(case)))

    return {
        "overall": lambda _: True,
        "single-word": _is_single_word,
        "multi-word": lambda case: not _is_single_word(case),
        "not-direct-match": lambda case: not _is_direct_match(case, kb),
        "homonyms": is_homonym,
        "abbreviations": lambda case: bool(long_forms.of(case)),
        "composites": lambda case: case.is_composite,
    }


def _training_tests(training: Training) -> dict[str, _Test]:
    top = training.top(TOP)

    def is_seen(case: Case) -> bool:
        return all(normal_name(surface) in training.surfaces for surface in _surfaces(case))

    def has_seen_concepts(case: Case) -> bool:
        return case.gold <= training.concepts.keys()

    return {
        "unseen-mentions": lambda case: not is_seen(case),
        "unseen-concepts": lambda case: not has_seen_concepts(case),
        "top-100-concepts": lambda case: case.gold <= top,
        "seen-mentions": is_seen,
        "seen-concepts": has_seen_concepts,
    }


class _LongForms:
    """Looks up the long forms of abbreviated mentions; each document is parsed once."""

    def __init__(self) -> None:
        self._by_text: dict[str, Abbreviations] = {}

    def of(self, case: Case) -> list[str]:
        """Return the long forms of the case's mentions that the document defines as abbreviations."""
        if case.document is None:
            return []
        text = case.document.text
        if text not in self._by_text:
            self._by_text[text] = Abbreviations.from_text(text)
        return [long for surface in _surfaces(case) if (long := self._by_text[text].expand(surface))]


def _surfaces(case: Case) -> list[str]:
    return [mention.surface for mention in case.mentions]


def _is_single_word(case: Case) -> bool:
    return all(len(surface.split()) == 1 for surface in _surfaces(case))


def _is_direct_match(case: Case, kb: KnowledgeBase) -> bool:
    gold = _gold_concepts(case, kb)
    return all(not gold.isdisjoint(kb.concepts_named(surface)) for surface in _surfaces(case))


def _gold_concepts(case: Case, kb: KnowledgeBase) -> set[int]:
    return {concept for concept_id in case.gold for concept in kb.resolve(concept_id)}


def _bins(cases: Sequence[Case], kb: KnowledgeBase, similarity: Similarity) -> dict[str, list[int]]:
    """Assign cases to similarity bins; a case with several parts is put into the bin of its least similar part."""
    owners, surfaces, names = [], [], []
    for index, case in enumerate(cases):
        of_gold = sorted({int(name) for concept in _gold_concepts(case, kb) for name in kb.names_of(concept)})
        if of_gold:
            owners += [index] * len(case.mentions)
            surfaces += [normal_name(surface) for surface in _surfaces(case)]
            names += [[kb.names[name] for name in of_gold]] * len(case.mentions)
    least: dict[int, float] = {}
    for index, value in zip(owners, similarity(surfaces, names), strict=True):
        least[index] = min(value, least.get(index, value))
    found: dict[str, list[int]] = {name: [] for name in SIMILARITY_BINS}
    for index, value in least.items():
        found[SIMILARITY_BINS[min(BINS - 1, max(0, int(value * BINS)))]].append(index)
    return found
