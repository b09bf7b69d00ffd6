"""Tests of files of corrections."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corrections import Rule, read_corrections, read_rules, write_rules
from onym.corrections import file as file_module
from onym.errors import InputError, LimitError, OnymError
from onym.kb import KnowledgeBase

RULES = (
    Rule("MI", "mesh:D006973", comment='says "Ann"'),
    Rule("HA", "no-concept", expansion="heart attack", author="ann"),
    Rule("#3 \t fever", "not-a-mention", document="PMC1", digest="0" * 16),
    Rule("=SUM(1)", "mesh:D005334", document="PMC1", start=3, end=10, add=True),
)


def write(path: Path, rules: tuple[Rule, ...] = RULES, kb: str = "5a67d9669e0d46d0") -> Path:
    with path.open("wb") as file:
        write_rules(rules, file, kb=kb)
    return path


def test_rules_are_read_as_written(tmp_path: Path) -> None:
    found = list(read_rules(write(tmp_path / "a.onymc")))
    assert [(rule.surface, rule.line) for rule in found] == [("MI", 4), ("HA", 5), ("#3 fever", 6), ("=SUM(1)", 7)]
    again = write(tmp_path / "b.onymc", tuple(found))
    assert again.read_bytes() == (tmp_path / "a.onymc").read_bytes()


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda text: text.strip(" \x00"))


@given(surface=texts, comment=st.text(st.characters(codec="utf-8"), max_size=30))
def test_any_surface_is_kept_but_for_white_space(tmp_path_factory: pytest.TempPathFactory, surface: str, comment: str) -> None:
    if not " ".join(surface.replace("\x00", " ").split()):
        return
    path = write(tmp_path_factory.mktemp("rules") / "a.onymc", (Rule(surface, "no-concept", comment=comment),))
    (found,) = read_rules(path)
    assert found.surface == " ".join(surface.replace("\x00", " ").split())


def test_a_table_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("meaning;surface\nno-concept;MI\n;\n mesh:D005334 ; high fever \n")
    assert [(rule.surface, rule.meaning, rule.line) for rule in read_rules(tmp_path / "a.csv")] == [
        ("MI", "no-concept", 2),
        ("high fever", "mesh:D005334", 4),
    ]


def test_a_spreadsheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("surface", "meaning", "start", "end", "document"), ("MI", "no-concept", 3, 5, 17), ("HA", "no-concept")):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert [(rule.document, rule.start) for rule in read_rules(tmp_path / "a.xlsx")] == [("17", 3), ("", None)]


def test_another_knowledge_base_is_a_warning(tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    rules = RULES[:1]
    assert read_corrections(write(tmp_path / "a.onymc", rules, kb.digest), kb).warning is None
    warning = read_corrections(write(tmp_path / "b.onymc", rules, "0" * 16), kb).warning
    assert warning
    assert "another knowledge base" in warning


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("surface\tmeaning\nMI\tfever\n", "a.onymc:2"),
        ("# a\n# b\nsurface\tmeaning\nMI\tno-concept\n\tno-concept\n", "a.onymc:5"),
        ("surface\tmeaning\tadd\nMI\tno-concept\tperhaps\n", "a.onymc:2"),
        ("surface\tmeaning\tstart\nMI\tno-concept\t-3\n", "a.onymc:2"),
        ("surface\tmeaning\tstart\nMI\tno-concept\t1e3\n", "a.onymc:2"),
        ("surface\tmeaning\tlien\nMI\tno-concept\t3\n", "column 3 is unknown"),
        ("surface\nMI\n", "the column meaning is missing"),
        ("surface\tmeaning\nMI\tno-concept\tmore\n", "table-fields"),
        ('surface\tmeaning\n"MI\tno-concept\n', "table-quote"),
        ("surface\tmeaning\nM\x00I\tno-concept\n", "input-encoding"),
        ("", "the column surface is missing"),
        ("John Smith\tno-concept\n", "the column surface is missing"),
        ("surface\tmeaning\tadd\tadd\nMI\tno-concept\t\t\n", "same name"),
    ],
)
def test_malformed_files_are_rejected(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "a.onymc").write_text(text)
    with pytest.raises(OnymError) as caught:
        list(read_rules(tmp_path / "a.onymc"))
    assert where in str(caught.value)
    assert "Smith" not in str(caught.value)


def test_errors_do_not_quote_surfaces(tmp_path: Path, tiny_kb: Path) -> None:
    (tmp_path / "a.onymc").write_text("surface\tmeaning\nJohn Smith\tmesh:X\n")
    with pytest.raises(InputError) as caught:
        read_corrections(tmp_path / "a.onymc", KnowledgeBase.open(tiny_kb))
    assert "Smith" not in str(caught.value)


def test_the_number_of_rules_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "MAX_RULES", 3)
    with pytest.raises(LimitError, match="limit-corrections"):
        list(read_rules(write(tmp_path / "a.onymc")))


def test_writing_counts_rules() -> None:
    assert write_rules(RULES, io.BytesIO(), kb="") == 4
