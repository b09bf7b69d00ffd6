"""Tests of which vocabularies may be redistributed, and which releases and licences must be stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.packs.licences import describe_sources, find_restricted, find_undeclared, parse_named_values


def kb_of(
    folder: Path, path: str = "terms.tsv", prefix: str = "x", recipe: dict[str, Any] | None = None, **source: Any
) -> KnowledgeBase:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"id\tname\n{prefix}:1\tFever\n")
    values = {"sources": [{"path": path, "format": "table", **source}], **(recipe or {})}
    build_kb(Recipe.of(values), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


@pytest.mark.parametrize(
    ("path", "prefix", "name", "title"),
    [
        ("terms.tsv", "umls", "mine", "UMLS"),
        ("terms.tsv", "snomedct", "mine", "SNOMED CT"),
        ("MRCONSO.tsv", "mesh", "", "UMLS"),
        ("umls-2024AB.tsv", "mesh", "mesh", "UMLS"),
        ("sct2_Description_Full.tsv", "mesh", "", "SNOMED CT"),
        ("a.tsv", "mesh", "SNOMEDCT_US", "SNOMED CT"),
        ("CTD_diseases.tsv", "mesh", "", "MEDIC"),
        ("medic/terms.tsv", "mesh", "", "MEDIC"),
        ("test_dictionary.tsv", "mesh", "", "MEDIC"),
        ("a.tsv", "mesh", "biosyn", "MEDIC"),
    ],
)
def test_restricted_vocabularies_are_found(tmp_path: Path, path: str, prefix: str, name: str, title: str) -> None:
    assert find_restricted(kb_of(tmp_path, path, prefix, name=name)) == [title]


@pytest.mark.parametrize(
    ("path", "prefix", "name", "title", "release"),
    [
        ("mesh/desc2026.tsv", "mesh", "", "MeSH", "2026"),
        ("mesh_id_label_mappings.tsv", "mesh", "MeSH 2024 descriptors", "MeSH", "2024"),
        ("MONDO-v2026-05-05.tsv", "mondo", "", "MONDO", "2026-05-05"),
        ("chebi.tsv", "chebi", "ChEBI", "ChEBI", "not stated"),
        ("hp-2026-01-08.tsv", "hp", "", "HPO", "2026-01-08"),
        ("medicines.tsv", "mesh", "", "", "not stated"),
        ("php.tsv", "mondo", "", "", "not stated"),
    ],
)
def test_redistributable_vocabularies_are_allowed(
    tmp_path: Path, path: str, prefix: str, name: str, title: str, release: str
) -> None:
    kb = kb_of(tmp_path, path, prefix, name=name)
    assert (find_restricted(kb), find_undeclared(kb)) == ([], [])
    (source,) = describe_sources(kb)
    assert (source.vocabulary, source.release) == (title, release)
    assert (source.licence == "not stated") == (not title)


def test_users_state_unknown_releases_and_licences(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, name="Mine")
    (source,) = describe_sources(kb, {"mine": "3"}, {"MINE": "CC0"})
    assert (source.name, source.release, source.licence) == ("Mine", "3", "CC0")
    assert parse_named_values(["HPO = 2026-01-08", "mine=CC BY=4"], "--release") == {"HPO": "2026-01-08", "mine": "CC BY=4"}
    for wrong in ("HPO", "=1", "HPO=", ""):
        with pytest.raises(ConfigError, match="config-invalid"):
            parse_named_values([wrong], "--release")


def test_stated_licence_does_not_lift_restrictions(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, prefix="umls", name="mine")
    describe_sources(kb, {}, {"mine": "CC0"})
    assert find_restricted(kb) == ["UMLS"]


def test_hpo_requires_a_release(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, "hp.tsv", "hp")
    with pytest.raises(ConfigError) as caught:
        describe_sources(kb)
    assert caught.value.code == "pack-release"
    assert "--release HPO=" in caught.value.fix
    assert describe_sources(kb, {"hpo": "2026-01-08"})[0].release == "2026-01-08"


def test_hpo_must_be_unaltered(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, "hp.tsv", "hp", {"shared_names": "fewest"})
    with pytest.raises(ConfigError, match="pack-altered"):
        describe_sources(kb, {"HPO": "2026-01-08"})


@pytest.mark.parametrize(
    ("recipe", "source"),
    [
        ({"vocabularies": ["mine"]}, {}),
        ({"groups": True, "only_groups": ["Disease"]}, {}),
        ({}, {"only_joined": True}),
        ({}, {"as_synonyms": True}),
    ],
)
def test_filters_and_options_that_drop_some_of_hpo_alter_it(
    tmp_path: Path, recipe: dict[str, Any], source: dict[str, Any]
) -> None:
    for name, prefix in (("hp.tsv", "hp"), ("mine.tsv", "mondo")):
        (tmp_path / name).write_text(f"id\tname\n{prefix}:1\tFever\n")
    hpo = {"path": "hp.tsv", "name": "HPO", **source}
    sources = [{"path": "mine.tsv", "name": "mine", "groups": ["Disease"]}, hpo]
    build_kb(Recipe.of({"sources": sources, **recipe}), tmp_path / "kb", root=tmp_path)
    with pytest.raises(ConfigError, match="pack-altered"):
        describe_sources(KnowledgeBase.open(tmp_path / "kb"), {"HPO": "2026-01-08"})


@pytest.mark.parametrize("recipe", [{"vocabularies": ["HPO"]}, {"groups": True, "only_groups": ["Phenotype"]}])
def test_filters_that_keep_all_of_hpo_leave_it_unaltered(tmp_path: Path, recipe: dict[str, Any]) -> None:
    kb = kb_of(tmp_path, "hp.tsv", "hp", recipe, name="HPO")
    assert describe_sources(kb, {"HPO": "2026-01-08"})[0].release == "2026-01-08"


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("terms.tsv", "x"),
        ("medicines.tsv", "x"),
        ("mesh.tsv", "x"),  # a file name alone does not identify a vocabulary
        ("terms.tsv", "icd10cm"),  # the vocabulary is known, but not its licence terms
    ],
)
def test_unrecognised_sources_need_a_stated_licence(tmp_path: Path, path: str, prefix: str) -> None:
    kb = kb_of(tmp_path, path, prefix, name="Mine")
    assert (find_restricted(kb), find_undeclared(kb)) == ([], ["Mine"])
    assert find_undeclared(kb, {"mine": "CC0"}) == []


def test_a_recipe_states_the_licence_of_a_source(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, name="mine", licence="CC BY 4.0")
    assert find_undeclared(kb) == []
    assert describe_sources(kb)[0].licence == "CC BY 4.0"
    assert describe_sources(kb, {}, {"mine": "CC0"})[0].licence == "CC0"


@pytest.mark.parametrize("prefix", ["mine", "mesh", "doid"])
def test_umls_ids_are_recognised_under_any_prefix(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "mesh.tsv").write_text("id\tname\nC0015967\tFever\n")
    source = {"path": "mesh.tsv", "format": "table", "prefix": prefix, "licence": "CC0"}
    build_kb(Recipe.of({"sources": [source]}), tmp_path / "kb", root=tmp_path)
    assert find_restricted(KnowledgeBase.open(tmp_path / "kb")) == ["UMLS"]


def two_sources(folder: Path, second: str, **source: Any) -> KnowledgeBase:
    (folder / "mondo.tsv").write_text("id\tname\nmondo:1\tFever\necto:1\tHeat\n")
    (folder / "b.tsv").write_text(second)
    sources = [{"path": "mondo.tsv"}, {"path": "b.tsv", "name": "mine", **source}]
    build_kb(Recipe.of({"sources": sources}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def test_each_source_is_checked_by_its_own_ids(tmp_path: Path) -> None:
    """MONDO has ids of other ontologies, but these do not make the second source, which has only MeSH ids, unrecognised."""
    assert find_undeclared(two_sources(tmp_path, "id\tname\nmesh:D1\tChill\n")) == []


@pytest.mark.parametrize(
    ("second", "source"),
    [
        ("id\tname\nx:1\tChill\n", {}),
        ("id\tname\txrefs\nx:1\tPyrexia\tmondo:1\n", {}),  # merged into a MONDO concept, so x:1 is no longer an id
        ("id\tname\txrefs\nx:1\tPyrexia\tmondo:1\n", {"only_joined": True}),
        ("id\tname\tsource\nx:1\tChill\tother\nmesh:D1\tPain\t\n", {}),  # a row names its own source, `other`
    ],
)
def test_unknown_ids_among_known_ones(tmp_path: Path, second: str, source: dict[str, Any]) -> None:
    assert find_undeclared(two_sources(tmp_path, second, **source)) == ["mine"]
