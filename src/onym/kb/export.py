"""Exports a knowledge base as data frames, and to formats of other tools that Onym can also read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from onym.errors import ConfigError
from onym.kb.hierarchy import Rows
from onym.kb.identity import AliasKind
from onym.kb.joins import JoinRule
from onym.kb.knowledge_base import NO_CONCEPT
from onym.store.arrays import Ragged
from onym.types import IdStyle, NameKind, style_id

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase
    from onym.kb.ranking import ConceptMask

KIND_LABELS = [kind.label for kind in NameKind]


def concept_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the columns `id` and `name` (the preferred name) of all concepts, sorted by id."""
    kb.require_intact()
    forms = pl.Series(kb.term_forms.to_arrow()).gather(kb.concept_terms[:-1])
    return pl.DataFrame({"id": pl.Series(kb.concept_ids.to_arrow()), "name": forms})


def term_frame(kb: KnowledgeBase, rows: Rows | None = None) -> pl.DataFrame:
    """Return the terms of all concepts, or of those at the given rows: id, name, form, kind, language."""
    kb.require_intact()
    rows = np.arange(len(kb)) if rows is None else rows
    terms, offsets = Ragged(kb.concept_terms, kb.term_names).positions(rows)
    return pl.DataFrame(
        {
            "id": pl.Series(kb.concept_ids.to_arrow()).gather(np.repeat(rows, np.diff(offsets))),
            "name": pl.Series(kb.names.to_arrow()).gather(kb.term_names[terms]),
            "form": pl.Series(kb.term_forms.to_arrow()).gather(terms),
            "kind": pl.Series(KIND_LABELS).gather(kb.term_kinds[terms]),
            "language": pl.Series(kb.languages.to_arrow()).gather(kb.term_languages[terms]),
        }
    )


def alias_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the columns `alias`, `concept` (null if retired without a successor) and `kind` (AliasKind)."""
    kb.require_intact()
    known = kb.alias_concepts != NO_CONCEPT
    concepts = pl.Series(kb.concept_ids.to_arrow()).gather(np.where(known, kb.alias_concepts, 0))
    concepts = pl.select(pl.when(pl.Series(known)).then(concepts)).to_series()
    return pl.DataFrame({"alias": pl.Series(kb.aliases.to_arrow()), "concept": concepts, "kind": np.asarray(kb.alias_kinds)})


def join_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the concepts that were joined into another one: `alias`, `concept`, and `rule` (the label of a JoinRule)."""
    one_to_one = np.full(len(kb.aliases), int(JoinRule.ONE_TO_ONE), dtype=np.uint8)
    rules = pl.Series(one_to_one if kb.alias_rules is None else np.asarray(kb.alias_rules))
    labels = {int(rule): rule.label for rule in JoinRule}
    rows = alias_frame(kb).with_columns(rule=rules.replace_strict(labels, default=None, return_dtype=pl.String))
    return rows.filter(pl.col("kind") == int(AliasKind.JOINED)).select("alias", "concept", "rule")


def type_frame(kb: KnowledgeBase) -> pl.DataFrame:
    """Return the semantic groups and types with their numbers of concepts: `level` (group or type), `name`, `concepts`."""
    kb.require_intact()
    levels = (("group", kb.groups, kb.concept_groups), ("type", kb.types, kb.concept_types))
    counts = [(level, labels, np.bincount(members.values, minlength=len(labels))) for level, labels, members in levels]
    rows = [(level, labels[row], int(count)) for level, labels, column in counts for row, count in enumerate(column)]
    return pl.DataFrame(rows, schema={"level": pl.String, "name": pl.String, "concepts": pl.Int64}, orient="row")


ExportFormat = Literal["jsonl", "biosyn", "genbioel", "tsv"]
_CONCEPTS = 50_000  # concepts per write
Advance = Callable[[int], None]


def export_kb(
    kb: KnowledgeBase,
    file: BinaryIO,
    form: ExportFormat,
    ids: IdStyle = "curie",
    advance: Advance = lambda _: None,
    *,
    only: ConceptMask | None = None,
) -> None:
    """Write all concepts, or those in `only`, to a file; `advance` is called with the number of concepts written so far.

    jsonl     one object per line: concept_id, canonical_name, aliases, types, definition, xrefs
    biosyn    `id||name` lines with normalised names
    genbioel  one object that maps each id to its normalised names (target_kb.json)
    tsv       one line per name: id, name, kind, language, types, definition, xrefs
    """
    if form not in get_args(ExportFormat):
        known = ", ".join(get_args(ExportFormat))
        raise ConfigError("format-unknown", f"unknown export format {form!r}", fix=f"use one of {known}")
    rows = np.arange(len(kb)) if only is None else np.flatnonzero(only)
    for start in range(0, len(rows), _CONCEPTS):
        block = _ExportBlock(kb, rows[start : start + _CONCEPTS], ids, start == 0, start + _CONCEPTS >= len(rows))
        file.write(_WRITERS[form](block))
        advance(start + len(block.rows))


class _ExportBlock(NamedTuple):
    """The concepts of one write."""

    kb: KnowledgeBase
    rows: Rows
    ids: IdStyle
    is_first: bool
    is_last: bool

    def terms(self) -> pl.DataFrame:
        return term_frame(self.kb, self.rows)


def _jsonl(block: _ExportBlock) -> bytes:
    return b"".join(json.dumps(entity, ensure_ascii=False).encode() + b"\n" for entity in _entities(block))


def _entities(block: _ExportBlock) -> Iterator[dict[str, object]]:
    for row in block.rows.tolist():
        concept = block.kb.concept(row)
        yield {
            "concept_id": style_id(concept.id, block.ids),
            "canonical_name": concept.preferred_name,
            "aliases": [term.form for term in concept.terms[1:]],
            "types": list(concept.types),
            "definition": " ".join(concept.definitions) or None,
            "xrefs": list(concept.xrefs),
        }


def _biosyn(block: _ExportBlock) -> bytes:
    rows = block.terms().select(line=_id(block.ids) + "||" + pl.col("name"))
    return "".join(f"{line}\n" for line in rows["line"]).encode()


def _genbioel(block: _ExportBlock) -> bytes:
    rows = block.terms().group_by("id", maintain_order=True).agg("name").with_columns(id=_id(block.ids))
    pairs = [f"{json.dumps(key)}: {json.dumps(names, ensure_ascii=False)}" for key, names in rows.iter_rows()]
    head, tail = "{\n" if block.is_first else ",\n", "\n}\n" if block.is_last else ""
    return (head + ",\n".join(pairs) + tail).encode()


def _tsv(block: _ExportBlock) -> bytes:
    facts = [(block.kb.concept_ids[row], *_facts(block.kb, row)) for row in block.rows.tolist()]
    about = pl.DataFrame(facts, schema=["id", "types", "definition", "xrefs"], orient="row")
    terms = block.terms().with_columns(first=pl.int_range(pl.len()).over("id") == 0)
    terms = terms.join(about, on="id", how="left", maintain_order="left")
    once = [pl.when("first").then(column).otherwise(pl.lit("")).alias(column) for column in ("types", "definition", "xrefs")]
    buffer = io.BytesIO()
    rows = terms.select(_id(block.ids).alias("id"), pl.col("form").alias("name"), "kind", "language", *once)
    rows.write_csv(buffer, separator="\t", include_header=block.is_first)
    return buffer.getvalue()


def _facts(kb: KnowledgeBase, row: int) -> tuple[str, str, str]:
    return (
        "|".join(kb.types[t] for t in kb.concept_types[row]),
        " ".join(kb.definitions[d] for d in kb.concept_definitions[row]),
        "|".join(kb.xrefs[x] for x in kb.concept_xrefs[row]),
    )


def _id(style: IdStyle) -> pl.Expr:
    prefix, local = pl.col("id").str.extract(r"^([^:]+):", 1), pl.col("id").str.replace(r"^[^:]+:", "")
    return {"curie": pl.col("id"), "obo": prefix.str.to_uppercase() + ":" + local, "raw": local}[style]


_WRITERS: dict[ExportFormat, Callable[[_ExportBlock], bytes]] = {
    "jsonl": _jsonl,
    "biosyn": _biosyn,
    "genbioel": _genbioel,
    "tsv": _tsv,
}
