"""Tests of mapping id prefixes to the names of vocabularies in FHIR and OMOP."""

from __future__ import annotations

import pytest

from onym.errors import ConfigError
from onym.outputs.base import Vocabularies, code_of, require_uri, require_vocabulary_id


@pytest.mark.parametrize(
    ("concept_id", "system", "code"),
    [
        ("mesh:D009203", "https://www.nlm.nih.gov/mesh", "D009203"),
        ("hp:0001250", "http://human-phenotype-ontology.org", "HP:0001250"),
        ("mondo:0005148", "http://purl.obolibrary.org/obo/mondo.owl", "MONDO:0005148"),
        ("snomedct:22298006", "http://snomed.info/sct", "22298006"),
        ("umls:C0027051", "http://terminology.hl7.org/CodeSystem/umls", "C0027051"),
        ("icd10cm:I21.9", "http://hl7.org/fhir/sid/icd-10-cm", "I21.9"),
        ("chebi:15365", "http://purl.obolibrary.org/obo/chebi.owl", "CHEBI:15365"),
        ("omim:608446", "urn:onym:vocabulary:omim", "608446"),
        ("my ward:7", "urn:onym:vocabulary:my-ward", "7"),
        ("ward: 7  b ", "urn:onym:vocabulary:ward", "7 b"),
        ("ward:", "urn:onym:vocabulary:ward", "ward:"),
    ],
)
def test_codes_have_the_system_and_the_style_of_their_vocabulary(concept_id: str, system: str, code: str) -> None:
    coded = Vocabularies().to_fhir_code(concept_id)
    assert (coded.system, coded.version, coded.code) == (system, "", code)
    require_uri(coded.system)


def test_user_defined_vocabulary_names() -> None:
    names = Vocabularies.parse(["MSH=http://a.example/mesh|2026", "ward = http://a.example/ward?a=b"])
    assert names.to_fhir_code("mesh:D1") == ("http://a.example/mesh", "2026", "D1")
    assert names.system("ward ") != names.system("ward") == "http://a.example/ward?a=b"
    assert not names.is_empty
    assert Vocabularies().is_empty
    names.require_uris()
    with pytest.raises(ConfigError, match="vocabulary_id"):
        names.require_omop_ids()


@pytest.mark.parametrize("pair", ["", "mondo", "=http://a.example", "mondo= "])
def test_rejects_malformed_pairs(pair: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        Vocabularies.parse([pair])


@pytest.mark.parametrize("name", ["ward", "/ward", "http://a example", "http://a.example|", ""])
def test_rejects_invalid_uris(name: str) -> None:
    with pytest.raises(ConfigError, match="not a valid code system URI"):
        require_uri(name)


def test_omop_has_its_own_names() -> None:
    names = Vocabularies({"ward": "Ward"})
    assert names.omop("snomedct:22298006") == ("SNOMED", "22298006")
    assert names.omop("mesh:D009203") == ("MeSH", "D009203")
    assert names.omop("mondo:0005148") == ("MONDO", "MONDO:0005148")
    assert names.omop("ward:7") == ("Ward", "7")
    assert len(Vocabularies().omop_id("a-very-long-prefix-of-ids")) == 20
    names.require_omop_ids()
    for bad in (" ", "x" * 21):
        with pytest.raises(ConfigError, match="not a valid OMOP vocabulary_id"):
            require_vocabulary_id(bad)


def test_code_has_a_prefix_only_if_its_vocabulary_uses_one() -> None:
    assert [code_of(each) for each in ("hgnc:1100", "ncbigene:672", "go:0008150")] == ["HGNC:1100", "672", "GO:0008150"]
