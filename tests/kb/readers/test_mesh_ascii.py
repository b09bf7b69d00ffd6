"""Tests of reading MeSH in NLM's ASCII format."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import InputError, LimitError
from onym.kb import readers
from onym.store.files import lines
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of
from tests.support.releases import SAMPLES

DESCRIPTORS, SUPPLEMENTS = SAMPLES["mesh_ascii"]


def test_reads_a_descriptor() -> None:
    rows = rows_of(DESCRIPTORS, "mesh_ascii")
    assert names_of(rows) == [
        ("mesh:D900001", "Made-up Fever", "preferred"),
        ("mesh:D900001", "Doubtful Fever", "exact"),
        ("mesh:D900001", "MUF", "abbreviation"),
        ("mesh:D900001", "Fever, Made-up", "exact"),
        ("mesh:D900002", "Other", "preferred"),
    ]
    assert facts_of(rows, "definition") == [("mesh:D900001", "A rise of temperature = doubt.")]
    assert sorted(types for _, (types,) in facts_of(rows, "semantic_types")) == ["C01", "C23", "T184"]


def test_reads_a_supplementary_record() -> None:
    rows = rows_of(SUPPLEMENTS, "mesh_ascii")
    assert names_of(rows) == [("mesh:C900001", "glucoquine", "preferred"), ("mesh:C900001", "Brandoquin", "exact")]
    assert facts_of(rows, "definition") == [("mesh:C900001", "made-up substance")]


def test_crlf_line_ends_are_accepted() -> None:
    (name,) = DESCRIPTORS
    plain = {name: DESCRIPTORS[name].replace(b"\r\n", b"\n")}
    assert rows_of(plain, "mesh_ascii") == rows_of(DESCRIPTORS, "mesh_ascii")


def test_only_the_line_feed_ends_a_line() -> None:
    rows = rows_of({"d.bin": "*NEWRECORD\nMH = a\u2028b\x85c\x0bd\nUI = D1\n"}, "mesh_ascii")
    assert names_of(rows) == [("mesh:D1", "a\u2028b\x85c\x0bd", "preferred")]


def test_records_may_span_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [f"*NEWRECORD\nMH = Heading {n}\nENTRY = Entry {n}\nUI = D{n:06d}\n" for n in range(200)]
    whole = rows_of({"d.bin": "\n".join(records)}, "mesh_ascii")
    assert len(whole) == 400
    for size in (40, 100, 333):
        monkeypatch.setattr(lines, "_BLOCK", size)
        assert rows_of({"d.bin": "\n".join(records)}, "mesh_ascii") == whole


def test_a_record_without_an_id_is_rejected() -> None:
    with pytest.raises(InputError) as e:
        rows_of({"d.bin": "*NEWRECORD\nMH = a\nUI = D1\n\n*NEWRECORD\nMH = b\n"}, "mesh_ascii")
    assert e.value.code == "mesh-record"


def test_rejects_a_record_larger_than_the_limit() -> None:
    entries = f"ENTRY = {'x' * 1000}\n" * 9_000
    with pytest.raises(LimitError) as e:
        rows_of({"d.bin": "*NEWRECORD\n" + entries}, "mesh_ascii")
    assert e.value.code == "limit-record"


@pytest.mark.real_data
def test_reads_mesh_2014(real_data: Path) -> None:
    source = Source.open(real_data / "mesh" / "d2014.en_gb.bin.gz")
    assert readers.detect(source) == "mesh_ascii"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "mesh_ascii")])
    assert rows["concept_id"].n_unique() == 27_148
    assert rows["name"].drop_nulls().n_unique() == 218_959
    assert rows["definition"].drop_nulls().len() == 26_143
