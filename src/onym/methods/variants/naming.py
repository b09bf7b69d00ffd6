"""Ids of the variant mentions of a document: the rs id that the text states, else the HGVS form, with the gene that is nearest.

The text states the rs id of a variant if it writes both side by side: *V600E (rs113488022)*, *c.920T>G, p.L307R; rs121908081*.
All mentions of that variant in the document then have the id, and so has an allele at its position.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked
from onym.methods.variants.forms import DBSNP, HGVS, SequenceVariant
from onym.methods.variants.patterns import find_rs_numbers, read_variant
from onym.text.queries import Query
from onym.types import Candidate, Document, Mention

TYPE = "Variant"
"""The type of variant mentions and variants."""
WRITTEN, STATED, FORM = 1.0, 0.9, 0.8
"""Scores of ids: an rs number that is the mention, one that the text states beside it, and the HGVS form of the mention."""
_VARIANT_TYPES = re.compile(r"mutation|variant|snp|allele|acidchange", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s)\]]{0,2}[(\[,;:/=]?\s?(?:also known as|known as|dbSNP|or|SNP|refSNP)?[\s:,]{0,2}[(\[]?")
_MAX_BETWEEN = 20
_GENE_PREFIXES = frozenset({"ncbigene", "hgnc"})


def is_variant_type(name: str) -> bool:
    """Return whether mentions of a type may be variants; a mention without a type may.

    >>> is_variant_type("SequenceVariant"), is_variant_type(""), is_variant_type("Gene")
    (True, True, False)
    """
    return not name or _VARIANT_TYPES.search(name) is not None


@dataclass(frozen=True, slots=True)
class _Item:
    """A variant or rs number in the text."""

    start: int
    end: int
    key: str

    @property
    def is_rs(self) -> bool:
        return self.key.startswith(DBSNP)


def name_variants(doc: Document) -> list[tuple[Candidate, ...]]:
    """Return the ids of each mention of a document as candidates, best first; none if it is not a variant that has an id.

    >>> text = "V600E (rs113488022) and V600E"
    >>> doc = Document("1", text, (Mention(0, 5, "V600E"), Mention(24, 29, "V600E")))
    >>> [[each.concept_id for each in candidates] for candidates in name_variants(doc)]
    [['dbsnp:rs113488022', 'hgvs:p.V600E'], ['dbsnp:rs113488022', 'hgvs:p.V600E']]
    """
    read = [read_variant(each.surface) if is_variant_type(each.type) else None for each in doc.mentions]
    items = [
        _Item(mention.start, mention.end, _key(variant))
        for mention, variant in zip(doc.mentions, read, strict=True)
        if variant and _key(variant)
    ]
    stated = _find_stated_rs(doc.text, items)
    at_position = _group_by_position(read)
    return [() if variant is None else _candidates(variant, stated, at_position) for variant in read]


def _key(variant: SequenceVariant) -> str:
    """Return the id of a variant by itself; empty if it has none."""
    if variant.kind == "rs":
        return f"{DBSNP}:rs{variant.position}"
    return f"{HGVS}:{variant.hgvs}" if variant.hgvs else ""


def _find_stated_rs(text: str, items: Iterable[_Item]) -> dict[str, str]:
    """Return the rs id of each variant that stands beside exactly one rs number, alone or with its other forms."""
    rs_numbers = [_Item(each.start, each.end, _key(each.variant)) for each in find_rs_numbers(text)]
    taken = {each.start for each in rs_numbers}
    ordered = sorted([*rs_numbers, *(each for each in items if each.start not in taken)], key=lambda each: each.start)
    found: dict[str, set[str]] = defaultdict(set)
    for run in _split_runs(text, ordered):
        ids = {each.key for each in run if each.is_rs}
        others = {each.key for each in run if not each.is_rs}
        levels = [each.partition(":")[2][:1] == "p" for each in sorted(others)]
        if len(ids) == 1 and levels.count(True) <= 1 and levels.count(False) <= 1:
            for other in others:
                found[other] |= ids
    return {key: next(iter(ids)) for key, ids in found.items() if len(ids) == 1}


def _split_runs(text: str, ordered: Sequence[_Item]) -> list[list[_Item]]:
    """Split items into runs that stand side by side, with no more than punctuation between them."""
    runs: list[list[_Item]] = [[each] for each in ordered[:1]]
    for before, item in pairwise(ordered):
        gap = text[before.end : item.start]
        is_beside = 0 <= item.start - before.end <= _MAX_BETWEEN and _BETWEEN.fullmatch(gap) is not None
        runs[-1].append(item) if is_beside else runs.append([item])
    return runs


def _group_by_position(read: Iterable[SequenceVariant | None]) -> dict[str, dict[str, SequenceVariant]]:
    """Return the substitutions of a document by position and key."""
    found: dict[str, dict[str, SequenceVariant]] = defaultdict(dict)
    for variant in read:
        if variant and variant.kind == "sub" and variant.hgvs:
            found[variant.position][_key(variant)] = variant
    return found


def _candidates(
    variant: SequenceVariant, stated: Mapping[str, str], at_position: Mapping[str, Mapping[str, SequenceVariant]]
) -> tuple[Candidate, ...]:
    if variant.kind == "rs":
        return (_candidate(_key(variant), WRITTEN),)
    if variant.kind == "allele":
        same = [each for each in at_position.get(variant.position, {}).values() if variant.after in (each.before, each.after)]
        return _candidates(same[0], stated, at_position) if len(same) == 1 else ()
    key = _key(variant)
    ids = [(stated[key], STATED)] if key in stated else []
    return tuple(_candidate(each, score) for each, score in [*ids, *([(key, FORM)] if key else [])])


def _candidate(concept_id: str, score: float) -> Candidate:
    local = concept_id.partition(":")[2]
    return Candidate(concept_id, local, score, local, TYPE)


def add_genes(queries: Sequence[Query], found: Sequence[Ranked], kb: KnowledgeBase) -> list[Ranked]:
    """Return a document's answers with the symbol of the nearest linked gene in ids of variants: `hgvs:BRAF:p.V600E`.

    A variant in a document without linked genes keeps its id.
    """
    pairs = list(zip(queries, found, strict=True))
    known = _sort_genes((query.mention, _symbol(kb, each.candidates[0].concept_id)) for query, each in pairs if each.candidates)
    if not known:
        return list(found)
    return [add_gene(each, nearest_symbol(query.mention, known)) for query, each in pairs]


def add_gene(ranked: Ranked, symbol: str) -> Ranked:
    """Return the answer with the symbol of a gene in the ids of its variants in HGVS notation."""
    if not symbol or not any(_is_bare(each.concept_id) for each in ranked.candidates):
        return ranked
    return replace(ranked, candidates=tuple(_with_gene(each, symbol) for each in ranked.candidates))


def _is_bare(concept_id: str) -> bool:
    return concept_id.startswith(f"{HGVS}:") and concept_id.count(":") == 1


def _with_gene(candidate: Candidate, symbol: str) -> Candidate:
    if not _is_bare(candidate.concept_id):
        return candidate
    return _candidate(f"{HGVS}:{symbol}:{candidate.concept_id.partition(':')[2]}", candidate.score)


def find_annotated_genes(doc: Document, kb: KnowledgeBase) -> list[tuple[Mention, str]]:
    """Return the mentions of a document that are annotated with a gene of the knowledge base, with its symbol, by offset."""
    return _sort_genes((each, _symbol(kb, each.concept_ids[0])) for each in doc.mentions if each.concept_ids)


def _sort_genes(pairs: Iterable[tuple[Mention, str]]) -> list[tuple[Mention, str]]:
    """Return the mentions with a symbol, by offset."""
    return sorted(((mention, symbol) for mention, symbol in pairs if symbol), key=_start)


def _start(pair: tuple[Mention, str]) -> int:
    return pair[0].start


def nearest_symbol(mention: Mention, genes: Sequence[tuple[Mention, str]]) -> str:
    """Return the symbol of the gene nearest to a mention, given genes by offset; of two as near, the one before it."""

    def distance(pair: tuple[Mention, str]) -> tuple[int, int]:
        gene = pair[0]
        return max(gene.start - mention.end, mention.start - gene.end, 0), gene.start

    after = bisect_right(genes, mention.start, key=_start)
    near = genes[max(0, after - 1) : after + 1]
    return min(near, key=distance)[1] if near else ""


def _symbol(kb: KnowledgeBase, concept_id: str) -> str:
    """Return the preferred name of a gene; empty if the id is not that of a gene of the knowledge base."""
    if concept_id.partition(":")[0] not in _GENE_PREFIXES:
        return ""
    row = kb.concept_ids.find(concept_id)
    symbol = kb.label_of(row)[0] if row >= 0 else ""
    return "" if re.search(r"[\s:]", symbol) else symbol
