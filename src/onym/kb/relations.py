"""The part of a build that writes the hierarchy and the successors of retired ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onym.kb.columns import Ints, counts_to_offsets, encode_values, to_strings
from onym.kb.gather import Batches
from onym.kb.hierarchy import JOINED_LOOP, LOOP
from onym.kb.identity import Identity, follow_chains
from onym.store.arrays import Ragged
from onym.store.stage import Stage
from onym.types import ParentKind, SuccessorKind

_CERTAIN = [int(kind) for kind in SuccessorKind if kind.is_certain]


def select_certain(successors: pl.DataFrame, counts: Counter[str]) -> pl.DataFrame:
    """Return each retired id with its successor, or with null unless exactly one other id is sure to mean the same.

    >>> rows = pl.DataFrame({"concept": ["a:1", "a:1", "a:2"], "successor": ["a:8", "a:9", "a:9"], "kind": [6, 0, 4]})
    >>> select_certain(rows, Counter()).sort("concept").rows()
    [('a:1', 'a:9'), ('a:2', None)]
    """
    certain = successors.filter(pl.col("kind").is_in(_CERTAIN) & pl.col("successor").is_not_null())
    certain = certain.select("concept", "successor").unique(maintain_order=True)
    alone = pl.len().over("concept") == 1
    single, several = certain.filter(alone), certain.filter(~alone)
    ends = follow_chains(single, Counter()).rename({"concept": "successor", "successor": "end"})
    led = several.join(ends, on="successor", how="left", maintain_order="left")
    agreed = led.select("concept", successor=pl.coalesce("end", "successor")).unique(maintain_order=True).filter(alone)
    counts["retired ids with several successors"] += several["concept"].n_unique() - agreed.height
    ids = successors.select("concept").unique(maintain_order=True)
    return ids.join(pl.concat([single, agreed]), on="concept", how="left", maintain_order="left")


def write_successors(stage: Stage, successors: pl.DataFrame) -> dict[str, int]:
    """Write what the sources say about each retired id, certain or not; nothing if no id is retired."""
    if successors.is_empty():
        return {}
    retired, owner = encode_values(successors["concept"])
    stage.write_strings("retired", to_strings(retired))
    stated = successors.with_columns(owner=pl.Series(owner)).filter(pl.col("successor").is_not_null())
    stated = stated.drop("concept").unique().sort("owner", "kind", "successor", "source", "release")
    stage.write_array(
        "retired.successors", counts_to_offsets(np.bincount(stated["owner"], minlength=len(retired))).astype("<u4")
    )
    stage.write_strings("successor.id", to_strings(stated["successor"]))
    stage.write_array("successor.kind", stated["kind"].to_numpy().astype("|u1"))
    stage.write_array("successor.source", stated["source"].to_numpy().astype("<u2"))
    releases, codes = encode_values(stated["release"])
    stage.write_strings("releases", to_strings(releases))
    stage.write_array("successor.release", codes.astype("<u2"))
    return {"successors": stated.height}


def write_hierarchy(
    stage: Stage, parents: Batches, identity: Identity, concepts: pl.Series, dropped: Counter[str]
) -> dict[str, Any]:
    """Write parents and children of all concepts, and return what the build report says about them; empty if there are none."""
    rows = _number_ids(identity, concepts)
    parts = [_to_rows(part, rows, dropped) for part in parents.take(_PART)]
    edges = pl.concat(parts).unique().sort("child", "parent", "kind", "source")
    if edges.is_empty():
        return {}
    child, parent, kind, source = (edges[name].to_numpy() for name in ("child", "parent", "kind", "source"))
    kind = kind | flag_loops(child, parent, np.where(kind == ParentKind.MAPPED_TO, -1, source.astype(np.int64)))
    for name, end, owner, other in (("concept.parents", "parent", child, parent), ("concept.children", "child", parent, child)):
        order = np.argsort(owner, kind="stable")
        stage.write_ragged(name, counts_to_offsets(np.bincount(owner, minlength=len(concepts))), other[order].astype("<u4"))
        stage.write_array(f"{end}.kind", kind[order].astype("|u1"))
        stage.write_array(f"{end}.source", source[order].astype("<u2"))
    loops = edges.filter(pl.Series(kind >= JOINED_LOOP))
    return {"relations": edges.height, "loops": _describe_loops(loops, concepts) if loops.height else {}}


_PART = 4_000_000  # relations numbered at a time
_LISTED = 100  # relations that close a cycle, listed in the build report


def _describe_loops(loops: pl.DataFrame, concepts: pl.Series) -> dict[str, Any]:
    first = loops.head(_LISTED)
    pairs = zip(concepts.gather(first["child"]), concepts.gather(first["parent"]), strict=True)
    return {"count": loops.height, "first": [list(pair) for pair in pairs]}


def _to_rows(parents: pl.DataFrame, rows: pl.DataFrame, dropped: Counter[str]) -> pl.DataFrame:
    """Return the relations between concepts of the knowledge base: child, parent, kind, source."""
    edges = parents.select(
        child=_number(parents["concept"], rows), parent=_number(parents["parent"], rows), kind="kind", source="source"
    )
    known = edges.filter(pl.col("child").is_not_null() & pl.col("parent").is_not_null())
    apart = known.filter(pl.col("child") != pl.col("parent"))
    dropped["parents of or by an id without a name"] += edges.height - known.height
    dropped["parents joined with their child"] += known.height - apart.height
    return apart


def _number_ids(identity: Identity, concepts: pl.Series) -> pl.DataFrame:
    """Return the concept of each known id, as a row: of its own id, of joined and replaced ids, and of unambiguous aliases."""
    own = concepts.alias("id").to_frame().with_row_index("row")
    aliases = identity.aliases.drop_nulls("concept").filter(pl.len().over("alias") == 1)
    others = pl.concat([identity.final.select(id="concept", to="final"), aliases.select(id="alias", to="concept")])
    led = others.unique("id", keep="first", maintain_order=True).join(own, left_on="to", right_on="id").select("row", "id")
    return pl.concat([own, led.join(own, on="id", how="anti")])


def _number(ids: pl.Series, rows: pl.DataFrame) -> pl.Series:
    return ids.alias("id").to_frame().join(rows, on="id", how="left", maintain_order="left")["row"]


def flag_loops(child: Ints, parent: Ints, source: Ints) -> npt.NDArray[np.uint8]:
    """Return a flag for each relation from child to parent.

    The flag is LOOP if the relation closes a cycle of relations of its source, JOINED_LOOP if it closes a cycle of relations of
    several sources, else 0. Relations whose source is negative are not considered.

    >>> flag_loops(np.array([0, 1, 2]), np.array([1, 0, 0]), np.array([0, 0, 1])).tolist()
    [0, 128, 0]
    """
    flags = np.zeros(len(child), dtype=np.uint8)
    inside = _find_cyclic(child, parent, source >= 0)
    for each in np.unique(source[inside]):
        of_source = inside[source[inside] == each]
        flags[of_source[_close_cycles(child[of_source], parent[of_source])]] = LOOP
    left = inside[flags[inside] == 0]
    flags[left[_close_cycles(child[left], parent[left])]] = JOINED_LOOP
    return flags


def _find_cyclic(child: Ints, parent: Ints, used: npt.NDArray[np.bool_]) -> Ints:
    """Return the relations that may be part of a cycle, by removing concepts without parents, then without children."""
    edges = np.flatnonzero(used)
    edges = edges[_mark_cyclic(child[edges], parent[edges])]
    return edges[_mark_cyclic(parent[edges], child[edges])]


def _mark_cyclic(one: Ints, other: Ints) -> npt.NDArray[np.bool_]:
    """Remove each concept that is on no pair's first side, with its pairs, until none is left; return which pairs remain."""
    size = int(max(one.max(initial=0), other.max(initial=0))) + 1
    degree = np.bincount(one, minlength=size)
    lists = Ragged(counts_to_offsets(np.bincount(other, minlength=size)), one[np.argsort(other, kind="stable")])
    removed = np.flatnonzero(degree == 0)
    while len(removed):
        freed, counts = np.unique(lists.take(removed).values, return_counts=True)
        degree[freed] -= counts
        removed = freed[degree[freed] == 0]
    return (degree[one] > 0) & (degree[other] > 0)


def _close_cycles(child: Ints, parent: Ints) -> list[int]:
    """Walk up depth-first, and return the relations that lead back to a concept on the current path."""
    upward: dict[int, list[tuple[int, int]]] = {}
    for edge, (low, high) in enumerate(zip(child.tolist(), parent.tolist(), strict=True)):
        upward.setdefault(low, []).append((edge, high))
    closing: list[int] = []
    done: set[int] = set()
    for start, first in upward.items():
        path, on_path = ([] if start in done else [(start, iter(first))]), {start}
        while path:
            row, edges = path[-1]
            for edge, high in edges:
                if high in on_path:
                    closing.append(edge)
                elif high in upward and high not in done:
                    path.append((high, iter(upward[high])))
                    on_path.add(high)
                    break
            else:
                path.pop()
                on_path.discard(row)
                done.add(row)
    return closing
