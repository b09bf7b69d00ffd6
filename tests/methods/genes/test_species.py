"""Tests of organisms in texts, and of the evidence for the species of a gene mention."""

from __future__ import annotations

from collections import Counter

import pytest

from onym.methods.genes.features import GENE_NAMES, GeneFacts, GenePairs
from onym.methods.genes.index import GeneNames
from onym.methods.genes.organisms import find_organisms, find_species, organisms
from onym.methods.genes.reading import GeneReading
from onym.methods.genes.species import SPECIES_NAMES, SpeciesEvidence
from onym.methods.trees.memory import KbMemory, Memory
from onym.text.analysis import analyse
from onym.types import Document, Mention

HUMAN, MOUSE, RAT = (f"ncbitaxon:{taxon}" for taxon in (9606, 10090, 10116))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in mice", [(MOUSE, True)]),
        ("two patients", [(HUMAN, False)]),
        ("HEK-293T cells", [(HUMAN, True)]),
        ("Sprague-Dawley", [(RAT, True)]),
        ("E. coli", [("ncbitaxon:562", True)]),
        ("fission yeast", [("ncbitaxon:4896", True)]),
        ("patience", []),
        ("fission, yeast", [("ncbitaxon:559292", True)]),
    ],
)
def test_finds_organisms(text: str, expected: list[tuple[str, bool]]) -> None:
    assert [(each.species, each.is_named) for each in find_organisms(text)] == expected


def test_a_word_of_two_species_is_found_for_both() -> None:
    assert {each.species for each in find_organisms("Xenopus")} == {"ncbitaxon:8355", "ncbitaxon:8364"}


def test_each_organism_has_a_name() -> None:
    assert all(each.names and find_species(each.names[0]) for each in organisms().values())


def features(names: GeneNames, text: str, surface: str) -> dict[str, dict[str, float]]:
    start = text.index(surface)
    doc = analyse(Document("1", text, (Mention(start, start + len(surface), surface, (), "Gene"),)))
    reading = GeneReading.of(doc, names)
    species, matrix = SpeciesEvidence(reading, names).features(reading.mentions[0])
    return {one: dict(zip(SPECIES_NAMES, row.tolist(), strict=True)) for one, row in zip(species, matrix, strict=True)}


def test_a_prefix_speaks_for_its_species_and_against_others(names: GeneNames) -> None:
    found = features(names, "We cloned mTNF.", "mTNF")
    assert (found[MOUSE]["affix"], found[MOUSE]["affix_gene"]) == (1, 1)
    assert (found[HUMAN]["affix"], found[HUMAN]["affix_gene"]) == (-1, 0)


def test_a_name_beside_the_mention_counts_more_than_one_in_the_sentence(names: GeneNames) -> None:
    found = features(names, "The mouse TNF gene, unlike that of the rat.", "TNF")
    assert (found[MOUSE]["beside"], found[RAT]["beside"], found[RAT]["in_sentence"]) == (1, 0, 1)
    assert (found[MOUSE]["is_nearest"], found[RAT]["is_nearest"]) == (1, 0)


def test_a_name_inside_the_mention_counts(names: GeneNames) -> None:
    assert features(names, "We saw mouse TNF.", "mouse TNF")[MOUSE]["inside"] == 1


def test_title_and_document_are_counted(names: GeneNames) -> None:
    found = features(names, "A study of rats. TNF was low. Rats and one mouse died.", "TNF")
    assert (found[RAT]["in_title"], found[RAT]["in_document"], found[RAT]["share"]) == (1, 2, 2 / 3)
    assert (found[RAT]["is_last"], found[MOUSE]["rank"]) == (1, 1)


def test_rare_species_that_the_text_does_not_name_are_left_out(names: GeneNames) -> None:
    assert "ncbitaxon:7227" not in features(names, "We studied TNF.", "TNF")
    assert "ncbitaxon:7227" in features(names, "We studied TNF in flies.", "TNF")


def test_equally_likely_species_are_ranked_by_id(names: GeneNames) -> None:
    doc = analyse(Document("1", "TNF rose.", (Mention(0, 3, "TNF", (), "Gene"),)))
    facts = GeneFacts(names, KbMemory(Memory.of(Counter()), names.kb))
    pairs = GenePairs(GeneReading.of(doc, names), facts, [dict.fromkeys((RAT, HUMAN, MOUSE), 1 / 3)])
    genes, matrix = pairs.features(0)
    ranks = {names.species_of(gene): row[GENE_NAMES.index("species_rank")] for gene, row in zip(genes, matrix, strict=True)}
    assert ranks == {MOUSE: 0.0, RAT: 1.0, HUMAN: 2.0}  # the order of a set of strings differs from process to process
