"""Tests of singular and plural variants of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text.normal import other_numbers


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("seizure", "seizures"),
        ("lung abscess", "lung abscesses"),
        ("ear anomaly", "ear anomalies"),
        ("metastasis", "metastases"),
        ("branchial fistula", "branchial fistulae"),
        ("basal cell nevus", "basal cell nevi"),
        ("reflex", "reflexes"),
        ("headache", "headaches"),
        ("stomach", "stomaches"),
        ("kidney", "kidneys"),
        ("fibroma", "fibromas"),
    ],
)
def test_singular_and_plural_are_variants_of_each_other(singular: str, plural: str) -> None:
    assert plural in other_numbers(singular)
    assert singular in other_numbers(plural)


@pytest.mark.parametrize("name", ["", "gas", "type 2", "il 6s", "ß 1"])
def test_names_without_singular_or_plural(name: str) -> None:
    assert other_numbers(name) == ()


@given(st.text(alphabet="abeimosuxyz ", max_size=20))
def test_only_the_last_word_changes(name: str) -> None:
    for other in other_numbers(name):
        assert other != name
        assert other.split(" ")[:-1] == name.split(" ")[:-1]
