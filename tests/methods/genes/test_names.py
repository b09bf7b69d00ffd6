"""Tests of keys of gene names, and of the genes that a mention may mean."""

from __future__ import annotations

import pytest

from onym.methods.genes.index import FORM, HOMOLOG, NAME, PART, TIGHT, GeneNames, Match
from onym.methods.genes.names import loose_key, tight_key, variants


@pytest.mark.parametrize("name", ["TNF-alpha", "TNF-\u03b1", "tnf alpha", "TNFa", "TNF A"])
def test_spellings_have_one_key(name: str) -> None:
    assert tight_key(name) == "tnfa"


@pytest.mark.parametrize(("one", "other"), [("complex II protein", "complex 2"), ("human catalases", "catalase")])
def test_loose_keys_ignore_idle_words_numerals_and_plurals(one: str, other: str) -> None:
    assert loose_key(one) == loose_key(other)


def test_names_of_idle_words_alone_have_no_loose_key() -> None:
    assert not loose_key("the protein")


def find(names: GeneNames, surface: str) -> dict[str, Match]:
    return {names.kb.concept_ids[gene].partition(":")[2]: match for gene, match in names.of(surface).items()}


@pytest.mark.parametrize(
    ("surface", "gene", "how", "steps"),
    [
        ("TNF", "7124", FORM, 0),
        ("tnf", "7124", NAME, 0),
        ("TNF\u03b1", "7124", TIGHT, 0),
        ("langerin", "50489", PART, 0),
        ("cachectin", "24835", HOMOLOG, 0),
        ("TNF promoter", "7124", FORM, 1),
        ("hTNF", "7124", FORM, 2),
    ],
)
def test_finds_the_gene(names: GeneNames, surface: str, gene: str, how: int, steps: int) -> None:
    found = find(names, surface)
    assert (found[gene].how, found[gene].steps) == (how, steps)


def test_distant_variants_are_used_only_without_a_nearer_name(names: GeneNames) -> None:
    assert "4851" not in find(names, "Notch")
    assert find(names, "TAN")["4851"].steps == 5


def test_a_prefix_is_kept_with_the_match(names: GeneNames) -> None:
    assert find(names, "mTNF")["21926"].affix == "m"


def test_the_symbol_as_written_is_the_best_match(names: GeneNames) -> None:
    assert next(iter(find(names, "TNF"))) == "7124"
    assert next(iter(find(names, "Notch"))) == "31293"


def test_unknown_names_have_similar_names_or_none(names: GeneNames) -> None:
    assert "7124" in find(names, "tumor necrosis factors 9")
    assert not find(names, "zzzzqqq")


def test_variants_are_distinct() -> None:
    texts = [each.text for each in variants("anti-hTNF protein")]
    assert len(texts) == len(set(texts))
