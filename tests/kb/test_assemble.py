"""Tests that names and concepts are encoded as integers like in a simple Python implementation."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import build as assemble
from onym.kb.columns import encode_values, group_values
from tests.kb.conftest import Builder

WORDS = st.sampled_from(["fever", "Fever", "pain", "ache", "flu", "MI"])


@given(st.lists(st.text(max_size=5), min_size=1))
def test_codes_are_ranks_of_the_distinct_values(values: list[str]) -> None:
    distinct, codes = encode_values(pl.Series(values))
    assert distinct.to_list() == sorted(set(values), key=str.encode)
    assert [distinct[int(code)] for code in codes] == values


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9))))
def test_grouped_lists_are_sorted_and_distinct(pairs: list[tuple[int, int]]) -> None:
    owner, value = np.array([p[0] for p in pairs], dtype=np.uint32), np.array([p[1] for p in pairs], dtype=np.uint32)
    offsets, values = group_values(owner, value, 6)
    expected = [sorted({v for o, v in pairs if o == i}) for i in range(6)]
    assert [values[offsets[i] : offsets[i + 1]].tolist() for i in range(6)] == expected


def plain_fewest(table: dict[str, list[str]]) -> dict[str, set[str]]:
    """Compute `fewest` in plain Python: the smallest concept wins, ties go to the first id, no concept loses all names."""
    owners = defaultdict(list)
    for concept, names in table.items():
        for name in names:
            owners[name].append(concept)
    kept: dict[str, set[str]] = {concept: set() for concept in table}
    for name, concepts in owners.items():
        kept[min(concepts, key=lambda c: (len(table[c]), c))].add(name)
    for concept, names in table.items():
        kept[concept] = kept[concept] or {names[0]}
    return kept


@given(
    st.dictionaries(st.sampled_from(["a:1", "a:2", "a:3", "b:1"]), st.lists(st.sampled_from("uvwxyz"), min_size=1, unique=True))
)
def test_fewest_agrees_with_a_plain_python_version(table: dict[str, list[str]]) -> None:
    if not table:
        return
    concepts, names = sorted(table), sorted({name for members in table.values() for name in members})
    rows = [(concepts.index(c), names.index(n), 0 if i == 0 else 1) for c in concepts for i, n in enumerate(table[c])]
    terms = assemble.Terms(
        concept=np.array([r[0] for r in rows]),
        name=np.array([r[1] for r in rows]),
        kind=np.array([r[2] for r in rows], dtype=np.uint8),
        language=np.zeros(len(rows), dtype=np.uint16),
        row=np.arange(len(rows)),
        is_lent=np.zeros(len(rows), dtype=bool),
        source_offsets=np.arange(len(rows) + 1),
        source_values=np.zeros(len(rows), dtype=np.uint16),
    )
    counts: Counter[str] = Counter()
    left = assemble.fewest(terms, counts)
    found: dict[str, set[str]] = {concept: set() for concept in concepts}
    for concept, name in zip(left.concept, left.name, strict=True):
        found[concepts[concept]].add(names[name])
    assert found == plain_fewest(table)
    assert all(found.values())
    assert counts.total() == len(rows) - sum(len(members) for members in found.values())


def test_shared_names_are_kept_by_default(build: Builder) -> None:
    table = "id\tname\tsynonyms\na:1\tMyocardial infarction\tMI\na:2\tMichigan\tMI|Wolverine State\n"
    assert len(build(table).concepts_named("MI")) == 2
    kb = build(table, dest="few", shared_names="fewest")
    assert [kb.concept_ids[c] for c in kb.concepts_named("MI")] == ["a:1"]
    assert kb.report()["dropped"] == {"shared name left to the concept with fewest names": 1}


def test_the_best_kind_gives_the_form_and_sources_are_merged(build: Builder) -> None:
    kb = build("id\tname\tkind\na:1\tFEVER\texact\n", "id\tname\tkind\na:1\tFever\tpreferred\na:1\tPyrexia\texact\n")
    fever = kb["a:1"].terms[0]
    assert (fever.form, fever.sources) == ("Fever", ("s0", "s1"))
