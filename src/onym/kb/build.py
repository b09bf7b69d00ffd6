"""From a recipe to a KnowledgeBase artefact, in one pass over the sources and atomically."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from onym.errors import InputError
from onym.kb import assemble
from onym.kb.decide import Decisions, decide
from onym.kb.gather import Gathered, gather, portable
from onym.kb.layout import FORMAT, KIND, NO_CONCEPT, NO_RULE
from onym.kb.recipe import Recipe
from onym.kb.replacements import read_replacements
from onym.store.artefact.manifest import InputEntry, Manifest
from onym.store.artefact.stage import Record, Stage, staging
from onym.store.files.source import InputFile, Source
from onym.types import Progress, silent

_log = logging.getLogger("onym.kb")


def build_kb(
    recipe: Recipe,
    dest: Path,
    *,
    root: Path | None = None,
    progress: Progress = silent,
    sources: Mapping[str, Source] | None = None,
) -> Manifest:
    """Build the knowledge base of a recipe at `dest`. Its paths are relative to `root`, by default the current folder.

    A path that is a key of `sources` is not opened: its source is passed in, for instance a part of an archive.
    """
    root = root or Path()
    with staging(dest) as stage:
        found = gather(recipe, root, progress, sources or {})
        progress("joining sources", found.rows)
        decisions = decide(found, recipe, _successors(found, recipe, root))
        progress("sorting names", found.rows)
        numbers = _write_terms(stage, found, decisions, recipe)
        stage.write_json("report.json", {"dropped": _plain(found.dropped), "decided": _plain(found.decided)})
        progress("writing", found.rows)
        counts = {**numbers, "rows": found.rows}
        _log.info("built %s: %d concepts, %d names", dest, counts["concepts"], counts["names"])
        return stage.publish(dest, KIND, FORMAT, Record(_config(recipe), found.inputs, counts))


def _config(recipe: Recipe) -> dict[str, Any]:
    """Return the resolved recipe without the absolute paths of this machine."""
    sources = tuple(source.model_copy(update={"path": portable(source.path)}) for source in recipe.sources)
    replacements = portable(recipe.replacements) if recipe.replacements else ""
    return recipe.model_copy(update={"sources": sources, "replacements": replacements}).record()


def _successors(found: Gathered, recipe: Recipe, root: Path) -> pl.DataFrame:
    """Return the successors of retired ids: those of the recipe's own table before those of the sources."""
    if not recipe.replacements:
        return found.successors.frame()
    path = root / recipe.replacements
    file = InputFile.from_path(path)
    found.inputs.append(InputEntry(name=portable(recipe.replacements), bytes=file.size, sha256=file.digest()))
    return pl.concat([read_replacements(path), found.successors.frame()])


def _write_terms(stage: Stage, found: Gathered, decisions: Decisions, recipe: Recipe) -> dict[str, int]:
    named = assemble.named_rows(found, decisions, recipe)
    if not len(named.row):
        raise InputError("kb-empty", "no name is left after the filters", fix="see the filters of the recipe")
    names, codes = assemble.coded_used(found.names.column("name"), named.row)
    found.names.drop("name")
    stage.write_strings("names", assemble.to_strings(names))
    terms = assemble.unique_terms(named, codes, found)
    found.dropped["same name of the same concept"] += len(named.row) - len(terms.row)
    if recipe.shared_names == "fewest":
        terms = assemble.fewest(terms, found.dropped)
    terms = assemble.by_concept(terms)
    concepts = named.concepts
    stage.write_strings("concepts", assemble.to_strings(concepts))
    numbers = {"concepts": len(concepts), "names": len(names), "terms": len(terms.row)}
    del named, codes, names
    _write_term_columns(stage, terms, numbers["concepts"], numbers["names"])
    if decisions.has_rules:
        stage.write_array("term.lent", terms.is_lent.astype("|u1"))
    stage.write_strings("term.form", assemble.to_strings(found.names.column("form").gather(terms.row)))
    found.names.drop("form")
    stage.write_strings("sources", assemble.labels(found.sources))
    stage.write_strings("languages", assemble.labels(found.languages))
    return numbers | _write_facts(stage, found, decisions, concepts) | _write_aliases(stage, found, decisions, concepts)


def _write_term_columns(stage: Stage, terms: assemble.Terms, concepts: int, names: int) -> None:
    stage.write_array("concept.terms", assemble.counts_to_offsets(np.bincount(terms.concept, minlength=concepts)).astype("<u4"))
    stage.write_array("term.name", terms.name.astype("<u4"))
    stage.write_array("term.kind", terms.kind.astype("|u1"))
    stage.write_array("term.language", terms.language.astype("<u2"))
    stage.write_ragged("term.sources", terms.source_offsets, terms.source_values.astype("<u2"))
    offsets, values = assemble.grouped(terms.name, terms.concept, names)
    stage.write_ragged("name.concepts", offsets, values.astype("<u4"))


def _write_facts(stage: Stage, found: Gathered, decisions: Decisions, concepts: pl.Series) -> dict[str, int]:
    facts = [
        ("types", found.types.frame(), "type"),
        ("definitions", found.definitions.frame(), "definition"),
        ("xrefs", decisions.identity.xrefs, "xref"),
    ]
    if decisions.groups is not None:
        facts.append(("groups", decisions.groups, "group"))
    numbers = {}
    for name, rows, column in facts:
        values, offsets, members, lost = assemble.facts(rows, column, concepts, decisions.identity.final)
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
    stage.write_strings("aliases", assemble.to_strings(rows["alias"]))
    stage.write_array("alias.concept", rows["code"].fill_null(NO_CONCEPT).to_numpy().astype("<u4"))
    stage.write_array("alias.kind", rows["kind"].to_numpy().astype("|u1"))
    if decisions.has_rules:
        rules = identity.joins.select(alias="concept", concept="final", rule="rule")
        ruled = rows.join(rules, on=["alias", "concept"], how="left", maintain_order="left")
        stage.write_array("alias.rule", ruled["rule"].fill_null(NO_RULE).to_numpy().astype("|u1"))
    known = rows.select("code").with_row_index("row").filter(pl.col("code").is_not_null())
    offsets, members = assemble.grouped(known["code"].to_numpy(), known["row"].to_numpy(), len(concepts))
    stage.write_ragged("concept.aliases", offsets, members.astype("<u4"))
    return {"aliases": rows.height}


def _plain(counts: Counter[str]) -> dict[str, Any]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
