"""Tests of reading BioSyn's dictionaries."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import ConfigError, InputError
from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import Row, facts_of, names_of, rows_of, source_of


def lines(*texts: str) -> list[Row]:
    return rows_of({"train_dictionary.txt": "\n".join(texts)}, "biosyn")


def test_reads_names_and_alternative_ids() -> None:
    rows = lines(
        "C565588||epidermolysis bullosa", "C567755|613097||tooth agenesis", "C567755|613097||sthag6", "300400|D053632||x"
    )
    assert names_of(rows) == [
        ("mesh:C565588", "epidermolysis bullosa", "exact"),
        ("mesh:C567755", "tooth agenesis", "exact"),
        ("mesh:C567755", "sthag6", "exact"),
        ("omim:300400", "x", "exact"),
    ]
    assert facts_of(rows, "xrefs") == [("mesh:C567755", ["omim:613097"]), ("omim:300400", ["mesh:D053632"])]


def test_a_name_of_combined_concepts_is_a_name_of_each() -> None:
    rows = lines("D040181+D009136||x linked dystrophy", "D001943|D010051|D001943+D010051||breast and ovarian cancer")
    assert names_of(rows) == [
        ("mesh:D040181", "x linked dystrophy", "exact"),
        ("mesh:D009136", "x linked dystrophy", "exact"),
        ("mesh:D001943", "breast and ovarian cancer", "exact"),
        ("mesh:D010051", "breast and ovarian cancer", "exact"),
    ]
    assert facts_of(rows, "xrefs") == []


def test_prefixed_ids() -> None:
    assert names_of(lines("OMIM:613097||a", "umls:C0000001||b")) == [
        ("omim:613097", "a", "exact"),
        ("umls:C0000001", "b", "exact"),
    ]


def test_line_ends_and_blank_lines_are_ignored() -> None:
    assert rows_of({"d.txt": "D1||a\r\n\r\nD2||b"}, "biosyn") == lines("D1||a", "D2||b")


@pytest.mark.parametrize("line", ["D1|a", "name", "||name", "|||name", "+||name", " | ||name"])
def test_rejects_malformed_lines(line: str) -> None:
    """Regression: a name without ids gave a row without a concept_id."""
    with pytest.raises(InputError) as e:
        lines("D1||a", line)
    assert e.value.code == "table-fields"


@pytest.mark.parametrize("first", ["12||1|2||Disease||mention||D1", "A text.", "||a", ""])
def test_other_text_files_are_not_recognised(first: str) -> None:
    with pytest.raises(ConfigError):
        readers.detect(source_of({"a.txt": first}))
    assert rows_of({"README.txt": first, "d.txt": "D1||a"}, "biosyn") == lines("D1||a")


@pytest.mark.real_data
@pytest.mark.parametrize(("corpus", "rows", "ids"), [("ncbi-disease", 73_024, 14_944), ("bc5cdr-disease", 73_126, 14_967)])
def test_reads_real_dictionaries(real_data: Path, corpus: str, rows: int, ids: int) -> None:
    archive = Source.open(real_data / "biosyn_format" / f"{corpus}.tar.gz")
    assert readers.detect(archive) == "biosyn"
    test = Source("test", tuple(archive.matching("test_dictionary.txt")))
    found = pl.concat([pl.DataFrame(batch) for batch in readers.read(test, "biosyn")])
    names = found.filter(pl.col("name").is_not_null())
    assert names.height >= rows
    assert names.height < rows * 1.002  # a name of several concepts has a row for each of them
    all_ids = pl.concat([found["concept_id"], found["xrefs"].drop_nulls().explode()])
    assert abs(all_ids.n_unique() - ids) <= 100
