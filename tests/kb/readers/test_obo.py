"""Tests of reading OBO files. On files that follow the grammar, the results are compared with fastobo."""

from __future__ import annotations

import gzip
import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastobo
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.kb import readers
from onym.store.files import lines
from onym.store.files.source import Source
from onym.types import SuccessorKind
from tests.kb.readers.conftest import Row, facts_of, names_of, rows_of
from tests.support.releases import SAMPLES


def term(*clauses: str, identifier: str = "X:1") -> list[Row]:
    lines = "\n".join(("[Term]", f"id: {identifier}", *clauses))
    return rows_of({"a.obo": f"format-version: 1.2\n\n{lines}\n"}, "obo")


def oracle(clause: str) -> Any:
    (frame,) = [
        f
        for f in fastobo.iter(io.BytesIO(f"[Term]\nid: X:1\n{clause}\n".encode()), threads=1)
        if isinstance(f, fastobo.term.TermFrame)
    ]
    return frame[0]


def test_reads_a_term() -> None:
    rows = rows_of(SAMPLES["obo"][0], "obo")
    assert names_of(rows) == [
        ("made:0000001", 'Made-up fever, 5" {high}', "preferred"),
        ("made:0000001", "Old form", "exact"),
        ("made:0000001", "Doubtful fever [old]", "exact"),
        ("made:0000001", "MUF", "abbreviation"),
        ("made:0000001", "Rise", "broad"),
        ("made:0000003", "obsolete Old fever", "retired"),
    ]
    assert facts_of(rows, "definition") == [("made:0000001", 'A rise [of "doubt"], see\n[1].')]
    xrefs = ["umls:C9000001", "kegg compound:C00001", "http://en.wikipedia.org/wiki/Made_up"]
    assert facts_of(rows, "xrefs") == [("made:0000001", xrefs)]
    assert facts_of(rows, "successors") == [("made:0000009", ["made:0000001"]), ("made:0000003", ["made:0000001"])]


@pytest.mark.parametrize(
    ("clause", "name"),
    [
        ("name: plain", "plain"),
        ("name:no space", "no space"),
        ("name:   padded \t", "padded"),
        ("name: with ! a comment", "with"),
        ('name: with {source="x"}', "with"),
        ('name: with {source="x", y:z="a, b"} ! and a comment', "with"),
        (r"name: poly\{3-amino\} \!", "poly{3-amino} !"),
        (r"name: 4-alpha-D-\{(1->4)-alpha-D-glucano}trehalose", "4-alpha-D-{(1->4)-alpha-D-glucano}trehalose"),
        ("name: 2-{[(2S)-butyl]amino}ethanol", "2-{[(2S)-butyl]amino}ethanol"),
        ("name: N-{4-[x]} acid", "N-{4-[x]} acid"),
        (r'name: 5\" and "five"', '5" and "five"'),
        (r"name: a\, b\: c\nd\te\Wf\\g", "a, b: c\nd\te f\\g"),
        ("name: a: b: c", "a: b: c"),
        ("name: what!", "what!"),
        ("name: a [b] (c)", "a [b] (c)"),
        ("name: trailing\\", "trailing\\"),
    ],
)
def test_names(clause: str, name: str) -> None:
    assert names_of(term(clause)) == [("x:1", name, "preferred")]


@pytest.mark.parametrize("clause", ["name:", "name:  ", "name: ! only a comment", "comment: no name"])
def test_a_term_may_have_no_name(clause: str) -> None:
    assert term(clause) == [{"concept_id": "x:1", "kind": "preferred"}]


@pytest.mark.parametrize(
    ("clause", "name", "kind"),
    [
        ('synonym: "x" EXACT []', "x", "exact"),
        ('synonym: "x" NARROW []', "x", "narrow"),
        ('synonym: "x" BROAD [A:1, B:2]', "x", "broad"),
        ('synonym: "x" RELATED [KEGG COMPOUND:]', "x", "related"),
        ('synonym: "x" []', "x", "related"),
        ('synonym: "x"', "x", "related"),
        ('synonym: "x" EXACT', "x", "exact"),
        ('synonym: "x" EXACT ! said by nobody', "x", "exact"),
        ('synonym: "x" EXACT {source="y"}', "x", "exact"),
        ('synonym: "x" EXACT [A:1 "says [so]", B:[C\\]-D] {source="y [z]"} ! w', "x", "exact"),
        ('synonym: "x [y] \\[z\\]" EXACT []', "x [y] [z]", "exact"),
        ('synonym: "x \\"y\\", \\{z\\}" EXACT []', 'x "y", {z}', "exact"),
        ('synonym: "x ! y {z}" EXACT []', "x ! y {z}", "exact"),
        ('synonym: "x"EXACT[]', "x", "exact"),
        ('synonym: "X" EXACT abbreviation []', "X", "abbreviation"),
        ('synonym: "X" RELATED ABBREVIATION [A:1]', "X", "abbreviation"),
        ('synonym: "X" EXACT OMO:0003000 []', "X", "abbreviation"),
        ('synonym: "X" EXACT http://purl.obolibrary.org/obo/OMO_0003012 []', "X", "abbreviation"),
        ('synonym: "x" EXACT layperson [orcid.org/1]', "x", "exact"),
        ('synonym: "x" RELATED INN []', "x", "related"),
        ('synonym: "x" EXACT obsolete_synonym []', "x", "suppressed"),
        ('synonym: "x" EXACT HP:0034334 []', "x", "exact"),
        ('synonym: "x" systematic_synonym []', "x", "related"),
        ('exact_synonym: "x" []', "x", "exact"),
        ('narrow_synonym: "x" [A:1]', "x", "narrow"),
    ],
)
def test_synonyms(clause: str, name: str, kind: str) -> None:
    assert names_of(term(clause)) == [("x:1", name, kind)]


@pytest.mark.parametrize("kind", ["FORMULA", "SMILES", "InChI", "InChIKey"])
def test_formulas_are_not_names(kind: str) -> None:
    assert names_of(term(f'synonym: "C6H6" RELATED {kind} [ChEBI:]')) == []


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ('def: "A rise." []', "A rise."),
        ('def: "A rise." [GOC:mcc, PMID:1]', "A rise."),
        ('def: "A rise."', "A rise."),
        ('def: "A [b] = [c]." [EC:2.7.11.27, MetaCyc:[ACETYL-COA-CARBOXYLASE\\]-KINASE-RXN]', "A [b] = [c]."),
        ('def: "A \\"b\\" c\\, d.\\nNext." [X:1 "q"] {source="x"} ! y', 'A "b" c, d.\nNext.'),
    ],
)
def test_definitions(clause: str, text: str) -> None:
    assert facts_of(term(clause), "definition") == [("x:1", text)]


def test_an_empty_definition_is_null() -> None:
    assert facts_of(term('def: "" []'), "definition") == []


@pytest.mark.parametrize(
    ("clause", "xref"),
    [
        ("xref: UMLS:C1", "umls:C1"),
        ("xref: SNOMEDCT_US:204962002", "snomedct:204962002"),
        ('xref: MEDDRA:10022016 "Inguinal hernia"', "meddra:10022016"),
        ('xref: DOID:4 {source="EFO:0000408", source="MONDO:equivalentTo"}', "doid:4"),
        ("xref: DOID:4 ! disease", "doid:4"),
        ('xref: NIST Chemistry WebBook:22325-47-9 "CAS Registry Number"', "cas:22325-47-9"),
        ("xref: KEGG\\ COMPOUND:C00462", "kegg compound:C00462"),
        ("xref: Wikipedia:A\\,_b\\:c", "wikipedia:A,_b:c"),
        ("xref: http://purl.obolibrary.org/obo/HP_0000118", "hp:0000118"),
        ("xref: https://en.wikipedia.org/wiki/Adrenal_gland", "https://en.wikipedia.org/wiki/Adrenal_gland"),
    ],
)
def test_cross_references(clause: str, xref: str) -> None:
    assert facts_of(term(clause), "xrefs") == [("x:1", [xref])]


@pytest.mark.parametrize("clause", ["xref:", 'xref: {source="made"}'])
def test_a_cross_reference_without_an_id_is_skipped(clause: str) -> None:
    assert facts_of(term(clause, "xref: UMLS:C1"), "xrefs") == [("x:1", ["umls:C1"])]


def test_an_obsolete_term_keeps_only_its_name_and_successor() -> None:
    rows = term(
        "name: obsolete a",
        "is_obsolete: true ! gone",
        'synonym: "b" EXACT []',
        'replaced_by: X:2 {source="x"} ! two',
        "consider: X:3",
    )
    assert rows == [
        {"concept_id": "x:1", "name": "obsolete a", "kind": "retired", "successors": ["x:2"]},
        {"concept_id": "x:1", "kind": "retired", "successors": ["x:3"], "successor_kind": SuccessorKind.CONSIDER},
    ]
    assert term("is_obsolete: true", "name: a") == [{"concept_id": "x:1", "name": "a", "kind": "retired", "successors": []}]
    assert names_of(term("is_obsolete: false", "name: a")) == [("x:1", "a", "preferred")]


def test_alternative_ids_of_an_obsolete_term_are_its_aliases() -> None:
    rows = term("is_obsolete: true", "alt_id: X:9", "replaced_by: X:2")
    assert facts_of(rows, "successors") == [("x:9", ["x:1"]), ("x:1", ["x:2"])]


def test_alternative_ids_are_replaced_by_the_term() -> None:
    rows = term("alt_id: X:8", 'alt_id: X:9 {source="x"} ! y')
    assert facts_of(rows, "successors") == [("x:8", ["x:1"]), ("x:9", ["x:1"])]
    assert {(row["kind"], row["successor_kind"]) for row in rows if "successors" in row} == {("retired", SuccessorKind.MERGED)}


def test_parents() -> None:
    rows = term("is_a: X:2 ! two", 'is_a: X:3 {source="x"} ! three', "relationship: part_of X:4")
    assert facts_of(rows, "parents") == [("x:1", ["x:2", "x:3"])]


def test_only_terms_are_read() -> None:
    text = "[Typedef]\nid: part_of\nname: part of\n\n[Instance]\nid: X:5\nname: one\n\n[Term]\nid: X:1\nname: a\n"
    assert names_of(rows_of({"a.obo": text}, "obo")) == [("x:1", "a", "preferred")]


def test_line_ends_and_indents_are_ignored() -> None:
    (name,) = SAMPLES["obo"][0]
    text = SAMPLES["obo"][0][name]
    assert rows_of({name: text.replace(b"\n", b"\r\n")}, "obo") == rows_of({name: text}, "obo")
    assert rows_of({name: text.replace(b"\n", b"\n ")}, "obo") == rows_of({name: text}, "obo")


def test_stanzas_may_span_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f'[Term]\nid: X:{n}\nname: Name {n}\nsynonym: "Other {n}" EXACT []\n\n' for n in range(200))
    whole = rows_of({"a.obo": text}, "obo")
    for size in (20, 100, 333):
        monkeypatch.setattr(lines, "_BLOCK", size)
        assert rows_of({"a.obo": text}, "obo") == whole


@pytest.mark.parametrize(
    ("clause", "line"),
    [
        ("synonym: no quotes EXACT []", 4),
        ('synonym: "no end EXACT []', 4),
        ('synonym: "no end\\" EXACT []', 4),
        ('synonym: "x" EXACT one two []', 4),
        ('synonym: "an "inner" quote" EXACT []', 4),
        ('def: "an "inner" quote" []', 4),
        ('def: "text" and more []', 4),
        ("def: bare []", 4),
    ],
)
def test_rejects_a_malformed_clause_with_its_line_number(clause: str, line: int) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.obo": f"[Term]\nid: X:1\nname: a\n{clause}\n\n[Term]\nid: X:2\n"}, "obo")
    assert (e.value.code, e.value.where) == ("obo-malformed", f"a.obo:{line}")


@pytest.mark.parametrize("clause", ["name: a", "id:", "id:   ! a comment", 'id: {source="x"}'])
def test_a_term_without_an_id_is_rejected(clause: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.obo": f"\n[Term]\n{clause}\n"}, "obo")
    assert (e.value.code, e.value.where) == ("obo-malformed", "a.obo:2")


def test_rejects_a_stanza_larger_than_the_limit() -> None:
    text = "[Term]\nid: X:1\n" + f'synonym: "{"x" * 1000}" EXACT []\n' * 9_000
    with pytest.raises(LimitError) as e:
        rows_of({"a.obo": text}, "obo")
    assert e.value.code == "limit-record"


@pytest.mark.parametrize(
    "line",
    ['def: "' + "\\" * 200_001, 'def: "x"' + " " * 200_000 + '"', "xref: " + " " * 200_000 + "x", "name: " + " {a=" * 60_000],
)
def test_parsing_time_is_linear(line: str) -> None:
    """Each of these lines took minutes with a backtracking regular expression; the test timeout is the check."""
    with suppress(InputError):
        term(line)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40))
def test_escaped_text_is_unescaped(text: str) -> None:
    escaped = "".join(f"\\{c}" if c in '"\\{}[]!,:()' else c for c in text)
    assert names_of(term(f'synonym: "{escaped}" EXACT []')) == ([("x:1", text.strip(), "exact")] if text.strip() else [])
    if "\\" not in text:  # fastobo takes the last backslash as the escape of the quote after it
        assert oracle(f'synonym: "{escaped}" EXACT []').synonym.desc == text


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "active", "definitions"), [("hp-2026-02-16", 19_389, 16_905), ("go", 37_841, 37_841), ("chebi", 41_099, 30_176)]
)
def test_reads_real_ontologies(real_data: Path, name: str, active: int, definitions: int) -> None:
    source = Source.open(real_data / "ontologies" / f"{name}.obo.gz")
    assert readers.detect(source) == "obo"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "obo")])
    assert rows.filter(pl.col("kind") == 0)["concept_id"].n_unique() == active
    assert rows["definition"].drop_nulls().len() == definitions


@pytest.mark.real_data
def test_synonyms_and_references_of_hpo(real_data: Path) -> None:
    source = Source.open(real_data / "ontologies" / "hp-2026-02-16.obo.gz")
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "obo")])
    assert rows.filter(pl.col("name").is_not_null() & pl.col("kind").is_between(1, 7)).height == 24_209
    xrefs = rows["xrefs"].drop_nulls().explode()
    assert xrefs.str.starts_with("umls:").sum() == 12_839
    retired = rows.filter(pl.col("kind") == 8)
    assert retired.filter(pl.col("name").is_not_null()).height == 19_944 - 19_389


@pytest.mark.slow
@pytest.mark.real_data
def test_hpo_agrees_with_fastobo(real_data: Path) -> None:
    path = real_data / "ontologies" / "hp-2026-02-16.obo.gz"
    expected = set()
    with gzip.open(path) as stream:
        for frame in fastobo.iter(stream, threads=1):
            clauses = list(frame) if isinstance(frame, fastobo.term.TermFrame) else []
            if not any(clause.raw_tag() == "is_obsolete" for clause in clauses):
                expected |= {(str(frame.id).lower(), text) for clause in clauses if (text := _read_text(clause))}
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(Source.open(path), "obo")])
    active = rows.filter(pl.col("kind").is_null() | (pl.col("kind") < 8))
    names = active.filter(pl.col("name").is_not_null()).select("concept_id", "name").rows()
    definitions = active.filter(pl.col("definition").is_not_null()).select("concept_id", "definition").rows()
    assert {*names, *definitions} == expected


def _read_text(clause: Any) -> str:
    tag = clause.raw_tag()
    said = (
        clause.name if tag == "name" else clause.definition if tag == "def" else clause.synonym.desc if tag == "synonym" else ""
    )
    return str(said).strip()
