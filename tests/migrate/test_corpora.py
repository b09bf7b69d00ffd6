"""Tests of migrating corpora in every format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from onym.corpora import documents_of, read_corpus, write_corpus
from onym.corpora.formats import READ_ONLY, get
from onym.errors import ConfigError, InputError
from onym.migrate.links import OLD_ID
from onym.migrate.rewriting import Rewriter
from onym.migrate.run import migrate
from onym.registry import FORMATS
from onym.types import Document, Mention, Relation
from tests.migrate.conftest import Releases, rows_of

WRITABLE = [name for name in FORMATS.names if name not in READ_ONLY and name != "text"]


def single(number: int, concept_id: str) -> Document:
    """Return a document that each format can store: its text is one mention, in lower case."""
    return Document(str(number), "high temperature", (Mention(0, 16, "high temperature", (concept_id,), "Disease", "T1"),))


def ids_in(path: Path, format: str) -> list[tuple[str, ...]]:  # noqa: A002
    return [mention.concept_ids for doc in documents_of(read_corpus(path, format)) for mention in doc.mentions]


@pytest.mark.parametrize("name", WRITABLE)
def test_ids_move_in_every_format(name: str, releases: Releases, tmp_path: Path) -> None:
    if name == "docbin":
        pytest.importorskip("spacy")
    documents = [single(1, "mesh:D000001"), single(2, "mesh:D000002"), single(3, "mesh:D000003"), single(4, "mesh:D000004")]
    old, new = tmp_path / "old", tmp_path / "new"
    write_corpus(documents, old, name)
    result = migrate(old, *releases, new, format=name)
    assert ids_in(new, name) == [("mesh:D000001",), ("mesh:D000009",), ("mesh:D000003",), ("mesh:D000004",)]
    assert not result.problems
    rows = rows_of(tmp_path / "new.audit.tsv")
    assert sorted((row["old"], row["new"], row["outcome"]) for row in rows) == [
        ("MESH:D000001", "MESH:D000001", "kept"),
        ("MESH:D000002", "MESH:D000009", "moved"),
        ("MESH:D000003", "", "suggested"),
        ("MESH:D000004", "", "dead"),
    ]


@pytest.mark.parametrize("name", [name for name in WRITABLE if hasattr(get(name), "iter_segments")])
def test_unchanged_documents_keep_their_bytes(name: str, releases: Releases, tmp_path: Path) -> None:
    old, same, new = (tmp_path / each for each in ("old", "same", "new"))
    write_corpus([single(1, "mesh:D000001"), single(2, "mesh:D000002")], old, name)
    write_corpus([single(1, "mesh:D000001"), single(2, "mesh:D000009")], same, name)
    migrate(old, *releases, new, format=name)
    files = sorted(path.name for path in new.iterdir()) if new.is_dir() else [""]
    for each in files:
        found, expected = (new / each).read_bytes(), (same / each).read_bytes()
        assert found == expected or (
            name == "jsonl" and found.replace(b',"notes":[["old_id","mesh:D000002"]]', b"") == expected
        )


def migrate_text(text: str, releases: Releases, folder: Path, **options: object) -> str:
    """Migrate a PubTator file, and return its new text."""
    (folder / "old.pubtator").write_text(text)
    migrate(folder / "old.pubtator", *releases, folder / "new.pubtator", **options)  # type: ignore[arg-type]
    return (folder / "new.pubtator").read_text()


def test_only_ids_change_and_relations_follow_their_mentions(releases: Releases, tmp_path: Path) -> None:
    text = (
        "1|t|High temperature\n1|a|\n1\t0\t16\tHigh temperature\tDisease\tMESH:D000002|MESH:D000001\n"
        "1\tCID\tD000002\tD000001\n\n2|t|Fever\n2|a|  odd \t bytes\n2\t0\t5\tFever\tDisease\tD000001\textra\n\n\n"
    )
    assert migrate_text(text, releases, tmp_path) == text.replace("D000002", "D000009")
    rows = rows_of(tmp_path / "new.pubtator.audit.tsv")
    assert [row["part"] for row in rows] == ["mention", "mention", "relation", "relation", "mention"]
    assert rows[0]["old_name"] == "High temperature"
    assert rows[0]["new_name"] == "Pyrexia"
    assert rows[0]["why"] == "replaced by"
    assert all(row["why"] for row in rows)


def test_an_id_in_the_text_of_a_document_stays(releases: Releases, tmp_path: Path) -> None:
    text = "1|t|Heat is D000002\n1|a|\n1\t0\t4\tHeat\tDisease\tD000002\n\n"
    assert migrate_text(text, releases, tmp_path) == text.replace("Disease\tD000002", "Disease\tD000009")


def test_a_document_with_problems_keeps_its_ids(releases: Releases, tmp_path: Path) -> None:
    text = "1|t|Heat\n1|a|\n1\t0\t4\tHeat\tDisease\tD000002\n1\t2\t4\tHeat\tDisease\tD000002\n\n"
    assert migrate_text(text, releases, tmp_path) == text
    (row,) = rows_of(tmp_path / "new.pubtator.audit.tsv")
    assert (row["outcome"], row["suggested"]) == ("suggested", "MESH:D000009")
    assert row["why"] == "replaced by; not changed: the document has problems"


def test_a_document_that_cannot_be_read_is_copied(releases: Releases, tmp_path: Path) -> None:
    text = "1|t|Heat\n2|a|\n\n3|t|Heat\n3|a|\n3\t0\t4\tHeat\tDisease\tD000002\n"
    (tmp_path / "old.pubtator").write_text(text)
    result = migrate(tmp_path / "old.pubtator", *releases, tmp_path / "new.pubtator")
    assert [problem.code for problem in result.problems] == ["corpus-malformed"]
    assert (tmp_path / "new.pubtator").read_text() == text.replace("D000002", "D000009")


def test_a_folder_keeps_its_other_files_and_compressed_ones(releases: Releases, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "inner").mkdir(parents=True)
    (old / "README.md").write_text("Read this.")
    packed = gzip.compress(b"1|t|Fever\n1|a|\n1\t0\t5\tFever\tDisease\tD000001\n", compresslevel=1)
    (old / "inner" / "same.pubtator.gz").write_bytes(packed)
    (old / "inner" / "moves.pubtator.gz").write_bytes(gzip.compress(b"1|t|Heat\n1|a|\n1\t0\t4\tHeat\tDisease\tD000002\n"))
    result = migrate(old, *releases, new)
    assert (result.documents, result.changed) == (2, 1)
    assert (new / "README.md").read_text() == "Read this."
    assert (new / "inner" / "same.pubtator.gz").read_bytes() == packed
    assert b"D000009" in gzip.decompress((new / "inner" / "moves.pubtator.gz").read_bytes())


def test_the_old_id_is_in_a_note_where_the_format_can_store_it(releases: Releases, tmp_path: Path) -> None:
    write_corpus([single(1, "mesh:D000002")], tmp_path / "old.jsonl", "jsonl")
    migrate(tmp_path / "old.jsonl", *releases, tmp_path / "new.jsonl")
    (document,) = documents_of(read_corpus(tmp_path / "new.jsonl"))
    assert (OLD_ID, "mesh:D000002") in document.mentions[0].notes


def test_there_and_back_again_gives_the_same_bytes(releases: Releases, tmp_path: Path) -> None:
    text = "1|t|Heat, fever\n1|a|\n1\t0\t4\tHeat\tDisease\tMESH:D000009\n1\t6\t11\tfever\tDisease\tD000001\n"
    there = migrate_text(text, (releases[1], releases[0]), tmp_path)
    assert there == text  # the old release does not know the new id: nothing moves by guessing
    (tmp_path / "b").mkdir()
    assert migrate_text(text.replace("D000009", "D000002"), releases, tmp_path / "b") == text


def test_without_documents_the_output_is_refused(releases: Releases, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01")
    with pytest.raises(ConfigError, match="format-unknown"):
        migrate(tmp_path / "a.bin", *releases, tmp_path / "b.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_bioc_relations_between_mentions_stay(releases: Releases, tmp_path: Path) -> None:
    doc = single(1, "mesh:D000002")
    relation = Relation("cause", (("first", "T1"), ("second", "mesh:D000002")), "R1")
    write_corpus([Document("1", doc.text, doc.mentions, (), (relation,))], tmp_path / "a.xml", "bioc_xml")
    migrate(tmp_path / "a.xml", *releases, tmp_path / "b.xml")
    (found,) = documents_of(read_corpus(tmp_path / "b.xml"))
    assert found.relations[0].arguments == (("first", "T1"), ("second", "mesh:D000009"))


def test_a_document_that_cannot_be_rewritten_keeps_its_bytes(
    releases: Releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rewriter, "rewrite", lambda *_: None)
    text = "1|t|Heat\n1|a|\n1\t0\t4\tHeat\tDisease\tD000002\n"
    (tmp_path / "old.pubtator").write_text(text)
    result = migrate(tmp_path / "old.pubtator", *releases, tmp_path / "new.pubtator")
    assert (tmp_path / "new.pubtator").read_text() == text
    assert [problem.code for problem in result.problems] == ["migrate-not-written"]
    assert (result.changed, result.links["suggested"]) == (0, 1)


def test_a_file_in_which_documents_cannot_be_found_is_refused(releases: Releases, tmp_path: Path) -> None:
    write_corpus([single(1, "mesh:D000002"), single(2, "mesh:D000002")], tmp_path / "a.xml", "bioc_xml")
    text = (tmp_path / "a.xml").read_text().replace("</collection>", "<!-- <document> </document> --></collection>")
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(InputError, match="migrate-unaligned"):
        migrate(tmp_path / "a.xml", *releases, tmp_path / "b.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]
