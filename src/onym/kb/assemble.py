"""The second half of a build: from strings to integers. Terms are sorted, made unique, and cut into flat columns.

A *term* is one name of one concept. Everything here is vectorised and every order is total, so that the same input gives
the same bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.decide import Decisions
from onym.kb.gather import Codes, Gathered
from onym.kb.identity import Identity
from onym.kb.recipe import Recipe
from onym.store.artefact.arrays import Ragged, Strings
from onym.types import NameKind

Ints = npt.NDArray[Any]


@dataclass
class Terms:
    """One row per (concept, name): codes of both, kind, language, the row that gave the form, and the sources.

    A name is lent if only concepts of other vocabularies, now joined with this one, have it.
    """

    concept: Ints
    name: Ints
    kind: Ints
    language: Ints
    row: Ints
    is_lent: npt.NDArray[np.bool_]
    source_offsets: npt.NDArray[np.int64]
    source_values: Ints

    def kept(self, mask: npt.NDArray[np.bool_]) -> Terms:
        """Return the terms of a mask."""
        return self.ordered(np.flatnonzero(mask))

    def ordered(self, order: Ints) -> Terms:
        """Return the terms in another order, or some of them."""
        sources = Ragged(self.source_offsets, self.source_values).take(order)
        return Terms(
            concept=self.concept[order],
            name=self.name[order],
            kind=self.kind[order],
            language=self.language[order],
            row=self.row[order],
            is_lent=self.is_lent[order],
            source_offsets=sources.offsets,
            source_values=sources.values,
        )


@dataclass
class Named:
    """The rows that give names: for each, its concept, and the row of `found.names` that it was."""

    concepts: pl.Series  # the final ids, sorted
    concept: Ints
    row: Ints
    is_added: npt.NDArray[np.bool_]  # by a cross-reference that is not one-to-one
    is_lent: npt.NDArray[np.bool_]  # by a concept of another vocabulary, which was joined or adds its names


def named_rows(found: Gathered, decisions: Decisions, recipe: Recipe) -> Named:
    """Bring every name row to its final concept, add those that cross-references add, and filter by semantic type."""
    identity = decisions.identity
    ids, number = found.ids.column().to_frame("concept"), found.names.column("id").to_numpy()
    numbered = ids.with_row_index("number")
    extra = numbered.join(identity.added, on="concept").join(
        pl.DataFrame({"number": number}).with_row_index("row"), on="number"
    ).sort("row", "target")  # fmt: skip
    found.decided["names added through cross-references"] += extra.height
    finals = pl.concat([_to_final(ids, identity.final)["concept"], extra["target"]])
    concepts, codes = coded(finals)
    own = len(ids)
    concept = np.concatenate([codes[number], codes[own:]])
    row = np.concatenate([np.arange(len(number), dtype=np.uint32), extra["row"].to_numpy().astype(np.uint32)])
    from_other = np.concatenate([_is_of_another(ids["concept"], finals[: len(ids)])[number], np.ones(extra.height, dtype=bool)])
    named = Named(concepts, concept, row, np.arange(len(row)) >= len(number), from_other)
    if decisions.left_out.height:
        named = _kept(named, ~named.concepts.is_in(decisions.left_out["concept"].implode()).to_numpy())
    return _of_types(named, found, identity, recipe) if recipe.semantic_types else named


def _is_of_another(ids: pl.Series, finals: pl.Series) -> npt.NDArray[np.bool_]:
    """Tell of each id whether it became a concept of another vocabulary."""
    ends = pl.DataFrame({"id": ids, "final": finals})
    return ends.select(prefix_of("id") != prefix_of("final")).to_series().fill_null(value=False).to_numpy()


def _of_types(named: Named, found: Gathered, identity: Identity, recipe: Recipe) -> Named:
    """Keep the concepts that have one of the wanted semantic types."""
    typed = _to_final(found.types.frame(), identity.final).filter(pl.col("type").is_in(recipe.semantic_types))
    allowed = named.concepts.to_frame("concept").join(typed.unique("concept"), on="concept", how="left", maintain_order="left")
    kept = _kept(named, allowed["type"].is_not_null().to_numpy())
    found.dropped["semantic type"] += len(named.row) - len(kept.row)
    return kept


def _kept(named: Named, is_allowed: npt.NDArray[np.bool_]) -> Named:
    """Keep the rows of the allowed concepts."""
    keep = is_allowed[named.concept]
    left, renumbered = np.unique(named.concept[keep], return_inverse=True)
    concepts = named.concepts.gather(left) if len(left) else named.concepts.clear()
    return Named(concepts, renumbered.astype(np.uint32), named.row[keep], named.is_added[keep], named.is_lent[keep])


def _to_final(rows: pl.DataFrame, final: pl.DataFrame) -> pl.DataFrame:
    """Bring rows about an id to the concept that the id leads to."""
    if final.is_empty():
        return rows
    found = rows.join(final, on="concept", how="left", maintain_order="left")
    return found.with_columns(concept=pl.coalesce("final", "concept")).drop("final")


def coded(column: pl.Series) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Return the distinct values in order, and each row's index among them.

    >>> values, codes = coded(pl.Series(["b", "a", "b"]))
    >>> values.to_list(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    values = column.unique().sort()
    table = values.alias("value").to_frame().with_row_index("code")
    codes = column.alias("value").to_frame().join(table, on="value", how="left", maintain_order="left")["code"]
    return values, codes.to_numpy().astype(np.uint32)


def coded_used(column: pl.Series, rows: Ints) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Do as `coded`, for the values of some rows alone; the other rows' codes mean nothing."""
    used = np.zeros(len(column), dtype=bool)
    used[rows] = True
    if used.all():
        return coded(column)
    values, some = coded(column.filter(pl.Series(used)))
    codes = np.zeros(len(column), dtype=np.uint32)
    codes[used] = some
    return values, codes


def unique_terms(named: Named, name: Ints, found: Gathered) -> Terms:
    """Make one term of all rows that give a concept the same name: the best kind, then the first row, gives the form."""
    kind = found.names.column("kind").to_numpy()[named.row]
    kind = np.where(named.is_added, np.maximum(kind, np.uint8(NameKind.EXACT)), kind)  # an added name is not the preferred one
    source = found.names.column("source").to_numpy()[named.row]
    key = named.concept.astype(np.uint64) << 32 | name[named.row]
    order = np.lexsort((named.row, kind, key))
    first = _starts(key[order])
    is_lent = np.logical_and.reduceat(named.is_lent[order], np.flatnonzero(first))
    pairs = _distinct((np.cumsum(first) - 1).astype(np.uint64) << 16 | source[order])
    selected = order[first]
    return Terms(
        concept=named.concept[selected],
        name=name[named.row[selected]],
        kind=kind[selected],
        language=found.names.column("language").to_numpy()[named.row[selected]],
        row=named.row[selected],
        is_lent=is_lent,
        source_offsets=counts_to_offsets(np.bincount((pairs >> 16).astype(np.int64), minlength=len(selected))),
        source_values=(pairs & 0xFFFF).astype(np.uint16),
    )


def fewest(terms: Terms, counts: Counter[str]) -> Terms:
    """Give a shared name to the one concept with the fewest names (GenBioEL, appendix E.1); no concept is left empty.

    The published rule depends on the order of a set; here the counts are those before anything is removed, ties go to
    the first concept, and a concept that would lose all its names keeps its best one.
    """
    sizes = np.bincount(terms.concept)
    order = np.lexsort((terms.concept, sizes[terms.concept], terms.name))
    keep = np.zeros(len(order), dtype=bool)
    keep[order[_starts(terms.name[order])]] = True
    best = np.lexsort((terms.row, terms.kind, terms.concept))
    best = best[_starts(terms.concept[best])]
    emptied = best[np.bincount(terms.concept[keep], minlength=len(sizes))[terms.concept[best]] == 0]
    keep[emptied] = True
    counts["shared name left to the concept with fewest names"] += int((~keep).sum())
    return terms.kept(keep)


def by_concept(terms: Terms) -> Terms:
    """Sort terms by concept, the best kind first, then in the order of the sources."""
    return terms.ordered(np.lexsort((terms.row, terms.kind, terms.concept)))


def _starts(values: Ints) -> npt.NDArray[np.bool_]:
    """Tell where a new value begins in a sorted column."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


def _distinct(values: Ints) -> Ints:
    """Return the sorted distinct values; numpy's own `unique` hashes, which is ten times slower here."""
    values = np.sort(values)
    return values[_starts(values)]


def counts_to_offsets(counts: Ints) -> npt.NDArray[np.int64]:
    """Return where each list begins, given how long each is."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def grouped(owner: Ints, values: Ints, owners: int) -> tuple[npt.NDArray[np.int64], Ints]:
    """Return, per owner, the sorted distinct values that belong to it."""
    key = _distinct(owner.astype(np.uint64) << 32 | values.astype(np.uint64))
    offsets = counts_to_offsets(np.bincount((key >> 32).astype(np.int64), minlength=owners))
    return offsets, (key & 0xFFFFFFFF).astype(np.uint32)


def facts(
    rows: pl.DataFrame, column: str, concepts: pl.Series, final: pl.DataFrame
) -> tuple[Strings, npt.NDArray[np.int64], Ints, int]:
    """Return the distinct values of a fact, the values of each concept, and how many rows had no concept."""
    rows = _to_final(rows, final)
    rows = rows.filter(pl.col(column) != pl.col("concept"))  # a joined concept may refer to what it now is
    table = concepts.alias("concept").to_frame().with_row_index("code")
    known = rows.join(table, on="concept", maintain_order="left")
    values, codes = coded(known[column])
    offsets, members = grouped(known["code"].to_numpy(), codes, len(concepts))
    return to_strings(values), offsets, members, rows.height - known.height


def to_strings(column: pl.Series) -> Strings:
    """Return a polars column as bytes and offsets."""
    import pyarrow as pa

    array = column.rechunk().to_arrow()
    array = array.cast(pa.large_string()) if array.type != pa.large_string() else array
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, offsets, data = array.buffers()
    ends = (
        np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        if len(array)
        else np.zeros(1, np.int64)
    )
    raw = (
        np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
        if data is not None and len(data)
        else np.empty(0, np.uint8)
    )
    ends = ends - ends[0]
    return Strings(ends.astype("<u4" if ends[-1] < 2**32 else "<u8"), raw)


def labels(codes: Codes) -> Strings:
    """Return the labels of codes as a column."""
    return Strings.of(codes.labels)
