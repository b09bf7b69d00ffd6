"""Builds a KnowledgeBase artefact from a recipe, in one pass over the sources and atomically."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from onym.errors import InputError
from onym.kb.columns import (
    Ints,
    counts_to_offsets,
    distinct,
    encode_used_values,
    encode_values,
    group_values,
    starts,
    to_strings,
)  # fmt: skip
from onym.kb.curie import prefix_of
from onym.kb.diff import read_replacements
from onym.kb.gather import Decisions, Gathered, decide, gather, portable
from onym.kb.identity import Identity
from onym.kb.ignored import IgnoredFile, summarise_ignored
from onym.kb.knowledge_base import FORMAT, KIND, NO_CONCEPT, NO_RULE
from onym.kb.recipe import Recipe
from onym.kb.relations import select_certain, write_hierarchy, write_successors
from onym.store.arrays import Ragged, Strings
from onym.store.artefact import InputEntry, Manifest
from onym.store.files.source import InputFile, Source
from onym.store.stage import Record, Stage, staging
from onym.types import NameKind, Progress, SuccessorKind, silent

_MAX_REFUSED = 1000  # refused joins listed in the build report; all are counted


@dataclass
class Terms:
    """Columns of terms, one row per distinct (concept, name) pair, both as integer codes.

    `row` is the row of the gathered names from which the written form is taken. `is_lent` marks names
    that come only from joined concepts of other vocabularies.
    """

    concept: Ints
    name: Ints
    kind: Ints
    language: Ints
    row: Ints
    is_lent: npt.NDArray[np.bool_]
    source_offsets: npt.NDArray[np.int64]
    source_values: Ints

    def select(self, mask: npt.NDArray[np.bool_]) -> Terms:
        """Return the terms where the mask is True."""
        return self.reorder(np.flatnonzero(mask))

    def reorder(self, order: Ints) -> Terms:
        """Return the terms at these indices, in this order."""
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
    """The (concept, name) rows: for each, the code of its concept, and the row in `found.names` that it comes from."""

    concepts: pl.Series  # the final ids, sorted
    concept: Ints
    row: Ints
    is_added: npt.NDArray[np.bool_]  # added through a cross-reference that is not one-to-one
    is_lent: npt.NDArray[np.bool_]  # comes from a concept of another vocabulary, joined or cross-referenced


def resolve_names(found: Gathered, decisions: Decisions, recipe: Recipe) -> Named:
    """Assign each name row to its final concept, add names through cross-references, and filter by semantic type."""
    identity = decisions.identity
    ids, number = found.ids.column().to_frame("concept"), found.names.column("id").to_numpy()
    numbered = ids.with_row_index("number")
    extra = numbered.join(identity.added, on="concept").join(
        pl.DataFrame({"number": number}).with_row_index("row"), on="number"
    ).sort("row", "target")  # fmt: skip
    found.decided["names added through cross-references"] += extra.height
    finals = pl.concat([_to_final(ids, identity.final)["concept"], extra["target"]])
    concepts, codes = encode_values(finals)
    own = len(ids)
    concept = np.concatenate([codes[number], codes[own:]])
    row = np.concatenate([np.arange(len(number), dtype=np.uint32), extra["row"].to_numpy().astype(np.uint32)])
    from_other = np.concatenate([_is_of_another(ids["concept"], finals[: len(ids)])[number], np.ones(extra.height, dtype=bool)])
    named = Named(concepts, concept, row, np.arange(len(row)) >= len(number), from_other)
    if decisions.left_out.height:
        named = _filter_rows(named, ~named.concepts.is_in(decisions.left_out["concept"].implode()).to_numpy())
    if recipe.only_groups and decisions.groups is not None:
        grouped = _to_final(decisions.groups, identity.final)  # already only of these groups
        named = _filter_concepts(named, grouped["concept"], found.dropped, "semantic group")
    return _of_types(named, found, identity, recipe) if recipe.semantic_types else named


def _is_of_another(ids: pl.Series, finals: pl.Series) -> npt.NDArray[np.bool_]:
    """Return for each id whether its final concept is of another vocabulary."""
    ends = pl.DataFrame({"id": ids, "final": finals})
    return ends.select(prefix_of("id") != prefix_of("final")).to_series().fill_null(value=False).to_numpy()


def _of_types(named: Named, found: Gathered, identity: Identity, recipe: Recipe) -> Named:
    """Keep the concepts with one of the recipe's semantic types."""
    typed = _to_final(found.types.frame(), identity.final).filter(pl.col("type").is_in(recipe.semantic_types))
    return _filter_concepts(named, typed["concept"], found.dropped, "semantic type")


def _filter_concepts(named: Named, concepts: pl.Series, dropped: Counter[str], reason: str) -> Named:
    """Keep the rows of some concepts, and count the others under a reason."""
    kept = _filter_rows(named, named.concepts.is_in(concepts.unique().implode()).to_numpy())
    dropped[reason] += len(named.row) - len(kept.row)
    return kept


def _filter_rows(named: Named, is_allowed: npt.NDArray[np.bool_]) -> Named:
    """Keep the rows of the allowed concepts."""
    keep = is_allowed[named.concept]
    left, renumbered = np.unique(named.concept[keep], return_inverse=True)
    concepts = named.concepts.gather(left) if len(left) else named.concepts.clear()
    return Named(concepts, renumbered.astype(np.uint32), named.row[keep], named.is_added[keep], named.is_lent[keep])


def _to_final(rows: pl.DataFrame, final: pl.DataFrame) -> pl.DataFrame:
    """Replace the ids in the column `concept` by their final concepts."""
    if final.is_empty():
        return rows
    found = rows.join(final, on="concept", how="left", maintain_order="left")
    return found.with_columns(concept=pl.coalesce("final", "concept")).drop("final")


def unique_terms(named: Named, name: Ints, found: Gathered) -> Terms:
    """Merge rows with the same concept and name into one term; the form is that of the first row with the best kind."""
    kind = found.names.column("kind").to_numpy()[named.row]
    kind = np.where(named.is_added, np.maximum(kind, np.uint8(NameKind.EXACT)), kind)  # an added name is never preferred
    source = found.names.column("source").to_numpy()[named.row]
    key = named.concept.astype(np.uint64) << 32 | name[named.row]
    order = np.lexsort((named.row, kind, key))
    first = starts(key[order])
    is_lent = np.logical_and.reduceat(named.is_lent[order], np.flatnonzero(first))
    pairs = distinct((np.cumsum(first) - 1).astype(np.uint64) << 16 | source[order])
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
    """Keep a shared name only for the concept with the fewest names (GenBioEL, appendix E.1).

    The published rule depends on the iteration order of a set. To be deterministic, names are counted before any is removed,
    ties go to the first concept, and a concept that would lose all its names keeps its best one.
    """
    sizes = np.bincount(terms.concept)
    order = np.lexsort((terms.concept, sizes[terms.concept], terms.name))
    keep = np.zeros(len(order), dtype=bool)
    keep[order[starts(terms.name[order])]] = True
    best = np.lexsort((terms.row, terms.kind, terms.concept))
    best = best[starts(terms.concept[best])]
    emptied = best[np.bincount(terms.concept[keep], minlength=len(sizes))[terms.concept[best]] == 0]
    keep[emptied] = True
    counts["shared name left to the concept with fewest names"] += int((~keep).sum())
    return terms.select(keep)


def by_concept(terms: Terms) -> Terms:
    """Sort terms by concept, then by kind, then in the order of the sources."""
    return terms.reorder(np.lexsort((terms.row, terms.kind, terms.concept)))


def facts(
    rows: pl.DataFrame, column: str, concepts: pl.Series, final: pl.DataFrame
) -> tuple[Strings, npt.NDArray[np.int64], Ints, int]:
    """Return the distinct values of a column, the values of each concept (offsets, rows of values), and the rows dropped."""
    rows = _to_final(rows, final)
    rows = rows.filter(pl.col(column) != pl.col("concept"))  # drop cross-references of joined concepts to each other
    table = concepts.alias("concept").to_frame().with_row_index("code")
    known = rows.join(table, on="concept", maintain_order="left")
    values, codes = encode_values(known[column])
    offsets, members = group_values(known["code"].to_numpy(), codes, len(concepts))
    return to_strings(values), offsets, members, rows.height - known.height


_log = logging.getLogger("onym.kb")


def log_ignored(files: Sequence[IgnoredFile]) -> None:
    """Log the files of the sources that were not read, and why."""
    for line in summarise_ignored(files):
        _log.warning("%s", line)


def build_kb(
    recipe: Recipe,
    dest: Path,
    *,
    root: Path | None = None,
    progress: Progress = silent,
    sources: Mapping[str, Source] | None = None,
    report_ignored: Callable[[Sequence[IgnoredFile]], None] = log_ignored,
) -> Manifest:
    """Build the knowledge base of a recipe in the folder `dest`. Paths are relative to `root`, by default the current folder.

    `sources` maps paths of the recipe to sources that are already open, such as a member of an archive. `report_ignored` is
    called with the files of the sources that were not read, if any; by default they are logged.
    """
    root = root or Path()
    with staging(dest) as stage:
        found = gather(recipe, root, progress, sources or {})
        if found.ignored:
            report_ignored(found.ignored)
        progress("joining sources", found.rows)
        successors = _successors(found, recipe, root)
        decisions = decide(found, recipe, select_certain(successors, found.decided))
        progress("sorting names", found.rows)
        numbers = _write_terms(stage, found, decisions, recipe) | write_successors(stage, successors)
        stage.write_json("report.json", _report(found, decisions))
        progress("writing", found.rows)
        counts = {**numbers, "rows": found.rows}
        if refused := decisions.identity.misnamed.height:
            counts["refused_joins"] = refused
        _log.info("built %s: %d concepts, %d names", dest, counts["concepts"], counts["names"])
        return stage.publish(dest, KIND, FORMAT, Record(_config(recipe), found.inputs, counts))


def _report(found: Gathered, decisions: Decisions) -> dict[str, Any]:
    """Return the build report: counts of dropped rows and of decisions; if any, ignored files, refused joins and cycles."""
    counts = {"dropped": _plain(found.dropped), "decided": _plain(found.decided)}
    parts = {
        "ignored": [asdict(file) for file in found.ignored],
        "refused": decisions.identity.misnamed.head(_MAX_REFUSED).to_dicts(),
        "loops": found.loops,
    }
    return counts | {name: part for name, part in parts.items() if part}


def _config(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe as recorded in the manifest, without absolute paths."""
    sources = tuple(source.model_copy(update={"path": portable(source.path)}) for source in recipe.sources)
    replacements = portable(recipe.replacements) if recipe.replacements else ""
    return recipe.model_copy(update={"sources": sources, "replacements": replacements}).record()


def _successors(found: Gathered, recipe: Recipe, root: Path) -> pl.DataFrame:
    """Return the successors of retired ids; the recipe's own table takes precedence over the sources."""
    stated = found.successors.frame()
    if not recipe.replacements:
        return stated
    path = root / recipe.replacements
    file = InputFile.from_path(path)
    found.inputs.append(InputEntry(name=portable(recipe.replacements), bytes=file.size, sha256=file.digest()))
    table = read_replacements(path)
    source = found.sources.of(pl.Series([Path(recipe.replacements).name.split(".")[0]] * table.height, dtype=pl.String))
    kind = pl.lit(int(SuccessorKind.REPLACED_BY), dtype=pl.UInt8)
    own = table.select("concept", "successor", kind=kind, source=source, release=pl.lit(""))
    certain = pl.col("kind").is_in([int(each) for each in SuccessorKind if each.is_certain])
    return pl.concat([own, stated.filter(~certain | ~pl.col("concept").is_in(own["concept"].implode()))])


def _write_terms(stage: Stage, found: Gathered, decisions: Decisions, recipe: Recipe) -> dict[str, int]:
    named = resolve_names(found, decisions, recipe)
    if not len(named.row):
        fix = "relax languages, vocabularies, semantic_types or drop_kinds in the recipe"
        raise InputError("kb-empty", "the filters of the recipe dropped all names", fix=fix)
    hierarchy = write_hierarchy(stage, found.parents, decisions.identity, named.concepts, found.dropped)
    found.loops = hierarchy.pop("loops", {})
    names, codes = encode_used_values(found.names.column("name"), named.row)
    found.names.drop("name")
    stage.write_strings("names", to_strings(names))
    terms = unique_terms(named, codes, found)
    found.dropped["same name of the same concept"] += len(named.row) - len(terms.row)
    if recipe.shared_names == "fewest":
        terms = fewest(terms, found.dropped)
    terms = by_concept(terms)
    concepts = named.concepts
    stage.write_strings("concepts", to_strings(concepts))
    numbers = {"concepts": len(concepts), "names": len(names), "terms": len(terms.row), **hierarchy}
    del named, codes, names
    _write_term_columns(stage, terms, numbers["concepts"], numbers["names"])
    if decisions.has_rules:
        stage.write_array("term.lent", terms.is_lent.astype("|u1"))
    stage.write_strings("term.form", to_strings(found.names.column("form").gather(terms.row)))
    found.names.drop("form")
    stage.write_strings("sources", Strings.of(found.sources.labels))
    stage.write_strings("languages", Strings.of(found.languages.labels))
    return numbers | _write_facts(stage, found, decisions, concepts) | _write_aliases(stage, found, decisions, concepts)


def _write_term_columns(stage: Stage, terms: Terms, concepts: int, names: int) -> None:
    stage.write_array("concept.terms", counts_to_offsets(np.bincount(terms.concept, minlength=concepts)).astype("<u4"))
    stage.write_array("term.name", terms.name.astype("<u4"))
    stage.write_array("term.kind", terms.kind.astype("|u1"))
    stage.write_array("term.language", terms.language.astype("<u2"))
    stage.write_ragged("term.sources", terms.source_offsets, terms.source_values.astype("<u2"))
    offsets, values = group_values(terms.name, terms.concept, names)
    stage.write_ragged("name.concepts", offsets, values.astype("<u4"))


def _write_facts(stage: Stage, found: Gathered, decisions: Decisions, concepts: pl.Series) -> dict[str, int]:
    tables = [
        ("types", found.types.frame(), "type"),
        ("definitions", found.definitions.frame(), "definition"),
        ("xrefs", decisions.identity.xrefs, "xref"),
    ]
    if decisions.groups is not None:
        tables.append(("groups", decisions.groups, "group"))
    numbers = {}
    for name, rows, column in tables:
        values, offsets, members, lost = facts(rows, column, concepts, decisions.identity.final)
        stage.write_strings(name, values)
        stage.write_ragged(f"concept.{name}", offsets, members.astype("<u4"))
        numbers[name] = len(members)
        if lost:
            found.dropped[f"{name} of concepts without a name"] += lost
    return numbers


def _write_aliases(stage: Stage, found: Gathered, decisions: Decisions, concepts: pl.Series) -> dict[str, int]:
    identity = decisions.identity
    table = concepts.alias("concept").to_frame().with_row_index("code")
    rows = identity.aliases.join(table, on="concept", how="left", maintain_order="left")
    lost = rows["concept"].is_not_null() & rows["code"].is_null()
    found.dropped["aliases of concepts without a name"] += int(lost.sum())
    rows = rows.filter(~lost)
    stage.write_strings("aliases", to_strings(rows["alias"]))
    stage.write_array("alias.concept", rows["code"].fill_null(NO_CONCEPT).to_numpy().astype("<u4"))
    stage.write_array("alias.kind", rows["kind"].to_numpy().astype("|u1"))
    if decisions.has_rules:
        rules = identity.joins.select(alias="concept", concept="final", rule="rule")
        ruled = rows.join(rules, on=["alias", "concept"], how="left", maintain_order="left")
        stage.write_array("alias.rule", ruled["rule"].fill_null(NO_RULE).to_numpy().astype("|u1"))
    known = rows.select("code").with_row_index("row").filter(pl.col("code").is_not_null())
    offsets, members = group_values(known["code"].to_numpy(), known["row"].to_numpy(), len(concepts))
    stage.write_ragged("concept.aliases", offsets, members.astype("<u4"))
    return {"aliases": rows.height}


def _plain(counts: Counter[str]) -> dict[str, Any]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
