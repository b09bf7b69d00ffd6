"""Tests of BioC in XML: real documents, byte offsets, and malicious files."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import Item, documents_of
from onym.corpora.formats import bioc_xml
from onym.errors import OnymError
from onym.store.files.source import Source
from onym.types import Document, Mention, Passage, Problem, Relation
from tests.support.documents import source_of, write_to_memory

HEAD = '<?xml version="1.0"?><!DOCTYPE collection SYSTEM "BioC.dtd"><collection><source/><date/><key/>'
DOC = """<document><id>7</id><infon key="journal">J</infon>
<passage><infon key="type">title</infon><offset>0</offset><text>TNF-\u03b1 and &amp; HIV</text>
 <annotation id="1"><infon key="type">Gene</infon><infon key="NCBI GENE">7124</infon><location offset="0" length="5"/>
  <text>TNF-\u03b1</text></annotation></passage>
<passage><infon key="type">abstract</infon><infon key="section">A</infon><offset>{abstract}</offset><text>HIV mens rea</text>
 <annotation id="2"><infon key="type">Disease</infon><infon key="identifier">MESH:D015658</infon>
  <location offset="{hiv}" length="3"/><text>HIV</text></annotation>
 <annotation id="3"><infon key="type">Other</infon><location offset="{hiv}" length="3"/><location offset="{rea}" length="3"/>
  <text>HIV rea</text></annotation>
 <relation id="R1"><infon key="type">x</infon><node refid="1" role="a"/><node refid="2" role="b"/></relation></passage>
</document>"""


def items(body: str) -> list[Item]:
    return list(bioc_xml.read(source_of(a__xml=f"{HEAD}{body}</collection>")))


def test_reads_a_document_with_all_features() -> None:
    (doc,) = items(DOC.format(abstract=18, hiv=18, rea=27))
    assert isinstance(doc, Document)
    assert doc.text == "TNF-\u03b1 and & HIV   HIV mens rea"
    assert doc.notes == (("journal", "J"),)
    assert doc.passages == (Passage(0, 15, "title"), Passage(18, 30, "abstract", (("section", "A"),)))
    gene, hiv, split = doc.mentions
    assert (gene.concept_ids, gene.notes, gene.id) == (("ncbigene:7124",), (("NCBI GENE", "7124"),), "1")
    assert (hiv.concept_ids, hiv.notes) == (("mesh:D015658",), (("ids", "MESH:D015658"),))
    assert split.parts == ((18, 21), (27, 30))
    assert doc.relations == (Relation("x", (("a", "1"), ("b", "2")), "R1"),)
    assert list(bioc_xml.read(source_of(b__xml=write_to_memory(bioc_xml, [doc])[""]))) == [doc]


def test_byte_offsets_are_detected_and_reported() -> None:
    problem, doc = items(DOC.format(abstract=19, hiv=19, rea=28).replace('length="5"', 'length="6"'))
    assert isinstance(problem, Problem)
    assert isinstance(doc, Document)
    assert problem.code == "corpus-bytes"
    assert [mention.surface for mention in doc.mentions[:2]] == ["TNF-\u03b1", "HIV"]
    assert [passage.start for passage in doc.passages] == [0, 18]


def test_a_mention_with_a_wrong_surface_is_dropped() -> None:
    found = items(DOC.format(abstract=18, hiv=17, rea=27))
    assert [item.code for item in found if isinstance(item, Problem)] == ["corpus-offsets", "corpus-offsets"]


@pytest.mark.parametrize(
    "body",
    [
        "<passage><offset>x</offset><text>a</text></passage>",
        "<passage><text>a</text></passage>",
        "<passage><offset>-1</offset><text>a</text></passage>",
        "<passage><offset>5</offset><text>a</text></passage><passage><offset>0</offset><text>b</text></passage>",
        "<passage><offset>999999999</offset><text>a</text></passage>",
        '<passage><offset>0</offset><text>a</text><annotation><location offset="0"/><text>a</text></annotation></passage>',
    ],
)
def test_reading_continues_after_malformed_documents(body: str) -> None:
    good = "<document><id>2</id><passage><offset>0</offset><text>b</text></passage></document>"
    problem, doc = items(f"<document><id>1</id>{body}</document>{good}")
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("1", "corpus-malformed")
    assert doc == Document("2", "b")


def test_annotations_without_a_valid_location_are_dropped() -> None:
    body = '<annotation><text>a</text></annotation><annotation><location offset="5" length="2"/><text>ab</text></annotation>'
    found = items(f"<document><id>1</id><passage><offset>0</offset><text>a</text>{body}</passage></document>")
    assert [item.code for item in found if isinstance(item, Problem)] == ["corpus-offsets"] * 2


def test_sentences_with_text_are_read_as_passages() -> None:
    sentences = "".join(f"<sentence><offset>{n * 3}</offset><text>ab</text></sentence>" for n in range(2))
    passage = f'<passage><infon key="type">t</infon><offset>0</offset>{sentences}</passage>'
    (doc,) = items(f"<document><id>1</id>{passage}</document>")
    assert isinstance(doc, Document)
    assert (doc.text, [passage.kind for passage in doc.passages]) == ("ab ab", ["t", "t"])


def test_rejects_xml_entity_declarations() -> None:
    with pytest.raises(OnymError) as caught:
        list(bioc_xml.read(source_of(a__xml='<!DOCTYPE c [<!ENTITY x "y">]><collection><document/></collection>')))
    assert caught.value.code == "xml-entity"


def test_characters_forbidden_in_xml_are_replaced() -> None:
    doc = Document("1", "a\x01b", (Mention(2, 3, "b", id="T"),))
    assert bioc_xml.preserved_facets(doc) >= {"mentions", "mention ids"}
    assert "text" not in bioc_xml.preserved_facets(doc)
    (back,) = bioc_xml.read(source_of(a__xml=write_to_memory(bioc_xml, [doc])[""]))
    assert isinstance(back, Document)
    assert (back.text, back.mentions[0].start) == ("a\ufffdb", 2)


def test_new_ids_take_precedence_over_old_ids_in_infons() -> None:
    mention = Mention(0, 1, "a", ("ncbigene:1",), "Gene", notes=(("NCBI GENE", "7124"),))
    for concept_ids in (("ncbigene:1",), ()):
        doc = Document("1", "a", (Mention(0, 1, "a", concept_ids, "Gene", notes=mention.notes),))
        assert list(bioc_xml.read(source_of(a__xml=write_to_memory(bioc_xml, [doc])[""]))) == [doc]


@pytest.mark.real_data
def test_reads_real_abbreviation_corpora(real_data: Path) -> None:
    source = Source.open(real_data / "abbreviations" / "BioADI-BioC.tar.gz")
    gold = Source.of_files("gold", [file for file in source.files if "gold.xml" in file.name])
    found = list(bioc_xml.read(gold))
    docs = list(documents_of(found))
    codes = {item.code for item in found if isinstance(item, Problem)}
    assert len(docs) == 1201
    assert sum(len(doc.mentions) for doc in docs) >= 3426
    assert codes <= {"corpus-bytes", "corpus-offsets"}
