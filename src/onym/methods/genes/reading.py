"""Read a document for the gene linker: what its gene mentions may mean, and where the text names organisms."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from onym.methods.genes.index import GeneNames, Match
from onym.methods.genes.names import tight_key
from onym.methods.genes.organisms import Finding, find_organisms
from onym.text.analysis import analysis_of
from onym.types import Document, Mention

Genes = Mapping[int, Match]
"""The genes that a text may mean, by row, best first."""


@dataclass(frozen=True)
class GeneMention:
    """A mention, its key, its sentence, and the genes that its surface and its long form may mean."""

    mention: Mention
    key: str
    sentence: int
    genes: Genes
    long_genes: Genes
    long_key: str

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """The genes of both forms, those of the surface first."""
        return tuple(dict.fromkeys((*self.genes, *self.long_genes)))


@dataclass(frozen=True)
class GeneReading:
    """The gene mentions of a document, and its findings of organisms by sentence."""

    document: Document
    mentions: tuple[GeneMention, ...]
    findings: tuple[Finding, ...]
    starts: Sequence[int]

    @classmethod
    def of(cls, document: Document, names: GeneNames, mentions: Sequence[Mention] | None = None) -> GeneReading:
        """Read a document; `mentions` defaults to all mentions of the document."""
        analysis = analysis_of(document)
        starts, known = analysis.sentence_starts, analysis.abbreviations
        found = []
        for mention in document.mentions if mentions is None else mentions:
            long = known.expand(mention.surface) or ""
            sentence = bisect_right(starts, mention.start)
            genes, long_genes = names.of(mention.surface), names.of(long) if long else {}
            found.append(GeneMention(mention, tight_key(mention.surface), sentence, genes, long_genes, tight_key(long)))
        return cls(document, tuple(found), find_organisms(document.text), starts)

    def sentence_of(self, finding: Finding) -> int:
        """Return the number of the sentence of a finding."""
        return bisect_right(self.starts, finding.start)

    @cached_property
    def title_end(self) -> int:
        """The end of the title: the first passage, or else the first sentence."""
        if self.document.passages:
            return self.document.passages[0].end
        return self.starts[1] if len(self.starts) > 1 else len(self.document.text)

    @cached_property
    def namings(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings that name an organism, by species."""
        return self._by_species(is_named=True)

    @cached_property
    def cues(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings that hint at an organism, by species."""
        return self._by_species(is_named=False)

    def _by_species(self, *, is_named: bool) -> Mapping[str, tuple[Finding, ...]]:
        found: dict[str, list[Finding]] = defaultdict(list)
        for finding in self.findings:
            if finding.is_named == is_named:
                found[finding.species].append(finding)
        return {species: tuple(each) for species, each in found.items()}
