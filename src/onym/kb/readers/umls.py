"""Reader of the UMLS Metathesaurus in Rich Release Format.

The files are MRCONSO, MRSTY, MRDEF, MRREL (trade names and parents) and MRCUI (history); all but MRCONSO are optional.

RRF is bar-separated with a trailing bar, without a header and without quoting. Suppressed atoms and trade names are read and
marked by their kind; the recipe decides whether to drop them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import LANGUAGES, batches, iter_rrf, kind
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, ParentKind, SuccessorKind

MRCONSO = [
    "CUI", "LAT", "TS", "LUI", "STT", "SUI", "ISPREF", "AUI", "SAUI",
    "SCUI", "SDUI", "SAB", "TTY", "CODE", "STR", "SRL", "SUPPRESS", "CVF",
]  # fmt: skip
MRSTY = ["CUI", "TUI", "STN", "STY", "ATUI", "CVF"]
MRDEF = ["CUI", "AUI", "ATUI", "SATUI", "SAB", "DEF", "SUPPRESS", "CVF"]
MRREL = [
    "CUI1", "AUI1", "STYPE1", "REL", "CUI2", "AUI2", "STYPE2", "RELA",
    "RUI", "SRUI", "SAB", "SL", "RG", "DIR", "SUPPRESS", "CVF",
]  # fmt: skip
MRCUI = ["CUI1", "VER", "REL", "RELA", "MAPREASON", "CUI2", "MAPIN"]

HISTORY = {  # REL of MRCUI; deleted CUIs (DEL) and those removed from a subset (SUBX) have no successor
    "SY": SuccessorKind.MERGED, "RB": SuccessorKind.BROADER, "RN": SuccessorKind.NARROWER, "RO": SuccessorKind.RELATED,
}  # fmt: skip
_DIGITS = 7  # of a CUI
_SLICE = 500_000  # parents per batch
ABBREVIATION_TTYS = ["AB", "ACR", "AA", "ABB", "SSN"]


def matches(source: Source) -> bool:
    """Return whether the release has an MRCONSO file."""
    return source.find("mrconso.rrf") is not None or source.find("*_mrconso.rrf") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, trade names, types, definitions, parents and retired CUIs."""
    trade, parents = _relations(source)
    for file in _files(source, "mrconso"):
        for frame in iter_rrf(file, MRCONSO, ["CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS"]):
            yield from batches(_names(frame))
            if trade.height:
                yield from batches(_brands(frame, trade))
    for frame in parents.frames():
        yield from batches(frame)
    for file in _files(source, "mrsty"):
        for frame in iter_rrf(file, MRSTY, ["CUI", "TUI"]):
            yield from batches(frame.select(_curie("CUI"), semantic_types=pl.concat_list("TUI")))
    for file in _files(source, "mrdef"):
        for frame in iter_rrf(file, MRDEF, ["CUI", "SAB", "DEF", "SUPPRESS"]):
            kept = frame.filter(pl.col("SUPPRESS") == "N")
            yield from batches(kept.select(_curie("CUI"), source="SAB", definition="DEF"))
    for file in _files(source, "mrcui"):
        for frame in iter_rrf(file, MRCUI, ["CUI1", "VER", "REL", "CUI2"]):
            yield from batches(_history(frame))


def _files(source: Source, stem: str) -> list[InputFile]:
    return source.matching(f"{stem}.rrf") or source.matching(f"*_{stem}.rrf")


def _curie(column: str) -> pl.Expr:
    return (pl.lit("umls:") + pl.col(column)).alias("concept_id")


def _names(frame: pl.DataFrame) -> pl.DataFrame:
    is_preferred = (pl.col("TS") == "P") & (pl.col("STT") == "PF") & (pl.col("ISPREF") == "Y")
    name_kind = (
        pl.when(pl.col("SUPPRESS") != "N").then(kind(NameKind.SUPPRESSED))
        .when(is_preferred).then(kind(NameKind.PREFERRED))
        .when(pl.col("TTY").is_in(ABBREVIATION_TTYS)).then(kind(NameKind.ABBREVIATION))
        .otherwise(kind(NameKind.EXACT))
    )  # fmt: skip
    language = pl.col("LAT").replace(LANGUAGES).str.to_lowercase()
    return frame.select(_curie("CUI"), name="STR", kind=name_kind, language=language, source="SAB")


def _relations(source: Source) -> tuple[pl.DataFrame, Parents]:
    """Read MRREL once: pairs (generic, CUI of a brand), where CUI2 `has_tradename` CUI1, and parents."""
    trade, parents = [pl.DataFrame(schema={"generic": pl.String, "CUI": pl.String})], Parents()
    for file in _files(source, "mrrel"):
        for frame in iter_rrf(file, MRREL, ["CUI1", "REL", "CUI2", "RELA", "SAB", "SUPPRESS"]):
            used = frame.filter((pl.col("SUPPRESS") == "N") & (pl.col("CUI1") != pl.col("CUI2")))
            trade.append(used.filter(pl.col("RELA") == "has_tradename").select(generic="CUI2", CUI="CUI1"))
            up, down = (used.filter(pl.col("REL") == relation) for relation in ("PAR", "CHD"))
            parents.add(pl.concat([up.select("SAB", CUI="CUI1", parent="CUI2"), down.select("SAB", CUI="CUI2", parent="CUI1")]))
    return pl.concat(trade).unique(maintain_order=True), parents


class Parents:
    """Parents of all vocabularies as numbers, because MRREL has millions, and states each twice: as PAR and as CHD."""

    def __init__(self) -> None:
        self._vocabularies: dict[str, int] = {}
        self._numbered = [pl.DataFrame(schema={"vocabulary": pl.UInt16, "child": pl.UInt32, "parent": pl.UInt32})]
        self._others: list[pl.DataFrame] = []

    def add(self, pairs: pl.DataFrame) -> None:
        """Add pairs of the columns SAB, CUI and parent."""
        if pairs.is_empty():
            return
        for name in pairs["SAB"].unique(maintain_order=True):
            self._vocabularies.setdefault(name, len(self._vocabularies))
        rows = pairs.select(
            "SAB", "CUI", pl.col("parent").alias("above"),
            vocabulary=pl.col("SAB").replace_strict(self._vocabularies, return_dtype=pl.UInt16),
            child=_number("CUI"), parent=_number("parent"),
        )  # fmt: skip
        is_numbered = pl.col("child").is_not_null() & pl.col("parent").is_not_null()
        self._numbered.append(rows.filter(is_numbered).select("vocabulary", "child", "parent"))
        if (others := rows.filter(~is_numbered)).height:
            self._others.append(others.select("SAB", "CUI", parent="above").unique(maintain_order=True))

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the distinct pairs as rows of the schema."""
        pairs = pl.concat(self._numbered).unique().sort("vocabulary", "child", "parent")
        self._numbered.clear()
        names = pl.Series(list(self._vocabularies), dtype=pl.String)
        for part in pairs.iter_slices(_SLICE):
            cuis = {column: "C" + pl.col(column).cast(pl.String).str.zfill(_DIGITS) for column in ("child", "parent")}
            yield _parents(part.select(SAB=names.gather(part["vocabulary"]), CUI=cuis["child"], parent=cuis["parent"]))
        yield from map(_parents, self._others)


def _number(column: str) -> pl.Expr:
    """Return the number of a CUI such as C0000005, null for other forms."""
    return pl.col(column).str.extract(rf"^C([0-9]{{{_DIGITS}}})$", 1).cast(pl.UInt32)


def _parents(frame: pl.DataFrame) -> pl.DataFrame:
    kind = pl.lit(int(ParentKind.BROADER), dtype=pl.UInt8)
    return frame.select(_curie("CUI"), source="SAB", parents=pl.concat_list("umls:" + pl.col("parent")), parent_kind=kind)


def _brands(frame: pl.DataFrame, trade: pl.DataFrame) -> pl.DataFrame:
    """Return all names of the brands as trade names of their generics."""
    named = frame.filter(pl.col("SUPPRESS") == "N").join(trade, on="CUI", maintain_order="left_right")
    language = pl.col("LAT").replace(LANGUAGES).str.to_lowercase()
    return named.select(_curie("generic"), kind(NameKind.TRADENAME), name="STR", language=language, source="SAB")


def _history(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the retired CUIs with what the relation to another CUI says about it; `release` is the last one that had them."""
    kinds = pl.col("REL").replace_strict(
        list(HISTORY), [int(each) for each in HISTORY.values()], default=None, return_dtype=pl.UInt8
    )
    has_target = kinds.is_not_null() & (pl.col("CUI2") != "")
    target = pl.when(has_target).then(pl.concat_list("umls:" + pl.col("CUI2")))
    return frame.select(_curie("CUI1"), kind(NameKind.RETIRED), successors=target, successor_kind=kinds, release="VER")
