"""Tests that the declared vocabularies are valid, one by one and together."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import get_args

import pytest

from onym.kb.groups import GROUPS
from onym.outputs.base import require_uri, require_vocabulary_id
from onym.vocabularies import (
    Redistribution,
    Vocabulary,
    canonical_prefix,
    downloads,
    find_vocabulary,
    prefix_aliases,
    prefix_by_shape,
    vocabularies,
)

ROWS = list(vocabularies().values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.prefix)
def test_each_table_is_valid(row: Vocabulary) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9.]*", row.prefix)
    assert row.title
    assert set(row.groups) | set(row.typed_patterns) <= set(GROUPS)
    assert row.redistribution in get_args(Redistribution)
    assert bool(row.licence) == bool(row.redistribution)
    assert not row.pack_licence or row.licence
    if row.fhir:
        require_uri(row.fhir)
    if row.omop:
        require_vocabulary_id(row.omop)
    assert not row.address or re.compile(row.address).groups == 1
    for pattern in (row.pattern, *row.typed_patterns.values(), *row.marks):
        re.compile(pattern)


def test_known_prefixes_are_canonical() -> None:
    for written, prefix in prefix_aliases().items():
        assert written == written.lower()
        assert written not in vocabularies()
        assert canonical_prefix(written.upper()) == canonical_prefix(prefix) == prefix
    assert sum(len(row.aliases) for row in ROWS) == len(prefix_aliases()), "each alias belongs to one vocabulary"


def test_each_download_has_a_licence_and_urls_or_instructions() -> None:
    for release in downloads().values():
        assert release.licence
        assert bool(release.download) != bool(release.how)
        assert all(url.startswith("https://") for url in release.download)


def test_restricted_vocabularies_have_no_download_urls() -> None:
    assert [row.prefix for row in ROWS if row.is_restricted] == ["umls", "snomedct", "medic"]
    assert not any(row.download for row in ROWS if row.is_restricted)


def test_unknown_vocabulary_has_only_its_prefix() -> None:
    assert find_vocabulary("ward") == Vocabulary("ward", "ward")
    assert find_vocabulary("ward").redistribution == ""


@pytest.mark.parametrize(
    ("local", "group", "prefix"),
    [
        ("D003924", "", "mesh"),
        ("C0011860", "Disease", "umls"),
        ("D1", "Disease", "mesh"),
        ("D1", "Gene", ""),
        ("125853", "Disease", "omim"),
        ("9606", "Species", "ncbitaxon"),
        ("CVCL_0224", "Cell line", "cellosaurus"),
        ("rs1", "", "dbsnp"),
        ("9606", "", ""),
        ("", "Gene", ""),
    ],
)
def test_guesses_the_prefix_of_an_id(local: str, group: str, prefix: str) -> None:
    assert prefix_by_shape(local, group) == prefix


def test_id_patterns_are_mutually_exclusive() -> None:
    examples = {"mesh": "C000657245", "umls": "C0011860", "cellosaurus": "CVCL_0224", "dbsnp": "rs121913527"}
    assert examples.keys() == {row.prefix for row in ROWS if row.pattern}
    for prefix, example in examples.items():
        assert [row.prefix for row in ROWS if row.pattern and re.fullmatch(row.pattern, example)] == [prefix]


def test_vocabularies_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        find_vocabulary("mesh").title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        vocabularies()["mesh"] = find_vocabulary("hp")  # type: ignore[index]


def test_table_is_loaded_on_first_use() -> None:
    code = "import onym.kb, onym.vocabularies as v; print(v.vocabularies.cache_info().currsize); v.canonical_prefix('x'); "
    code += "print(v.vocabularies.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]
