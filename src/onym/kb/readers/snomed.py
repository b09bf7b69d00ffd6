"""Reader of SNOMED CT in Release Format 2 (snapshot files). Written from the specification, not tested on a real release.

Active concepts come from the concept file, names from descriptions, preferred names from the language reference sets, and
successors of inactive concepts from the historical association reference sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import batches, kind
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, iter_table
from onym.types import NameKind

FSN, SYNONYM = "900000000000003001", "900000000000013009"
PREFERRED = "900000000000548007"
# Historical associations, the most reliable first: same as, replaced by, alternative, possibly equivalent to. "Moved to" is
# not used: it points to a namespace, not to a concept.
SUCCESSORS = ["900000000000527005", "900000000000526001", "900000000000530003", "900000000000523009"]


def matches(source: Source) -> bool:
    """Return whether the release has RF2 snapshot files."""
    return source.find("sct2_concept_snapshot*.txt") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield active descriptions of active concepts, semantic tags as types, definitions, and successors of inactive ones."""
    concepts = _frame(source.matching("sct2_concept_snapshot*.txt"), ["id", "active"])
    active = concepts.filter(pl.col("active") == "1").select(conceptId="id").unique(maintain_order=True)
    preferred = _select_preferred(source)
    for file in source.matching("sct2_description_snapshot*.txt"):
        for frame in _frames(file, ["id", "active", "conceptId", "languageCode", "typeId", "term"]):
            yield from _names(
                frame.filter(pl.col("active") == "1").join(active, on="conceptId", maintain_order="left"), preferred
            )
    for file in source.matching("sct2_textdefinition_snapshot*.txt"):
        for frame in _frames(file, ["active", "conceptId", "term"]):
            defined = frame.filter(pl.col("active") == "1").join(active, on="conceptId", maintain_order="left")
            yield from batches(defined.select(_curie("conceptId"), definition="term"))
    yield from batches(_select_retired(source, concepts))


def _frames(file: InputFile, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
    for batch in iter_table(file, TableFormat(), wanted):
        yield pl.DataFrame(batch)


def _frame(files: list[InputFile], wanted: Sequence[str]) -> pl.DataFrame:
    frames = [frame for file in files for frame in _frames(file, wanted)]
    empty = pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
    return pl.concat([empty, *frames])


def _curie(column: str) -> pl.Expr:
    return (pl.lit("snomedct:") + pl.col(column)).alias("concept_id")


def _select_preferred(source: Source) -> pl.DataFrame:
    """Return the descriptions that a language reference set marks as preferred."""
    members = _frame(
        source.matching("der2_crefset_*language*snapshot*.txt"), ["active", "referencedComponentId", "acceptabilityId"]
    )
    preferred = members.filter((pl.col("active") == "1") & (pl.col("acceptabilityId") == PREFERRED))
    return preferred.select(id="referencedComponentId", is_preferred=pl.lit(value=True)).unique()


def _names(frame: pl.DataFrame, preferred: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    rows = frame.join(preferred, on="id", how="left", maintain_order="left").with_columns(
        pl.col("is_preferred").fill_null(value=False)
    )
    name_kind = (
        pl.when((pl.col("typeId") == SYNONYM) & pl.col("is_preferred"))
        .then(kind(NameKind.PREFERRED))
        .otherwise(kind(NameKind.EXACT))
    )
    # The fully specified name ends in its semantic tag: "Asthma (disorder)". We split it into a type and a name.
    tag = pl.when(pl.col("typeId") == FSN).then(pl.col("term").str.extract(r" \(([^()]+)\)$", 1))
    name = pl.when(tag.is_not_null()).then(pl.col("term").str.replace(r" \([^()]+\)$", "")).otherwise(pl.col("term"))
    yield from batches(rows.select(_curie("conceptId"), name=name, kind=name_kind, language="languageCode"))
    tagged = rows.with_columns(tag=tag).filter(pl.col("tag").is_not_null())
    yield from batches(tagged.select(_curie("conceptId"), semantic_types=pl.concat_list("tag")))


def _select_retired(source: Source, concepts: pl.DataFrame) -> pl.DataFrame:
    """Return inactive concepts with the target of their most reliable association; if it has several targets, with none."""
    inactive = concepts.filter(pl.col("active") != "1").select("id")
    files = source.matching("der2_crefset_*association*snapshot*.txt")
    links = _frame(files, ["active", "refsetId", "referencedComponentId", "targetComponentId"])
    rank = pl.col("refsetId").replace_strict(SUCCESSORS, list(range(len(SUCCESSORS))), default=None, return_dtype=pl.Int8)
    best = (
        links.filter(pl.col("active") == "1")
        .with_columns(rank=rank)
        .filter(pl.col("rank").is_not_null())
        .filter(pl.col("rank") == pl.col("rank").min().over("referencedComponentId"))
        .filter(pl.col("targetComponentId").n_unique().over("referencedComponentId") == 1)
        .unique("referencedComponentId", keep="first", maintain_order=True)
    )
    rows = inactive.join(best, left_on="id", right_on="referencedComponentId", how="left", maintain_order="left")
    return rows.select(_curie("id"), kind(NameKind.RETIRED), replaced_by=pl.lit("snomedct:") + pl.col("targetComponentId"))
