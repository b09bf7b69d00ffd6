"""Which vocabularies may be passed on, and what a pack must say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.packs.licences import packed_sources, restricted_in, stated


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
def test_what_may_not_be_passed_on(tmp_path: Path, path: str, prefix: str, name: str, title: str) -> None:
    assert restricted_in(kb_of(tmp_path, path, prefix, name=name)) == [title]


@pytest.mark.parametrize(
    ("path", "name", "title", "release"),
    [
        ("mesh/desc2026.tsv", "", "MeSH", "2026"),
        ("mesh_id_label_mappings.tsv", "MeSH 2024 descriptors", "MeSH", "2024"),
        ("MONDO-v2026-05-05.tsv", "", "MONDO", "2026-05-05"),
        ("chebi.tsv", "ChEBI", "ChEBI", "not stated"),
        ("hp-2026-01-08.tsv", "", "HPO", "2026-01-08"),
        ("medicines.tsv", "", "", "not stated"),
        ("php.tsv", "", "", "not stated"),
    ],
)
def test_what_may(tmp_path: Path, path: str, name: str, title: str, release: str) -> None:
    kb = kb_of(tmp_path, path, name=name)
    assert restricted_in(kb) == []
    (source,) = packed_sources(kb)
    assert (source.vocabulary, source.release) == (title, release)
    assert (source.licence == "not stated") == (not title)


def test_a_person_states_what_is_not_known(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, name="Mine")
    (source,) = packed_sources(kb, {"mine": "3"}, {"MINE": "CC0"})
    assert (source.name, source.release, source.licence) == ("Mine", "3", "CC0")
    assert stated(["HPO = 2026-01-08", "mine=CC BY=4"], "--release") == {"HPO": "2026-01-08", "mine": "CC BY=4"}
    for wrong in ("HPO", "=1", "HPO=", ""):
        with pytest.raises(ConfigError, match="config-invalid"):
            stated([wrong], "--release")


def test_a_licence_that_is_stated_lifts_no_restriction(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, prefix="umls", name="mine")
    packed_sources(kb, {}, {"mine": "CC0"})
    assert restricted_in(kb) == ["UMLS"]


def test_the_version_of_hpo_is_shown(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, "hp.tsv", "hp")
    with pytest.raises(ConfigError) as caught:
        packed_sources(kb)
    assert caught.value.code == "pack-release"
    assert "--release HPO=" in caught.value.fix
    assert packed_sources(kb, {"hpo": "2026-01-08"})[0].release == "2026-01-08"


@pytest.mark.parametrize("recipe", [{"vocabularies": ["hp"]}, {"shared_names": "fewest"}])
def test_hpo_is_not_altered(tmp_path: Path, recipe: dict[str, Any]) -> None:
    kb = kb_of(tmp_path, "hp.tsv", "hp", recipe)
    with pytest.raises(ConfigError, match="pack-altered"):
        packed_sources(kb, {"HPO": "2026-01-08"})
