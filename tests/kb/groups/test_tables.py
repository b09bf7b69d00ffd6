"""Tests of the tables that assign semantic types to groups."""

from __future__ import annotations

import pytest

from onym.kb.groups import GROUPS, groups_of_type


@pytest.mark.parametrize(
    ("type_name", "groups"),
    [
        ("C04", ("Disease",)),
        ("C23", ("Disease", "Phenotype")),
        ("D12", ("Chemical",)),
        ("B01", ("Species",)),
        ("F03", ("Disease",)),
        ("E07", ("Device",)),
        ("T047", ("Disease",)),
        ("T121", ("Chemical",)),
        ("organism", ("Species",)),
        ("Gene", ("Gene",)),
        ("T999", ()),
        ("C4", ()),
        ("Q01", ()),
        ("", ()),
    ],
)
def test_groups_of_types(type_name: str, groups: tuple[str, ...]) -> None:
    assert groups_of_type(type_name) == groups


def test_all_branches_of_mesh_have_a_group() -> None:
    letters = {"A": 21, "B": 5, "C": 26, "D": 27, "E": 7, "F": 4, "G": 17, "H": 2, "I": 3, "J": 3, "N": 6, "V": 4}
    branches = [f"{letter}{number:02}" for letter, last in letters.items() for number in range(1, last + 1)]
    assert [branch for branch in [*branches, "K01", "L01", "M01", "Z01"] if not groups_of_type(branch)] == []


def test_all_groups_are_known() -> None:
    types = [f"T{number:03}" for number in range(1, 205)]
    named = {group for type_name in types for group in groups_of_type(type_name)}
    assert named <= set(GROUPS)
