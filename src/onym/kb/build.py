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
from onym.kb.gather import Gathered, gather, portable
from onym.kb.identity import Identity, identify
from onym.kb.layout import FORMAT, KIND, NO_CONCEPT
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
        identity = _identify(found, recipe, root)
        progress("sorting names", found.rows)
        numbers = _write_terms(stage, found, identity, recipe)
        stage.write_json("report.json", {"dropped": _plain(found.dropped), "decided": _plain(found.decided)})
        progress("writing", found.rows)
        counts = {**numbers, "rows": found.rows}
        _log.info("built %s: %d concepts, %d names", dest, counts["concepts"], counts["names"])
        return stage.publish(dest, KIND, FORMAT, Record(_config(recipe), found.inputs, counts))


def _config(recipe: Recipe) -> dict[str, Any]:
    """Return the resolved recipe without the absolute paths of this machine."""
    sources = tuple(source.model_copy(update={"path": portable(source.path)}) for source in recipe.sources)
    replacements = portable(recipe.replacements) if recipe.replacements else ""
    return recipe.model_copy(update={"sources": sources, "replacements": replacements}).model_dump(mode="json")


def _identify(found: Gathered, recipe: Recipe, root: Path) -> Identity:
    successors = found.successors.frame()
    if recipe.replacements:
        path = root / recipe.replacements
        file = InputFile.from_path(path)
        found.inputs.append(InputEntry(name=portable(recipe.replacements), bytes=file.size, sha256=file.digest()))
        successors = pl.concat([read_replacements(path), successors])
    return identify(
        found.ids.column().unique(maintain_order=True),
        found.xrefs.frame(),
        successors,
        found.alternatives.frame(),
        merge=recipe.merge,
        counts=found.decided,
    )


def _write_terms(stage: Stage, found: Gathered, identity: Identity, recipe: Recipe) -> dict[str, int]:
    named = assemble.named_rows(found, identity, recipe)
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
    stage.write_strings("term.form", assemble.to_strings(found.names.column("form").gather(terms.row)))
    found.names.drop("form")
    stage.write_strings("sources", assemble.labels(found.sources))
    stage.write_strings("languages", assemble.labels(found.languages))
    return numbers | _write_facts(stage, found, identity, concepts)


def _write_term_columns(stage: Stage, terms: assemble.Terms, concepts: int, names: int) -> None:
    stage.write_array("concept.terms", assemble.counts_to_offsets(np.bincount(terms.concept, minlength=concepts)).astype("<u4"))
    stage.write_array("term.name", terms.name.astype("<u4"))
    stage.write_array("term.kind", terms.kind.astype("|u1"))
    stage.write_array("term.language", terms.language.astype("<u2"))
    stage.write_ragged("term.sources", terms.source_offsets, terms.source_values.astype("<u2"))
    offsets, values = assemble.grouped(terms.name, terms.concept, names)
    stage.write_ragged("name.concepts", offsets, values.astype("<u4"))


def _write_facts(stage: Stage, found: Gathered, identity: Identity, concepts: pl.Series) -> dict[str, int]:
    numbers = {}
    for name, rows, column in (
        ("types", found.types.frame(), "type"),
        ("definitions", found.definitions.frame(), "definition"),
        ("xrefs", identity.xrefs, "xref"),
    ):
        values, offsets, members, lost = assemble.facts(rows, column, concepts, identity.final)
        stage.write_strings(name, values)
        stage.write_ragged(f"concept.{name}", offsets, members.astype("<u4"))
        numbers[name] = len(members)
        if lost:
            found.dropped[f"{name} of concepts without a name"] += lost
    return numbers | _write_aliases(stage, found, identity, concepts)


def _write_aliases(stage: Stage, found: Gathered, identity: Identity, concepts: pl.Series) -> dict[str, int]:
    table = concepts.alias("concept").to_frame().with_row_index("code")
    rows = identity.aliases.join(table, on="concept", how="left", maintain_order="left")
    lost = rows["concept"].is_not_null() & rows["code"].is_null()
    found.dropped["aliases of concepts without a name"] += int(lost.sum())
    rows = rows.filter(~lost)
    stage.write_strings("aliases", assemble.to_strings(rows["alias"]))
    stage.write_array("alias.concept", rows["code"].fill_null(NO_CONCEPT).to_numpy().astype("<u4"))
    stage.write_array("alias.kind", rows["kind"].to_numpy().astype("|u1"))
    known = rows.select("code").with_row_index("row").filter(pl.col("code").is_not_null())
    offsets, members = assemble.grouped(known["code"].to_numpy(), known["row"].to_numpy(), len(concepts))
    stage.write_ragged("concept.aliases", offsets, members.astype("<u4"))
    return {"aliases": rows.height}


def _plain(counts: Counter[str]) -> dict[str, Any]:
    return {reason: count for reason, count in sorted(counts.items()) if count}
