"""Check the files that people have: citations, tables, JSON, other encodings, and documents that are not text."""

from __future__ import annotations

import io
import json

import onym
from onym.errors import InputError
from onym.store.files.xlsx import write_xlsx
from tests.robustness.stumbles.rows import Result, Scene, stumble

_CITATIONS = """
PMID- 31234567
TI  - Metformin in patients with type 2 diabetes
      mellitus.
AB  - BACKGROUND: Myocardial infarction was rare.
AD  - Department of Medicine, AD Hospital, London.

PMID- 31234568
TI  - Asthma in children.
AD  - Kinderklinik, AD, Berlin.
"""
_NOTE = "Sjögren syndrome and asthma, 39 °C."


def _documents(done: Result) -> set[str]:
    assert done.status == 0, done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()[1:]}


@stumble('PubMed\'s own "PubMed format" as .txt is read as prose, AD is Alzheimer Disease .79; as .nbib it is refused')
def pubmed_format_is_read(scene: Scene) -> str:
    for name in ("pubmed.txt", "pubmed.nbib"):
        (scene.folder / name).write_text(_CITATIONS)
        done = scene.onym("link", name)
        assert _documents(done) == {"31234567", "31234568"}
        assert "Alzheimer" not in done.stdout
        assert "type 2 diabetes mellitus" in done.stdout
    return "title and abstract of each citation are linked, its id is the PMID"


@stumble("a CSV, TSV or workbook with pmid,title,abstract is refused")
def tables_are_read(scene: Scene) -> str:
    rows = [("1", "Asthma in children.", "Fever was seen."), ("2", "Breast cancer.", "It was rare.")]
    names = ("pmid", "title", "abstract")
    for ending, mark in {"csv": ",", "tsv": "\t"}.items():
        (scene.folder / f"a.{ending}").write_text("".join(f"{mark.join(row)}\n" for row in [names, *rows]))
    book = io.BytesIO()
    write_xlsx(rows, names, book)
    (scene.folder / "a.xlsx").write_bytes(book.getvalue())
    for ending in ("csv", "tsv", "xlsx"):
        done = scene.onym("link", f"a.{ending}")
        assert _documents(done) == {"1", "2"}
        assert "text from title, abstract; ids from pmid" in done.stderr
    return "each row is a document of title and abstract, and standard error names the columns"


@stumble("JSON lines with title, abstract or text are refused with 18 names of research formats")
def json_with_texts_is_read(scene: Scene) -> str:
    (scene.folder / "a.jsonl").write_text('{"pmid": 7, "title": "Asthma.", "abstract": "Fever."}\n')
    (scene.folder / "b.jsonl").write_text('{"note_id": "n1", "text": "Asthma."}\n')
    assert _documents(scene.onym("link", "a.jsonl")) == {"7"}
    assert _documents(scene.onym("link", "b.jsonl")) == {"n1"}
    return "each object is a document, with the id of pmid or note_id"


@stumble("text columns guessed by name, --text-column, --id-column")
def columns_can_be_named(scene: Scene) -> str:
    (scene.folder / "befunde.csv").write_text("nr,befund\nx1,Asthma\n")
    refused = scene.onym("link", "befunde.csv")
    assert refused.status == 2, refused.stderr
    assert "--text-column; the columns are nr, befund" in refused.stderr
    given = ("--text-column", "befund", "--id-column", "nr")
    assert _documents(scene.onym("link", "befunde.csv", *given)) == {"x1"}
    assert scene.onym("corpus", "check", "befunde.csv", *given).status == 0
    assert scene.onym("batch", "plan", "befunde.csv", "-o", "run", "--pipeline", "starter", *given).status == 0
    done = scene.onym("batch", "run", "run", "--workers", "1")
    assert done.status == 0, done.stderr
    return "the error lists the columns and the option; link, corpus and batch take it"


@stumble("UTF-16 with BOM and cp1252 recognised, --encoding for the rest")
def encodings_are_recognised(scene: Scene) -> str:
    for encoding, options in {"cp1252": (), "utf-16": (), "cp850": ("--encoding", "cp850")}.items():
        (scene.folder / "note.txt").write_text(_NOTE, encoding)
        done = scene.onym("link", "note.txt", *options)
        assert done.status == 0, done.stderr
        assert "Sjögren syndrome" in done.stdout
        assert done.stderr.count("Windows-1252") == (encoding == "cp1252")
    return "the letters are right, and standard error says once that a file is read as Windows-1252"


@stumble("PDF, DOCX and images refused with the command that turns them into text")
def documents_are_refused_with_a_command(scene: Scene) -> str:
    book = io.BytesIO()
    write_xlsx([("1",)], ("id",), book)
    commands = {
        "in.pdf": (b"%PDF-1.7\n", "pdftotext -layout in.pdf in.txt"),
        "in.docx": (book.getvalue(), "pandoc in.docx -t plain -o in.txt"),
        "in.png": (b"\x89PNG\r\n\x1a\n", "tesseract in.png in"),
    }
    for name, (data, command) in commands.items():
        (scene.folder / name).write_bytes(data)
        done = scene.onym("link", name)
        assert done.status != 0
        assert command in done.stderr, done.stderr
    return "pdftotext, pandoc and tesseract are named, with the file"


@stumble("pipeline.link, given a list, raises an error that names link_many")
def link_and_link_many_name_each_other(scene: Scene) -> str:
    pipeline = onym.load("starter")
    told = []
    for call, value in ((pipeline.link, ["Asthma", "Fever"]), (pipeline.link_many, "Asthma")):
        try:
            call(value)  # type: ignore[arg-type]
        except InputError as e:
            told.append(str(e))
    assert len(told) == 2
    assert "link_many" in told[0]
    assert "with link" in told[1]
    return "a list is sent to link_many, a single text to link"


@stumble("hints name what fits the file, at most three formats")
def hints_name_at_most_three_formats(scene: Scene) -> str:
    names = {*onym.registry.FORMATS.names} - {"text"}
    for name, data in {"a.xml": "<other/>", "a.json": json.dumps({"a": 1}), "a": "A note", "a.tsv": "x\ty\n1\t2\n"}.items():
        (scene.folder / name).write_text(data)
        done = scene.onym("link", "./" + name)
        assert done.status == 2, done.stderr
        hint = done.stderr.partition("  try  ")[2]
        assert hint, done.stderr
        assert sum(word.strip(",;") in names for word in hint.split()) <= 3, hint
    return "XML, JSON, tables and text are each told the formats or the columns that fit"
