"""Tests of assigning semantic groups to concepts."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from onym.kb.gather import assign_groups

Rows = Sequence[tuple[str, str]]


def groups(
    ids: list[str],
    *,
    stated: Rows = (),
    types: Rows = (),
    xrefs: Rows = (),
    headings: Rows = (),
    names: Rows = (),
) -> dict[str, set[str]]:
    def frame(rows: Rows, column: str) -> pl.DataFrame:
        return pl.DataFrame(list(rows), schema={"concept": pl.String, column: pl.String}, orient="row")

    found: dict[str, set[str]] = {}
    for concept, group in assign_groups(
        pl.DataFrame({"concept": ids}),
        stated=frame(stated, "group"),
        types=frame(types, "type"),
        xrefs=frame(xrefs, "xref"),
        headings=frame(headings, "heading"),
        names=frame(names, "name"),
    ).iter_rows():
        found.setdefault(concept, set()).add(group)
    return found


def test_groups_of_types_vocabularies_and_sources_are_combined() -> None:
    found = groups(["mesh:D1", "hp:1"], stated=[("mesh:D1", "Behavior")], types=[("mesh:D1", "C10"), ("mesh:D9", "D01")])
    assert found == {"mesh:D1": {"Behavior", "Disease"}, "hp:1": {"Phenotype"}}


def test_a_cross_reference_gives_the_group_of_its_vocabulary() -> None:
    assert groups(["mesh:D1"], types=[("mesh:D1", "F01")], xrefs=[("mesh:D1", "hp:5"), ("mesh:D1", "umls:C1")]) == {
        "mesh:D1": {"Behavior", "Phenotype"}
    }


def test_a_record_gets_the_most_common_groups_of_its_headings() -> None:
    types = [("mesh:D1", "D12"), ("mesh:D2", "D08"), ("mesh:D3", "C01")]
    mapped = [
        ("mesh:C1", "mesh:D1"),
        ("mesh:C1", "mesh:D2"),
        ("mesh:C1", "mesh:D3"),
        ("mesh:C2", "mesh:D3"),
        ("mesh:C2", "mesh:D1"),
    ]
    found = groups(["mesh:C1", "mesh:C2", "mesh:D1", "mesh:D2", "mesh:D3"], types=types, headings=mapped)
    assert found["mesh:C1"] == {"Chemical"}
    assert found["mesh:C2"] == {"Chemical", "Disease"}


def test_groups_are_inherited_over_several_levels_and_cycles_end() -> None:
    headings = [("x:3", "x:2"), ("x:2", "x:1"), ("x:8", "x:9"), ("x:9", "x:8")]
    found = groups(["x:1", "x:2", "x:3", "x:8", "x:9"], stated=[("x:1", "Gene")], headings=headings)
    assert found == {"x:1": {"Gene"}, "x:2": {"Gene"}, "x:3": {"Gene"}}


def test_concepts_with_a_group_do_not_inherit() -> None:
    found = groups(
        ["mesh:C1", "mesh:D1"], stated=[("mesh:C1", "Disease")], types=[("mesh:D1", "D01")], headings=[("mesh:C1", "mesh:D1")]
    )
    assert found["mesh:C1"] == {"Disease"}


def test_groups_are_taken_from_concepts_with_the_same_name() -> None:
    names = [("mesh:C1", "gemcitabine"), ("mesh:D1", "gemcitabine"), ("mesh:C2", "fever"), ("mondo:1", "fever")]
    found = groups(["mesh:C1", "mesh:D1", "mesh:C2", "mondo:1"], types=[("mesh:D1", "D03")], names=names)
    assert found["mesh:C1"] == {"Chemical"}
    assert "mesh:C2" not in found
