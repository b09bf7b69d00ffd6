"""Tests of converting concept ids to CURIEs."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb.curie import curies, to_curie
from onym.vocabularies import prefix_aliases

WRITTEN = {
    "HP:0000118": "hp:0000118",
    "D003924": "mesh:D003924",
    "MESH:D003924": "mesh:D003924",
    "msh:D003924": "mesh:D003924",
    "MIM:613097": "omim:613097",
    "OMIMPS:1": "omim.ps:1",
    "DOID:DOID:18": "doid:18",
    "DO:DOID:0060395": "doid:0060395",
    "HP:MP:1": "hp:MP:1",
    "UMLS_CUI:C0012634": "umls:C0012634",
    "SCTID:64572001": "snomedct:64572001",
    "SNOMEDCT_US_2023_03_01:64572001": "snomedct:64572001",
    "NCI:C2991": "ncit:C2991",
    "ORDO:558": "orphanet:558",
    "Orphanet:558": "orphanet:558",
    "ICD-10:A00": "icd10:A00",
    "CVCL_0001": "cellosaurus:CVCL_0001",
    "Cellosaurus:CVCL_0001": "cellosaurus:CVCL_0001",
    " mesh : D1 ": "mesh:D1",
    "http://purl.obolibrary.org/obo/MONDO_0005148": "mondo:0005148",
    "http://purl.obolibrary.org/obo/NCIT_C3262": "ncit:C3262",
    "https://id.nlm.nih.gov/mesh/D000001": "mesh:D000001",
    "http://id.nlm.nih.gov/mesh/2024/D000001": "mesh:D000001",
    "http://www.orpha.net/ORDO/Orphanet_15": "orphanet:15",
    "http://www.ebi.ac.uk/efo/EFO_0000001": "efo:0000001",
    "http://snomed.info/id/64572001": "snomedct:64572001",
    "http://identifiers.org/hgnc/10006": "hgnc:10006",
    "https://bioregistry.io/mesh:D000001": "mesh:D000001",
    "https://en.wikipedia.org/wiki/Adrenal_gland": "https://en.wikipedia.org/wiki/Adrenal_gland",
    "https://en.wikipedia.org/wiki/Vitamin_B12": "https://en.wikipedia.org/wiki/Vitamin_B12",
    "https://orcid.org/0000-0002-0736-9199": "https://orcid.org/0000-0002-0736-9199",
    "": "mesh:",
    "a:": "a:",
    ":b": ":b",
    "::": ":",
}


@pytest.mark.parametrize(("written", "curie"), WRITTEN.items())
def test_real_ids_become_curies(written: str, curie: str) -> None:
    assert to_curie(written, "mesh") == curie


def test_columns_agree_with_to_curie() -> None:
    frame = pl.DataFrame({"id": [*WRITTEN, None]})
    assert frame.select(curies(pl.col("id"), "MSH"))["id"].to_list() == [*WRITTEN.values(), None]
    lists = pl.DataFrame({"ids": [list(WRITTEN), [], None]})
    found = lists.select(pl.col("ids").list.eval(curies(pl.element(), "mesh")))["ids"].to_list()
    assert found == [list(WRITTEN.values()), [], None]


PIECES = st.sampled_from(
    [
        *prefix_aliases(), "HP", "DOID", ":", "_", " ", "http://", "https://", "/obo/", "purl.obolibrary.org/obo/", "CVCL_",
        "D1", "0000118", "identifiers.org/", "#", "_2023_03_01", "\n", "ß", "İ", ".",
    ]
)  # fmt: skip


@given(
    st.lists(
        st.lists(PIECES, max_size=6).map("".join) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
        max_size=4,
    )
)
def test_random_columns_agree_with_to_curie(texts: list[str]) -> None:
    frame = pl.DataFrame({"id": texts}, schema={"id": pl.String})
    assert frame.select(curies(pl.col("id"), "x"))["id"].to_list() == [to_curie(text, "x") for text in texts]


@pytest.mark.parametrize("curie", [curie for curie in WRITTEN.values() if curie.strip(":")])
def test_curies_are_unchanged(curie: str) -> None:
    assert to_curie(curie, "other") == curie
