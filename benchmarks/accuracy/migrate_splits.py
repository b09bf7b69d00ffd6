"""Link mentions again after a split: two sibling concepts were one concept in the old release, and the context must choose.

Concepts with gold mentions and a common parent are drawn into disjoint pairs. Every gold mention of a pair gets the old
concept, whose successors are the two. The starter chooses as in `onym migrate --pipeline`: it was trained on other documents.

context          the first successor, as the pipeline ranks them in its document; wrong if it finds neither
exact            the successor that has the mention as a name; wrong if none or both have it
exact_majority   the same, but the majority where names do not decide
majority         the successor that has more gold mentions in these documents: the best that one answer per pair can do
relinked_pct     share of mentions whose choice is certain enough to be taken without a person (`--min-confidence` 0.9)
relinked_right   share of these that are right

Each share has its 95 % interval, by bootstrap over documents (of width 0 if all are right); `context_gain` is context minus
exact_majority.
"""

from __future__ import annotations

import random
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder, percent
from onym.corpora import documents_of, read_corpus
from onym.evaluate.significance import bootstrap_interval, paired_bootstrap
from onym.kb import KnowledgeBase
from onym.migrate.relinker import Relinker
from onym.packs import load
from onym.types import Document, Mention

_CORPORA = {
    "bc5cdr": "bc5cdr/CDR_TestSet.PubTator.txt.gz",
    "ncbi_disease": "ncbi_disease/NCBItestset_corpus.txt",
}
_GSC = "gsc_2024/gsc_2024.tar.gz"
_ANNOTATION = re.compile(r"(\d+):(\d+)\tHP:(\d{7})\t")
_OLD_ID = "old:1"


@dataclass(frozen=True)
class Choice:
    """How each method answers for one mention; `relinked` is None if the choice is left to a person."""

    document: str
    context: bool
    exact: bool
    exact_majority: bool
    majority: bool
    relinked: bool | None


def measure_splits(*, is_quick: bool = False) -> dict[str, object]:
    """Return the figures of each corpus, with `is_quick` of NCBI disease only."""
    pipeline = load("starter")
    relinker = Relinker(pipeline, pipeline.kb)
    figures: dict[str, object] = {}
    for name, documents in _read_corpora(is_quick=is_quick):
        known = [each for each in (_keep_unambiguous(doc, pipeline.kb) for doc in documents) if each.mentions]
        pairs = draw_pairs(known, pipeline.kb)
        choices = list(_choose(known, pairs, pipeline.kb, relinker))
        figures |= {f"splits_{name}_{key}": value for key, value in _describe(choices, pairs).items()}
    return figures


def _read_corpora(*, is_quick: bool) -> Iterator[tuple[str, Iterator[Document]]]:
    for name, path in _CORPORA.items():
        if name == "ncbi_disease" or not is_quick:
            yield name, documents_of(read_corpus(data_folder() / path))
    if not is_quick:
        yield "gsc_2024", _read_gsc(data_folder() / _GSC)


def _read_gsc(path: Path) -> Iterator[Document]:
    """Yield the documents of GSC-2024: a file of text and a file of annotations for each."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()}
        content = {name: file.read().decode() for name, file in files.items() if file}
    for name, text in sorted(content.items()):
        folder, _, document = name.rpartition("/")
        if folder.endswith("Text"):
            lines = content.get(f"{folder.removesuffix('Text')}Annotations/{document}", "").splitlines()
            yield Document(document, text, tuple(_read_annotations(lines, text)))


def _read_annotations(lines: Sequence[str], text: str) -> Iterator[Mention]:
    """Yield the mentions; one line of the corpus has malformed offsets, and is skipped."""
    for found in filter(None, map(_ANNOTATION.match, lines)):
        start, end = int(found[1]), int(found[2])
        yield Mention(start, end, text[start:end], concept_ids=(f"hp:{found[3]}",))


def _keep_unambiguous(doc: Document, kb: KnowledgeBase) -> Document:
    """Return a document with only the mentions that have one concept of the knowledge base, by its id there."""
    kept = []
    for mention in doc.mentions:
        rows = kb.resolve(mention.concept_ids[0]) if len(mention.concept_ids) == 1 else ()
        if len(rows) == 1:
            kept.append(replace(mention, concept_ids=(kb.concept_ids[rows[0]],), notes=()))
    return replace(doc, mentions=tuple(kept), relations=())


def draw_pairs(documents: Sequence[Document], kb: KnowledgeBase, seed: int = 0) -> list[tuple[str, str]]:
    """Return disjoint pairs of concepts with gold mentions and a common parent."""
    generator = random.Random(seed)
    children: dict[int, set[str]] = {}
    for concept_id in {each for doc in documents for mention in doc.mentions for each in mention.concept_ids}:
        for parent, _, _ in kb.hierarchy.iter_parents(kb.concept_ids.find(concept_id)):
            children.setdefault(parent, set()).add(concept_id)
    pairs, used = [], set[str]()
    for parent in generator.sample(sorted(children), len(children)):
        free = sorted(children[parent] - used)
        generator.shuffle(free)
        for pair in zip(free[::2], free[1::2], strict=False):
            pairs.append((min(pair), max(pair)))
            used.update(pair)
    return pairs


def _choose(
    documents: Sequence[Document], pairs: Sequence[tuple[str, str]], kb: KnowledgeBase, relinker: Relinker
) -> Iterator[Choice]:
    pair_of = {concept_id: pair for pair in pairs for concept_id in pair}
    counts = Counter(mention.concept_ids[0] for doc in documents for mention in doc.mentions)
    for doc in documents:
        asked = [(row, pair_of[gold]) for row, gold in enumerate(_golds(doc)) if gold in pair_of]
        answers = relinker.choose(_fuse(doc), asked) if asked else []
        for (row, pair), answer in zip(asked, answers, strict=True):
            gold, common = doc.mentions[row].concept_ids[0], max(pair, key=lambda each: counts[each])
            named = {kb.concept_ids[at] for at in kb.concepts_named(doc.mentions[row].surface)} & set(pair)
            by_name = named.pop() if len(named) == 1 else None
            relinked = answer.ranked[0] == gold if answer and answer.is_certain else None
            yield Choice(
                document=doc.id,
                context=answer is not None and answer.ranked[0] == gold,
                exact=by_name == gold,
                exact_majority=(by_name or common) == gold,
                majority=common == gold,
                relinked=relinked,
            )


def _golds(doc: Document) -> list[str]:
    return [mention.concept_ids[0] for mention in doc.mentions]


def _fuse(doc: Document) -> Document:
    """Return a document whose mentions all have the id of an old concept."""
    return replace(doc, mentions=tuple(replace(each, concept_ids=(_OLD_ID,)) for each in doc.mentions))


def _describe(choices: Sequence[Choice], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    documents = [each.document for each in choices]
    found: dict[str, Any] = {"pairs": len(pairs), "mentions": len(choices)}
    for name in ("context", "exact", "exact_majority", "majority"):
        found[name] = _share([getattr(each, name) for each in choices], documents)
    gain = paired_bootstrap([each.context for each in choices], [each.exact_majority for each in choices], groups=documents)
    found["context_gain"] = [round(100 * value, 1) for value in (gain.difference, gain.low, gain.high)]
    taken = [each for each in choices if each.relinked is not None]
    found["relinked_pct"] = percent(len(taken), len(choices))
    found["relinked_right"] = _share([bool(each.relinked) for each in taken], [each.document for each in taken])
    return found


def _share(hits: Sequence[bool], documents: Sequence[str]) -> list[float]:
    """Return a share with its interval, in percent."""
    low, high = bootstrap_interval(hits, groups=documents)
    return [percent(sum(hits), len(hits)), round(100 * low, 1), round(100 * high, 1)]
