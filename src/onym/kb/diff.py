"""Compares two releases of a knowledge base by meaning, and reads tables of replaced ids.

Concepts and names are compared as integers: each old row is looked up once in the new release, and a pair (concept, name) or
(concept, parent) is one number. So two releases of the size of UMLS need a few arrays of that many numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.export import concept_frame
from onym.kb.replacements import Replacement, Replacements, is_split, name_of
from onym.store.arrays import Strings
from onym.store.files.source import InputFile
from onym.store.files.table import header, iter_table, sniff_format
from onym.types import ParentKind

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase

Ints = npt.NDArray[np.int64]
_Schema = dict[str, pl.DataType | type[pl.DataType]]
_PAIR_SCHEMA: _Schema = {"id": pl.String, "name": pl.String, "added": pl.List(pl.String), "removed": pl.List(pl.String)}
GONE = ("merged", "replaced", "split", "suggested", "retired", "removed")
"""The groups of concepts whose ids are no longer current; each such concept is in exactly one of them."""


@dataclass(frozen=True)
class Difference:
    """The changes between two releases.

    kept              number of concepts whose id is current in both
    added             id, name                       only in the new release
    renamed           id, old, new                   the preferred name changed
    merged            id, name, into, new, why       replaced by a concept that the old release already had
    replaced          id, name, into, new, why       replaced by a new concept
    split             id, name, into, new, why       the release names several concepts instead (`into` and `new` are lists)
    suggested         id, name, into, new, why       no certain successor, but candidates (lists)
    retired           id, name                       retired without a successor
    removed           id, name                       unknown to the new release, and no concept has its names
    parents_changed   id, name, added, removed       lists of ids; a parent that was only replaced does not count
    types_changed     id, name, added, removed       lists of semantic types
    names_gained      id, name                       a current concept has a new name
    names_lost        id, name
    names_moved       name, id, concept, to, new     the name of one concept now belongs to others (`to` and `new` are lists)
    """

    kept: int
    added: pl.DataFrame
    renamed: pl.DataFrame
    merged: pl.DataFrame
    replaced: pl.DataFrame
    split: pl.DataFrame
    suggested: pl.DataFrame
    retired: pl.DataFrame
    removed: pl.DataFrame
    parents_changed: pl.DataFrame
    types_changed: pl.DataFrame
    names_gained: pl.DataFrame
    names_lost: pl.DataFrame
    names_moved: pl.DataFrame

    def counts(self) -> dict[str, int]:
        """Return the number of changes of each kind."""
        return {"kept": self.kept} | {name: frame.height for name, frame in self.frames().items()}

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the frames by name, in the order of the declaration."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "kept"}


def diff(old: KnowledgeBase, new: KnowledgeBase) -> Difference:
    """Compare two knowledge bases.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> {name: count for name, count in diff(kb, kb).counts().items() if count}
    {'kept': 3}
    """
    before, after = concept_frame(old), concept_frame(new)
    both = before.join(after, on="id", suffix="_new", maintain_order="left")
    found = Replacements(old, new)
    pairs = _ReleasePairs(found)
    return Difference(
        kept=both.height,
        added=after.join(before, on="id", how="anti", maintain_order="left"),
        renamed=both.filter(pl.col("name") != pl.col("name_new")).select("id", old="name", new="name_new"),
        **_list_gone(found),
        parents_changed=pairs.compare_parents(),
        types_changed=pairs.compare_types(),
        names_gained=pairs.find_gained_names(),
        names_lost=pairs.find_lost_names(),
        names_moved=pairs.find_moved_names(),
    )


def _list_gone(found: Replacements) -> dict[str, pl.DataFrame]:
    """Return the concepts that are no longer current as one frame for each group of `GONE`."""
    groups: dict[str, list[Replacement]] = {name: [] for name in GONE}
    for each in found.iter_gone():
        groups[_group(each, found)].append(each)
    one: _Schema = {"into": pl.String, "new": pl.String}
    lists: _Schema = {"into": pl.List(pl.String), "new": pl.List(pl.String)}
    shapes = {"merged": one, "replaced": one, "split": lists, "suggested": lists}
    return {name: _frame_of(members, found, shapes.get(name)) for name, members in groups.items()}


def _group(each: Replacement, found: Replacements) -> str:
    if each.new_id:
        return "merged" if found.old.concept_ids.find(each.new_id) >= 0 else "replaced"
    if each.targets:
        return "split" if is_split(each) else "suggested"
    return "retired" if each.is_stated else "removed"


def _frame_of(members: Iterable[Replacement], found: Replacements, shape: _Schema | None) -> pl.DataFrame:
    rows = []
    for each in members:
        about = (each.id, name_of(found.old, each.id))
        names = [name_of(found.new, target) for target in each.targets]
        into = (each.targets[0], names[0]) if each.new_id else (list(each.targets), names)
        rows.append((*about, *into, each.why) if shape else about)
    schema: _Schema = {"id": pl.String, "name": pl.String, **(shape | {"why": pl.String} if shape else {})}
    return pl.DataFrame(rows, schema=schema, orient="row")


class _ReleasePairs:
    """Compares pairs of a concept and a name, a parent or a type between two releases, as rows of the new release."""

    def __init__(self, found: Replacements) -> None:
        self.old, self.new = found.old, found.new
        self._same = _match(self.old.concept_ids, self.new.concept_ids)
        self._heir = self._same.copy()  # the row of each old concept or of its certain successor in the new release
        for each in found.iter_gone():
            if each.new_id:
                self._heir[self.old.concept_ids.find(each.id)] = self.new.concept_ids.find(each.new_id)
        self._names = _match(self.old.names, self.new.names)
        self._term_owners, self._new_owners = _own_terms(self.old), _own_terms(self.new)
        new_names = self.new.term_names.astype(np.int64)
        self._new_pairs = np.sort(self._pair(self._new_owners, new_names))

    def find_lost_names(self) -> pl.DataFrame:
        """Return the names that concepts of both releases no longer have."""
        kept = self._same[self._term_owners]
        is_lost = (kept >= 0) & ~self._has(kept, self._names[self.old.term_names])
        return self._name_frame(self.old, self._term_owners[is_lost], np.flatnonzero(is_lost))

    def find_gained_names(self) -> pl.DataFrame:
        """Return the new names of concepts of both releases."""
        kept, names = self._same[self._term_owners], self._names[self.old.term_names]
        known = np.sort(self._pair(kept, names)[(kept >= 0) & (names >= 0)])
        pairs = self._pair(self._new_owners, self.new.term_names.astype(np.int64))
        is_old = np.zeros(len(self.new), dtype=bool)
        is_old[self._same[self._same >= 0]] = True
        is_gained = is_old[self._new_owners] & ~_contains(known, pairs)
        return self._name_frame(self.new, self._new_owners[is_gained], np.flatnonzero(is_gained))

    def find_moved_names(self) -> pl.DataFrame:
        """Return the names that no longer belong to their concept, or to its certain successor, but to other concepts."""
        heirs, names = self._heir[self._term_owners], self._names[self.old.term_names]
        is_moved = np.flatnonzero((heirs >= 0) & (names >= 0) & ~self._has(heirs, names))
        rows = []
        for term in is_moved.tolist():
            owner = int(self._term_owners[term])
            holders = [int(row) for row in self.new.name_concepts[int(names[term])]]
            ids, labels = [self.new.concept_ids[row] for row in holders], [self.new.preferred_form(row) for row in holders]
            rows.append((self.old.term_forms[term], self.old.concept_ids[owner], self.old.preferred_form(owner), ids, labels))
        lists = {"to": pl.List(pl.String), "new": pl.List(pl.String)}
        return pl.DataFrame(rows, schema={"name": pl.String, "id": pl.String, "concept": pl.String, **lists}, orient="row")

    def compare_parents(self) -> pl.DataFrame:
        """Return the parents that concepts of both releases gained and lost; mapped headings do not count.

        Empty if one of the releases states no parents.
        """
        sides: list[tuple[Ints, Ints, Ints]] = []
        for kb, rows in ((self.old, self._heir), (self.new, np.arange(len(self.new)))):
            child, parent, kind, _ = kb.hierarchy.relations()
            is_parent = kind != ParentKind.MAPPED_TO
            sides.append((child[is_parent], parent[is_parent].astype(np.int64), rows))
        return self._compare(sides[0], sides[1], lambda row: self.new.concept_ids[row], lambda row: self.old.concept_ids[row])

    def compare_types(self) -> pl.DataFrame:
        """Return the semantic types that concepts of both releases gained and lost."""
        types = _match(self.old.types, self.new.types)
        before = (self.old.concept_types.owners(), self.old.concept_types.values.astype(np.int64), types)
        after = (
            self.new.concept_types.owners(),
            self.new.concept_types.values.astype(np.int64),
            np.arange(len(self.new.types)),
        )
        return self._compare(before, after, lambda row: self.new.types[row], lambda row: self.old.types[row])

    def _compare(
        self,
        before: tuple[Ints, Ints, Ints],
        after: tuple[Ints, Ints, Ints],
        label_new: Callable[[int], str],
        label_old: Callable[[int], str],
    ) -> pl.DataFrame:
        """Compare the pairs (concept, value) of two releases; the third column maps values to rows of the new release."""
        if not len(before[0]) or not len(after[0]):
            return pl.DataFrame(schema=_PAIR_SCHEMA)
        owners, now = self._same[before[0]], before[2][before[1]]
        old_pairs = np.sort(self._pair(owners, now)[(owners >= 0) & (now >= 0)])
        new_pairs = np.sort(self._pair(after[0], after[1]))
        is_lost = (owners >= 0) & ((now < 0) | ~_contains(new_pairs, self._pair(owners, now)))
        is_both = np.zeros(len(self.new), dtype=bool)
        is_both[self._same[self._same >= 0]] = True
        is_gained = is_both[after[0]] & ~_contains(old_pairs, self._pair(after[0], after[1]))
        changes: dict[int, tuple[list[str], list[str]]] = {}
        for side, rows_of, ends, label in (
            (0, after[0][is_gained], after[1][is_gained], label_new),
            (1, owners[is_lost], before[1][is_lost], label_old),
        ):
            for row, end in zip(rows_of.tolist(), ends.tolist(), strict=True):
                changes.setdefault(row, ([], []))[side].append(label(end))
        found = [(self.new.concept_ids[row], self.new.preferred_form(row), *changes[row]) for row in sorted(changes)]
        return pl.DataFrame(found, schema=_PAIR_SCHEMA, orient="row")

    def _has(self, rows: Ints, names: Ints) -> npt.NDArray[np.bool_]:
        """Return whether the new release has each pair of a concept and a name."""
        return (rows >= 0) & (names >= 0) & _contains(self._new_pairs, self._pair(rows, names))

    @staticmethod
    def _pair(rows: Ints, others: Ints) -> Ints:
        return (rows << np.int64(32)) | (others & np.int64(0xFFFFFFFF))

    @staticmethod
    def _name_frame(kb: KnowledgeBase, owners: Ints, terms: Ints) -> pl.DataFrame:
        ids, forms = pl.Series(kb.concept_ids.to_arrow()), pl.Series(kb.term_forms.to_arrow())
        return pl.DataFrame({"id": ids.gather(owners), "name": forms.gather(terms)})


def _own_terms(kb: KnowledgeBase) -> Ints:
    """Return the concept of each term."""
    ends = kb.concept_terms.astype(np.int64)
    return np.repeat(np.arange(len(kb)), ends[1:] - ends[:-1])


def _match(old: Strings, new: Strings) -> Ints:
    """Return for each old string its row in the new, sorted strings, or -1."""
    after = pl.Series("text", new.to_arrow(), dtype=pl.String).to_frame().with_row_index("row")
    before = pl.Series("text", old.to_arrow(), dtype=pl.String).to_frame()
    rows = before.join(after, on="text", how="left", maintain_order="left")["row"]
    return rows.cast(pl.Int64).fill_null(-1).to_numpy()


def _contains(known: Ints, wanted: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each number is among the sorted `known` ones."""
    if not len(known):
        return np.zeros(len(wanted), dtype=bool)
    found: npt.NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
    return found


_NAMES = (("old", "new"), ("retired_id", "replaced_by"), ("from", "to"))


def read_replacements(path: Path, prefix: str = "mesh") -> pl.DataFrame:
    """Read a table of replaced ids into the columns `concept` and `successor`, as CURIEs.

    The columns are found by their usual names (such as old and new), else the first two are used.
    """
    file = InputFile.from_path(path)
    form = sniff_format(file)
    there: Sequence[str] = header(file, form)
    if len(there) < 2:
        fix = "give a table with the columns old and new"
        raise InputError("table-columns", "the table has fewer than two columns", where=file.name, fix=fix)
    old, new = next((pair for pair in _NAMES if set(pair) <= set(there)), (there[0], there[1]))
    frames = [pl.DataFrame(batch) for batch in iter_table(file, form, [old, new])]
    rows = pl.concat(frames) if frames else pl.DataFrame(schema={old: pl.String, new: pl.String})
    filled = rows.filter((pl.col(old) != "") & (pl.col(new) != ""))
    return filled.select(concept=curies(pl.col(old), prefix), successor=curies(pl.col(new), prefix))
