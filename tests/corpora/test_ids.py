"""Tests of parsing and formatting concept ids as in real corpora."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.ids import format_ids, ids_text, keeps_ids, parse_ids, parse_ids_with_note
from onym.types import Mention


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("D003924", "Disease", ("mesh:D003924",)),
        ("D000077152", "Chemical", ("mesh:D000077152",)),
        ("C076029", "Chemical", ("mesh:C076029",)),
        ("C0011860", "T047", ("umls:C0011860",)),
        ("C0011860", "Disease", ("umls:C0011860",)),
        ("UMLS:C0011860", "T103", ("umls:C0011860",)),
        ("MESH:D003924", "Disease", ("mesh:D003924",)),
        ("D003924|D009765", "Disease", ("mesh:D003924", "mesh:D009765")),
        ("D003924+OMIM:125853", "SpecificDisease", ("mesh:D003924", "omim:125853")),
        (" D003924", "DiseaseClass", ("mesh:D003924",)),
        ("125853", "SpecificDisease", ("omim:125853",)),
        ("OMIM_125853,D003924", "Disease", ("omim:125853", "mesh:D003924")),
        ("7157", "Gene", ("ncbigene:7157",)),
        ("7157,672;675", "FamilyName", ("ncbigene:7157", "ncbigene:672", "ncbigene:675")),
        (",7157", "Gene", ("ncbigene:7157",)),
        ("12345(Tax:10090),7157", "Gene", ("ncbigene:12345", "ncbigene:7157")),
        ("12345(tax:10090)", "Gene", ("ncbigene:12345",)),
        ("9606", "Species", ("ncbitaxon:9606",)),
        ("9606", "OrganismTaxon", ("ncbitaxon:9606",)),
        ("CVCL_0224", "CellLine", ("cellosaurus:CVCL_0224",)),
        ("HP:0000118", "", ("hp:0000118",)),
        ("rs121913527", "Variant", ("dbsnp:rs121913527",)),
        ("rs1;Disease:D003924;VariantGroup:3", "SNP", ("dbsnp:rs1",)),
        ("c|SUB|C|677|T;Gene:4524;RS#:1801133;VariantGroup:0", "DNAMutation", ("dbsnp:rs1801133",)),
        ("p|SUB|V|600|E", "ProteinMutation", ("tmvar:p|SUB|V|600|E",)),
        ("c|SUB|G|IVS3+1|A;Gene:9", "DNAMutation", ("tmvar:c|SUB|G|IVS3+1|A",)),
        ("MESH:D003924,-", "Chemical", ("mesh:D003924",)),
        ("6669", "CellLine", ("local:6669",)),
        *((none, "Disease", ()) for none in ("-1", "-", "", "null", "NULL", "CUI-less", "None")),
        ("-", "Variant", ()),
    ],
)
def test_parses_ids_of_real_corpora(text: str, kind: str, expected: tuple[str, ...]) -> None:
    assert parse_ids(text, kind) == expected


def test_the_default_prefix_of_a_format_is_used() -> None:
    assert parse_ids("108367008", "", "snomedct") == ("snomedct:108367008",)
    assert parse_ids("D003924", "", "snomedct") == ("mesh:D003924",)


def test_only_ids_that_cannot_be_restored_get_a_note() -> None:
    assert parse_ids_with_note("D003924|D009765", "Disease") == (("mesh:D003924", "mesh:D009765"), ())
    assert parse_ids_with_note("D003924,D009765", "Disease")[1] == (("ids", "D003924,D009765"),)
    assert parse_ids_with_note("12345(Tax:10090)", "Gene")[1] == (("ids", "12345(Tax:10090)"),)


def test_an_outdated_note_is_ignored() -> None:
    mention = Mention(0, 1, "x", ("mesh:D003924",), "Disease", notes=(("ids", "MESH:D003924"),))
    assert format_ids(mention) == "MESH:D003924"
    linked = Mention(0, 1, "x", ("mesh:D009765",), "Disease", notes=(("ids", "MESH:D003924"),))
    assert format_ids(linked) == "D009765"


@pytest.mark.parametrize(("style", "expected"), [("curie", "mesh:D1|hp:2"), ("obo", "MESH:D1|HP:2"), ("raw", "D1|2")])
def test_styles(style: str, expected: str) -> None:
    assert ids_text(("mesh:D1", "hp:2"), style=style) == expected


def test_ids_are_written_without_prefix_only_if_parsed_back() -> None:
    assert ids_text(("ncbigene:7157",), "Gene") == "7157"
    assert ids_text(("ncbigene:7157",), "Chemical") == "NCBIGENE:7157"
    assert ids_text(("hp:0000118",)) == "HP:0000118"


_local = st.text("ABCD0123456789_.|", min_size=1, max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["mesh", "hp", "ncbigene", "umls", "zz"]), _local), max_size=3), st.text(max_size=8))
def test_kept_ids_are_parsed_back(pairs: list[tuple[str, str]], kind: str) -> None:
    mention = Mention(0, 1, "x", tuple(f"{prefix}:{local}" for prefix, local in pairs), kind)
    again = parse_ids(format_ids(mention), kind)
    assert keeps_ids(mention) == (again == mention.concept_ids)
    if not any("|" in local for _, local in pairs) and kind.isdecimal():
        assert again == mention.concept_ids


@given(st.text(max_size=30), st.sampled_from(["", "Gene", "Disease", "SNP", "Species"]))
def test_any_id_column_can_be_written_again(text: str, kind: str) -> None:
    concept_ids, notes = parse_ids_with_note(text, kind)
    assert all(":" in concept_id for concept_id in concept_ids)
    assert format_ids(Mention(0, 1, "x", concept_ids, kind, notes=notes)) == text
