"""Reader of RxNorm in Rich Release Format: RXNCONSO, RXNSTY and RXNREL; all but RXNCONSO are optional.

The columns are those of UMLS, with RXCUIs as concept ids. Suppressed atoms are read and marked by their kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import LANGUAGES, batches, iter_rrf, kind
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, ParentKind

RXNCONSO = [
    "RXCUI", "LAT", "TS", "LUI", "STT", "SUI", "ISPREF", "RXAUI", "SAUI",
    "SCUI", "SDUI", "SAB", "TTY", "CODE", "STR", "SRL", "SUPPRESS", "CVF",
]  # fmt: skip
RXNSTY = ["RXCUI", "TUI", "STN", "STY", "ATUI", "CVF"]
RXNREL = [
    "RXCUI1", "RXAUI1", "STYPE1", "REL", "RXCUI2", "RXAUI2", "STYPE2", "RELA",
    "RUI", "SRUI", "SAB", "SL", "DIR", "RG", "SUPPRESS", "CVF",
]  # fmt: skip
# Term types of RxNorm's own names: ingredients, brands, dose forms, drugs, and packs. All others are synonyms.
NORMAL_NAMES = [
    "IN", "PIN", "MIN", "BN", "DF", "DFG", "SCD", "SBD", "SCDC", "SBDC", "SCDF", "SBDF", "SCDG", "SBDG", "SCDFP", "SBDFP",
    "SCDGP", "GPCK", "BPCK",
]  # fmt: skip
_OWN = "RXNORM"


def matches(source: Source) -> bool:
    """Return whether the release has an RXNCONSO file."""
    return source.find("rxnconso.rrf") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, term types and semantic types, trade names and parents."""
    trade, parents = _read_relations(source.matching("rxnrel.rrf"))
    for file in source.matching("rxnconso.rrf"):
        for frame in iter_rrf(file, RXNCONSO, ["RXCUI", "LAT", "SAB", "TTY", "STR", "SUPPRESS"]):
            yield from batches(_select_names(frame))
            own = frame.filter((pl.col("SAB") == _OWN) & pl.col("TTY").is_in(NORMAL_NAMES) & (pl.col("SUPPRESS") == "N"))
            yield from batches(own.select(_curie("RXCUI"), semantic_types=pl.concat_list("TTY")))
            yield from batches(_select_trade_names(own, trade))
    for file in source.matching("rxnsty.rrf"):
        for frame in iter_rrf(file, RXNSTY, ["RXCUI", "TUI"]):
            yield from batches(frame.select(_curie("RXCUI"), semantic_types=pl.concat_list("TUI")))
    yield from batches(parents)


def _curie(column: str) -> pl.Expr:
    return (pl.lit("rxnorm:") + pl.col(column)).alias("concept_id")


def _select_names(frame: pl.DataFrame) -> pl.DataFrame:
    is_preferred = (pl.col("SAB") == _OWN) & pl.col("TTY").is_in(NORMAL_NAMES)
    kinds = (
        pl.when(pl.col("SUPPRESS") != "N").then(kind(NameKind.SUPPRESSED))
        .when(is_preferred).then(kind(NameKind.PREFERRED))
        .otherwise(kind(NameKind.EXACT))
    )  # fmt: skip
    language = pl.col("LAT").replace(LANGUAGES).str.to_lowercase()
    return frame.select(_curie("RXCUI"), name="STR", kind=kinds, language=language, source="SAB")


def _read_relations(files: list[InputFile]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pairs of (generic, RXCUI of a brand), and parents. RXCUI2 `has_tradename` RXCUI1, and RXCUI2 `isa` RXCUI1."""
    trade, above = [pl.DataFrame(schema=_PAIR)], [pl.DataFrame(schema=_PAIR)]
    for file in files:
        for frame in iter_rrf(file, RXNREL, ["RXCUI1", "RXCUI2", "RELA", "SAB", "SUPPRESS"]):
            is_used = (pl.col("SUPPRESS") != "Y") & (pl.col("SAB") == _OWN) & (pl.col("RXCUI1") != pl.col("RXCUI2"))
            used = frame.filter(is_used & (pl.col("RXCUI1") != "") & (pl.col("RXCUI2") != ""))
            trade.append(used.filter(pl.col("RELA") == "has_tradename").select(other="RXCUI2", RXCUI="RXCUI1"))
            above.append(used.filter(pl.col("RELA") == "isa").select(other="RXCUI1", RXCUI="RXCUI2"))
    pairs = pl.concat(above).unique(maintain_order=True)
    is_a = pl.lit(int(ParentKind.IS_A), dtype=pl.UInt8)
    parents = pairs.select(_curie("RXCUI"), parents=pl.concat_list("rxnorm:" + pl.col("other")), parent_kind=is_a)
    return pl.concat(trade).unique(maintain_order=True), parents


_PAIR = {"other": pl.String, "RXCUI": pl.String}


def _select_trade_names(own: pl.DataFrame, trade: pl.DataFrame) -> pl.DataFrame:
    """Return the names of brands (BN) as trade names of their ingredients."""
    brands = own.filter(pl.col("TTY") == "BN").join(trade, on="RXCUI", maintain_order="left_right")
    language = pl.col("LAT").replace(LANGUAGES).str.to_lowercase()
    return brands.select(_curie("other"), kind(NameKind.TRADENAME), name="STR", language=language, source="SAB")
