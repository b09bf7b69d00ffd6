"""Compares two knowledge bases (concepts added, removed, renamed, merged, retired) and reads tables of replaced ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.export import alias_frame, concept_frame, term_frame
from onym.kb.identity import AliasKind
from onym.store.files.source import InputFile
from onym.store.files.table import header, iter_table, sniff_format

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase


@dataclass(frozen=True)
class Difference:
    """The changes between two knowledge bases. A concept missing from the new one is in one of removed, merged and retired.

    added     id, name              only in the new knowledge base
    removed   id, name              missing from the new one, which does not know the id
    renamed   id, old, new          the preferred name changed
    merged    id, name, into        the id is now an alias of another concept
    retired   id, name              the new one marks the id as retired, without a successor
    """

    added: pl.DataFrame
    removed: pl.DataFrame
    renamed: pl.DataFrame
    merged: pl.DataFrame
    retired: pl.DataFrame
    names_added: int
    names_removed: int

    def counts(self) -> dict[str, int]:
        """Return the number of changes of each kind."""
        frames = {name: getattr(self, name).height for name in ("added", "removed", "renamed", "merged", "retired")}
        return frames | {"names_added": self.names_added, "names_removed": self.names_removed}


def diff(old: KnowledgeBase, new: KnowledgeBase) -> Difference:
    """Compare two knowledge bases.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> set(diff(kb, kb).counts().values())
    {0}
    """
    before, after = concept_frame(old), concept_frame(new)
    gone = before.join(after, on="id", how="anti", maintain_order="left")
    traces = alias_frame(new).unique("alias", keep="first", maintain_order=True)
    traced = gone.join(traces, left_on="id", right_on="alias", how="left", maintain_order="left")
    is_retired = (pl.col("kind") == int(AliasKind.RETIRED)) & pl.col("concept").is_null()
    both = before.join(after, on="id", suffix="_new", maintain_order="left")
    names_added, names_removed = _count_changed_names(old, new)
    return Difference(
        added=after.join(before, on="id", how="anti", maintain_order="left"),
        removed=traced.filter(pl.col("kind").is_null()).select("id", "name"),
        renamed=both.filter(pl.col("name") != pl.col("name_new")).select("id", old="name", new="name_new"),
        merged=traced.filter(pl.col("concept").is_not_null()).select("id", "name", into="concept"),
        retired=traced.filter(is_retired).select("id", "name"),
        names_added=names_added,
        names_removed=names_removed,
    )


def _count_changed_names(old: KnowledgeBase, new: KnowledgeBase) -> tuple[int, int]:
    """Count the (concept, name) pairs that were added and removed."""
    before, after = (term_frame(kb).select("id", "name") for kb in (old, new))
    return after.join(before, on=["id", "name"], how="anti").height, before.join(after, on=["id", "name"], how="anti").height


_NAMES = (("old", "new"), ("retired_id", "replaced_by"), ("from", "to"))


def read_replacements(path: Path, prefix: str = "mesh") -> pl.DataFrame:
    """Read a table of replaced ids into the columns `concept` and `successor`, as CURIEs.

    The columns are found by their usual names (such as old and new), else the first two are used.
    """
    file = InputFile.from_path(path)
    form = sniff_format(file)
    there = header(file, form)
    if len(there) < 2:
        fix = "give a table with the columns old and new"
        raise InputError("table-columns", "the table has fewer than two columns", where=file.name, fix=fix)
    old, new = next((pair for pair in _NAMES if set(pair) <= set(there)), (there[0], there[1]))
    frames = [pl.DataFrame(batch) for batch in iter_table(file, form, [old, new])]
    rows = pl.concat(frames) if frames else pl.DataFrame(schema={old: pl.String, new: pl.String})
    filled = rows.filter((pl.col(old) != "") & (pl.col(new) != ""))
    return filled.select(concept=curies(pl.col(old), prefix), successor=curies(pl.col(new), prefix))
