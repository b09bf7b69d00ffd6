"""Checks a knowledge base: corrupt files, inconsistent columns, and content that may mislead linkers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from onym.errors import OnymError, printable
from onym.kb.knowledge_base import KnowledgeBase
from onym.store.artefact import check_artefact

_MANY = 50  # a name shared by more concepts than this is reported
_LATIN, _LOOKALIKE = r"[A-Za-z]", r"[\p{Cyrillic}\p{Armenian}\p{Cherokee}]"


@dataclass(frozen=True, slots=True)
class KbProblem:
    """A problem found by `check_kb`: an `error` makes the knowledge base unusable, a `warning` should be reviewed."""

    level: Literal["error", "warning"]
    what: str
    examples: tuple[str, ...] = ()


def check_kb(folder: Path) -> list[KbProblem]:
    """Verify all checksums, then the structure, then the content; the content is skipped if there are errors.

    >>> check_kb(getfixture("tiny_kb"))
    []
    """
    torn = check_artefact(folder)
    if torn:
        return [KbProblem("error", what) for what in torn]
    try:
        kb = KnowledgeBase.open(folder)
        kb.require_sound()
    except OnymError as e:
        return [KbProblem("error", e.what)]
    return list(_content(kb))


def _content(kb: KnowledgeBase) -> Iterator[KbProblem]:
    concepts_per_name = np.diff(kb.name_concepts.offsets.astype(np.int64))
    crowded = np.flatnonzero(concepts_per_name > _MANY)
    if len(crowded):
        worst = sorted(crowded, key=lambda i: -concepts_per_name[i])
        yield _warning(f"{len(crowded):,} names are shared by more than {_MANY} concepts", [kb.names[int(i)] for i in worst])
    names = pl.Series(kb.names.to_arrow())
    mixed = names.filter(names.str.contains(_LATIN) & names.str.contains(_LOOKALIKE))
    if len(mixed):
        yield _warning(f"{len(mixed):,} names mix Latin letters with letters that look like them", mixed.to_list())
    ids = pl.DataFrame({"id": pl.Series(kb.concept_ids.to_arrow())}).with_columns(lower=pl.col("id").str.to_lowercase())
    twins = ids.filter(pl.col("lower").is_duplicated())
    if twins.height:
        yield _warning(f"{twins.height:,} ids differ from another only in case", twins["id"].to_list())


def _warning(what: str, examples: list[str]) -> KbProblem:
    return KbProblem("warning", what, tuple(printable(example) for example in examples[:5]))
