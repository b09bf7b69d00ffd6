"""Tests of reading MeSH in XML."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import OnymError
from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

DESCRIPTORS, SUPPLEMENTS = SAMPLES["mesh_xml"]


def descriptor(inside: str, ui: str = "<DescriptorUI>D000001</DescriptorUI>") -> dict[str, bytes]:
    text = f"<DescriptorRecordSet><DescriptorRecord>{ui}{inside}</DescriptorRecord></DescriptorRecordSet>"
    return {"desc.xml": text.encode()}


def term(text: str, attributes: str = "") -> str:
    return (
        f"<ConceptList><Concept><TermList><Term {attributes}><String>{text}</String></Term></TermList></Concept></ConceptList>"
    )


def test_reads_a_descriptor() -> None:
    rows = rows_of(DESCRIPTORS, "mesh_xml")
    assert names_of(rows) == [("mesh:D900001", "Made-up Fever", "preferred"), ("mesh:D900001", "MUF", "abbreviation")]
    assert facts_of(rows, "definition") == [("mesh:D900001", "A rise of temperature & of doubt.")]
    assert facts_of(rows, "semantic_types") == [("mesh:D900001", ["T184"]), ("mesh:D900001", ["C01", "C23"])]
    assert {row["language"] for row in rows if "name" in row} == {"en"}


def test_reads_a_supplementary_record() -> None:
    rows = rows_of(SUPPLEMENTS, "mesh_xml")
    assert names_of(rows) == [("mesh:C900001", "glucoquine", "preferred"), ("mesh:C900001", "Brandoquin", "exact")]
    assert facts_of(rows, "definition") == [("mesh:C900001", "made-up substance; structure given")]
    assert facts_of(rows, "groups") == [("mesh:C900001", ["Chemical"])]


def test_reads_mapped_headings_of_a_supplementary_record() -> None:
    mapped = (
        "<HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*D000009</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>"
    )
    text = (
        '<SupplementalRecordSet><SupplementalRecord SCRClass="3"><SupplementalRecordUI>C000001</SupplementalRecordUI>'
        f"<HeadingMappedToList>{mapped}</HeadingMappedToList></SupplementalRecord></SupplementalRecordSet>"
    )
    rows = rows_of({"supp.xml": text}, "mesh_xml")
    assert facts_of(rows, "parents") == [("mesh:C000001", ["mesh:D000009"])]
    assert facts_of(rows, "groups") == [("mesh:C000001", ["Disease"])]


def test_reads_the_terms_of_all_concepts_of_a_record() -> None:
    two = term("Neoplasms", 'RecordPreferredTermYN="Y"') + term("Cancer", 'RecordPreferredTermYN="N"')
    two = two.replace("</ConceptList><ConceptList>", "")
    assert [name for _, name, _ in names_of(rows_of(descriptor(two), "mesh_xml"))] == ["Neoplasms", "Cancer"]


def test_whitespace_is_collapsed() -> None:
    assert names_of(rows_of(descriptor(term("  Long\n   name ")), "mesh_xml")) == [("mesh:D000001", "Long name", "exact")]


@pytest.mark.parametrize("ui", ["", "<DescriptorUI/>", "<DescriptorUI>  </DescriptorUI>"])
def test_a_record_without_an_id_is_skipped(ui: str) -> None:
    assert rows_of(descriptor(term("a"), ui), "mesh_xml") == []


def test_a_term_without_text_is_skipped() -> None:
    assert rows_of(descriptor(term("")), "mesh_xml") == []


def test_other_xml_is_not_recognised() -> None:
    files = {**SUPPLEMENTS, "other.xml": b"<PubmedArticleSet><a>"}
    assert len(rows_of(files, "mesh_xml")) == len(rows_of(SUPPLEMENTS, "mesh_xml"))
    with pytest.raises(OnymError):
        readers.detect(source_of({"other.xml": b"<PubmedArticleSet/>"}))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"<DescriptorRecordSet><DescriptorRecord>", "xml-malformed"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><DescriptorRecordSet/>', "xml-entity"),
        (b"<DescriptorRecordSet>\xff</DescriptorRecordSet>", "xml-malformed"),
    ],
)
def test_rejects_corrupt_files(data: bytes, code: str) -> None:
    with pytest.raises(OnymError) as e:
        rows_of({"desc.xml": data}, "mesh_xml")
    assert e.value.code == code


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "records", "names"), [("desc", 43, 308), ("supp", 19, 70)])
def test_reads_real_samples(real_data: Path, name: str, records: int, names: int) -> None:
    source = Source.open(real_data / "mesh" / f"meshrdf_{name}-samples.xml")
    assert readers.detect(source) == "mesh_xml"
    rows = [row for batch in readers.read(source, "mesh_xml") for row in batch.to_pylist()]
    assert len({row["concept_id"] for row in rows}) == records
    assert len({row["name"] for row in rows if row["name"]}) == names
