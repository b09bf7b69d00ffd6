"""Tests of deciding which ids denote the same concept."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onym.kb.identity import AliasKind, Identity, identify
from tests.kb.conftest import Builder


def run(
    active: list[str],
    xrefs: list[tuple[str, str]],
    successors: list[tuple[str, str | None]],
    alternatives: list[tuple[str, str]] | None = None,
    *,
    merge: bool = True,
) -> tuple[Identity, Counter[str]]:
    counts: Counter[str] = Counter()
    found = identify(
        pl.Series(active, dtype=pl.String),
        pl.DataFrame(xrefs, schema={"concept": pl.String, "xref": pl.String}, orient="row"),
        pl.DataFrame(successors, schema={"concept": pl.String, "successor": pl.String}, orient="row"),
        pl.DataFrame(alternatives or [], schema={"concept": pl.String, "alternative": pl.String}, orient="row"),
        merge=merge,
        counts=counts,
    )
    return found, counts


def aliases(found: Identity) -> set[tuple[str, str | None, int]]:
    return set(found.aliases.iter_rows())


def test_a_one_to_one_xref_joins_under_the_first_source() -> None:
    found, _ = run(["mesh:1", "mondo:1"], [("mondo:1", "mesh:1")], [])
    assert found.final.rows() == [("mondo:1", "mesh:1")]
    assert aliases(found) == {("mondo:1", "mesh:1", AliasKind.JOINED)}


def test_several_targets_get_the_names_without_a_join() -> None:
    found, counts = run(["mesh:1", "mesh:2", "mondo:1"], [("mondo:1", "mesh:1"), ("mondo:1", "mesh:2")], [])
    assert found.final.is_empty()
    assert found.added.rows() == [("mondo:1", "mesh:1"), ("mondo:1", "mesh:2")]
    assert counts["concepts whose names were added to each target"] == 1


def test_several_concepts_with_one_target_are_not_joined() -> None:
    found, _ = run(["mesh:1", "mondo:1", "mondo:2"], [("mondo:1", "mesh:1"), ("mondo:2", "mesh:1")], [])
    assert found.final.is_empty()
    assert found.added.rows() == [("mondo:1", "mesh:1"), ("mondo:2", "mesh:1")]


def test_a_chain_of_joins_never_joins_two_concepts_of_one_source() -> None:
    xrefs = [("mondo:1", "mesh:1"), ("doid:1", "mondo:1"), ("doid:1", "mesh:2")]
    found, counts = run(["mesh:1", "mesh:2", "mondo:1", "doid:1"], xrefs, [])
    final = dict(found.final.iter_rows())
    assert len({final.get(i, i) for i in ("mesh:1", "mesh:2")}) == 2
    assert counts["joins refused: two concepts of one source"] == 1


def test_ids_known_only_as_xrefs_become_alternative_ids() -> None:
    found, _ = run(["mesh:1", "mesh:2"], [("mesh:1", "omim:5"), ("mesh:2", "omim:5"), ("mesh:1", "omim:6")], [])
    assert aliases(found) == {
        ("omim:5", "mesh:1", AliasKind.ALTERNATIVE),
        ("omim:5", "mesh:2", AliasKind.ALTERNATIVE),
        ("omim:6", "mesh:1", AliasKind.ALTERNATIVE),
    }


def test_successors_are_followed_to_the_end() -> None:
    found, _ = run(["hp:4"], [], [("hp:1", "hp:2"), ("hp:2", "hp:3"), ("hp:3", "hp:4"), ("hp:9", None)])
    assert aliases(found) == {
        ("hp:1", "hp:4", AliasKind.RETIRED),
        ("hp:2", "hp:4", AliasKind.RETIRED),
        ("hp:3", "hp:4", AliasKind.RETIRED),
        ("hp:9", None, AliasKind.RETIRED),
    }


def test_cycles_of_successors_are_dropped_and_counted() -> None:
    found, counts = run(["hp:4"], [], [("hp:1", "hp:2"), ("hp:2", "hp:1"), ("hp:3", "hp:3")])
    assert counts["replacements in a cycle"] == 2
    assert aliases(found) == {(i, None, AliasKind.RETIRED) for i in ("hp:1", "hp:2", "hp:3")}


def test_an_xref_to_a_retired_id_is_resolved_to_its_successor() -> None:
    found, _ = run(["mesh:2", "mondo:1"], [("mondo:1", "mesh:1")], [("mesh:1", "mesh:2")])
    assert found.final.rows() == [("mondo:1", "mesh:2")]


def test_without_merging_each_concept_stays() -> None:
    found, _ = run(["mesh:1", "mondo:1"], [("mondo:1", "mesh:1")], [], merge=False)
    assert found.final.is_empty()
    assert found.added.is_empty()


IDS = [f"{prefix}:{n}" for prefix in ("a", "b", "c") for n in range(4)]


@given(
    active=st.lists(st.sampled_from(IDS), min_size=1, unique=True),
    xrefs=st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=20),
    successors=st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([*IDS, None])), max_size=8),
)
def test_two_concepts_of_one_source_are_never_joined(
    active: list[str], xrefs: list[tuple[str, str]], successors: list[tuple[str, str | None]]
) -> None:
    found, _ = run(active, xrefs, successors)
    final = dict(found.final.iter_rows())
    folded = {old for old, new in successors if new is not None}
    groups: dict[str, list[str]] = {}
    for concept in active:
        if concept not in folded:
            groups.setdefault(final.get(concept, concept), []).append(concept.partition(":")[0])
    assert all(len(prefixes) == len(set(prefixes)) for prefixes in groups.values())
    ends = set(final.values())
    assert not ends & final.keys(), "an id leads to an id that leads elsewhere"
    assert {concept for _, concept, _ in found.aliases.iter_rows() if concept} <= set(active) - final.keys()


def test_a_joined_concept_has_no_cross_reference_to_itself(build: Builder) -> None:
    kb = build("id\tname\nmesh:1\tOne\n", "id\tname\txrefs\nmondo:1\tUno\tmesh:1|omim:7\n")
    assert kb["mondo:1"].id == "mesh:1"
    assert kb["mesh:1"].xrefs == ("omim:7",)


def test_copied_names_are_kept_and_not_preferred_at_the_target(build: Builder) -> None:
    kb = build(
        "id\tname\nmesh:1\tOne\nmesh:2\tTwo\n",
        "id\tname\txrefs\nmondo:1\tEither\tmesh:1|mesh:2\n",
    )
    assert kb["mondo:1"].preferred_name == "Either"
    assert kb["mesh:1"].names == ("one", "either")
    assert kb["mesh:1"].preferred_name == "One"
    assert [kb.concept_ids[c] for c in kb.concepts_named("either")] == ["mesh:1", "mesh:2", "mondo:1"]
    assert kb.report()["decided"]["names added through cross-references"] == 2


def test_a_shared_alternative_id_resolves_to_all_its_concepts() -> None:
    found, _ = run(["a:1", "a:2", "a:3"], [], [], [("a:1", "a:2"), ("a:3", "a:2"), ("a:3", "a:9"), ("a:3", "a:3")])
    assert found.final.is_empty()
    assert aliases(found) == {
        ("a:2", "a:1", AliasKind.ALTERNATIVE), ("a:2", "a:3", AliasKind.ALTERNATIVE), ("a:9", "a:3", AliasKind.ALTERNATIVE),
    }  # fmt: skip


def test_an_alternative_id_follows_its_concept_to_the_successor() -> None:
    found, _ = run(["a:1", "b:1"], [("b:1", "a:1")], [("a:7", "a:1")], [("b:1", "b:9"), ("a:7", "a:8")])
    assert {("b:9", "a:1", AliasKind.ALTERNATIVE), ("a:8", "a:1", AliasKind.ALTERNATIVE)} <= aliases(found)
