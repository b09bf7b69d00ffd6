"""Tests of what mentions of species and cell lines may mean, and of the features of their candidates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.methods.genes.taxa import CUE, EXACT, FORM, LONGER, PART, SHORT, TABLE, TIGHT, OrganismNames, TaxonMatch
from onym.methods.genes.taxon_features import TAXON_NAMES, TaxonFacts, TaxonPairs
from onym.methods.trees.memory import KbMemory, Memory
from onym.text.analysis import analyse
from onym.types import Document, Mention
from tests.methods.genes.made_organisms import build_organisms


@pytest.fixture(scope="module")
def organism_names(tmp_path_factory: pytest.TempPathFactory) -> OrganismNames:
    folder: Path = build_organisms(tmp_path_factory.mktemp("organisms"))
    return OrganismNames.open(KnowledgeBase.open(folder))


def find(names: OrganismNames, surface: str, *, is_cell: bool = False) -> dict[str, TaxonMatch]:
    found = names.cells(surface) if is_cell else names.taxa(surface)
    return {names.kb.concept_ids[concept].partition(":")[2]: match for concept, match in found.items()}


@pytest.mark.parametrize(
    ("surface", "taxon", "how"),
    [
        ("Escherichia coli", "562", EXACT),
        ("humans", "9606", FORM),
        ("mice", "10090", TABLE),
        ("patients", "9606", CUE),
        ("E. coli", "562", TABLE),
        ("E. coli", "5762", SHORT),
        ("durum wheat", "4565", PART),
    ],
)
def test_finds_the_species(organism_names: OrganismNames, surface: str, taxon: str, how: int) -> None:
    assert find(organism_names, surface)[taxon].how == how


@pytest.mark.parametrize(
    ("surface", "cell", "how"),
    [
        ("HeLa", "CVCL_0030", EXACT),
        ("HeLa cells", "CVCL_0030", EXACT),
        ("HEK293", "CVCL_0045", TIGHT),
        ("U87", "CVCL_0022", LONGER),
        ("HeLa-Kyoto", "CVCL_0030", PART),
    ],
)
def test_finds_the_cell_line(organism_names: OrganismNames, surface: str, cell: str, how: int) -> None:
    assert find(organism_names, surface, is_cell=True)[cell].how == how


def test_species_are_no_cell_lines(organism_names: OrganismNames) -> None:
    assert not find(organism_names, "HeLa-like", is_cell=False)
    assert not find(organism_names, "Escherichia", is_cell=True)


def test_words_that_a_match_leaves_over_are_counted(organism_names: OrganismNames) -> None:
    assert find(organism_names, "old durum wheat")["4565"].rest == 2


def features(names: OrganismNames, text: str, surface: str, kind: str) -> dict[str, dict[str, float]]:
    start = text.index(surface)
    doc = analyse(Document("1", text, (Mention(start, start + len(surface), surface, (), kind),)))
    facts = TaxonFacts(names, KbMemory(Memory.of(Counter({("hela", "cellosaurus:CVCL_0030", "CellLine"): 3})), names.kb))
    concepts, matrix = TaxonPairs(doc, facts).features(0)
    rows = (dict(zip(TAXON_NAMES, row.tolist(), strict=True)) for row in matrix)
    return {names.kb.concept_ids[one].partition(":")[2]: row for one, row in zip(concepts, rows, strict=True)}


def test_a_short_genus_is_spelled_out_in_the_text(organism_names: OrganismNames) -> None:
    found = features(organism_names, "Entamoeba coli is a parasite. E. coli grew.", "E. coli", "Species")
    assert found["5762"]["spelled_out"] == 1
    assert found["562"]["spelled_out"] == 0


def test_the_species_of_the_document_counts_for_cell_lines(organism_names: OrganismNames) -> None:
    assert features(organism_names, "In mice. NIH3T3 grew.", "NIH3T3", "CellLine")["CVCL_0594"]["species_share"] > 0
    assert features(organism_names, "In mice. HEK293 grew.", "HEK293", "CellLine")["CVCL_0045"]["species_share"] == 0


def test_the_memory_counts(organism_names: OrganismNames) -> None:
    found = features(organism_names, "HeLa cells.", "HeLa", "CellLine")["CVCL_0030"]
    assert (found["recalled"], found["recalled_share"], found["concept_count"]) == (3, 1, 3)


def test_the_type_of_a_mention_excludes_the_other_vocabulary(organism_names: OrganismNames) -> None:
    assert not any(one.startswith("CVCL") for one in features(organism_names, "HeLa cells.", "HeLa", "Species"))


def test_ranks_are_known(organism_names: OrganismNames) -> None:
    assert features(organism_names, "Escherichia.", "Escherichia", "Species")["561"]["rank"] == 2
