"""Reader of SNOMED CT in Release Format 2 (snapshot files). Written from the specification, not tested on a real release.

Active concepts come from the concept file, names from descriptions, preferred names from the language reference sets, parents
from the relationship file (inferred `is a`), and successors of inactive concepts from the historical association reference
sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import batches, kind
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, iter_table
from onym.types import NameKind, SuccessorKind

FSN, SYNONYM = "900000000000003001", "900000000000013009"
PREFERRED = "900000000000548007"
IS_A = "116680003"
SUCCESSORS = {  # historical association reference sets; "moved to" gives a namespace instead of a concept
    "900000000000526001": SuccessorKind.REPLACED_BY,
    "900000000000527005": SuccessorKind.SAME_AS,
    "900000000000524003": SuccessorKind.MOVED_TO,
    "900000000000523009": SuccessorKind.POSSIBLY_EQUIVALENT,
    "1186921001": SuccessorKind.POSSIBLY_EQUIVALENT,  # possibly replaced by
    "900000000000530003": SuccessorKind.ALTERNATIVE,
    "1186924009": SuccessorKind.SPLIT,  # partially equivalent to
    "900000000000528000": SuccessorKind.BROADER,  # was a
    "900000000000529008": SuccessorKind.RELATED,  # similar to
}


def matches(source: Source) -> bool:
    """Return whether the release has RF2 snapshot files."""
    return source.find("sct2_concept_snapshot*.txt") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield descriptions, semantic tags as types, definitions and parents of active concepts, and successors of others."""
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
    for file in source.matching("sct2_relationship_snapshot*.txt"):
        for frame in _frames(file, ["active", "sourceId", "destinationId", "typeId"]):
            above = frame.filter((pl.col("active") == "1") & (pl.col("typeId") == IS_A))
            yield from batches(above.select(_curie("sourceId"), parents=pl.concat_list("snomedct:" + pl.col("destinationId"))))
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
    """Return inactive concepts with all targets of their associations; `release` is the date of the association."""
    inactive = concepts.filter(pl.col("active") != "1").select("id")
    files = source.matching("der2_crefset_*association*snapshot*.txt")
    links = _frame(files, ["effectiveTime", "active", "refsetId", "referencedComponentId", "targetComponentId"])
    kinds = pl.col("refsetId").replace_strict(
        list(SUCCESSORS), [int(each) for each in SUCCESSORS.values()], default=None, return_dtype=pl.UInt8
    )
    known = links.filter(pl.col("active") == "1").with_columns(successor_kind=kinds).drop_nulls("successor_kind")
    rows = inactive.join(known, left_on="id", right_on="referencedComponentId", how="left", maintain_order="left")
    target = pl.when(pl.col("targetComponentId").is_not_null()).then(pl.concat_list("snomedct:" + pl.col("targetComponentId")))
    return rows.select(_curie("id"), kind(NameKind.RETIRED), "successor_kind", successors=target, release="effectiveTime")
