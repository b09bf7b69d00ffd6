"""Tests of reading a corpus: documents, problems, and the state of each file."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from onym.corpora import reading as module
from onym.corpora.base import Item, documents_of
from onym.corpora.formats import get
from onym.corpora.reading import Reading, is_loss, is_of_file, number_items
from onym.errors import ConfigError, InputError
from onym.store.files.source import InputFile, Source
from onym.types import Document, Problem


def source(files: dict[str, bytes], name: str = "corpus") -> Source:
    return Source.of_files(name, [InputFile.from_bytes(each, data) for each, data in files.items()])


def states(reading: Reading) -> dict[str, tuple[str, int]]:
    return {file.name: (file.code or file.state, file.documents) for file in reading.files}


def test_all_files_are_read_and_counted() -> None:
    files = {"a.txt": b"fever", "b.pubtator": b"1|t|x\n\n2|t|y\n\n", "c.bin": b"\x00", "README": b"x", "d.txt": b"\x81"}
    reading = Reading([source(files)])
    items = list(reading)
    assert [(doc.id, doc.source, doc.ordinal) for doc in documents_of(items)] == [
        ("a", "a.txt", 1), ("1", "b.pubtator", 1), ("2", "b.pubtator", 2),
    ]  # fmt: skip
    problems = [(item.code, item.source, item.ordinal) for item in items if isinstance(item, Problem)]
    assert problems == [("format-unknown", "c.bin", 0), ("input-encoding", "d.txt", 0)]
    assert states(reading) == {
        "README": ("ignored", 0), "a.txt": ("read", 1), "b.pubtator": ("read", 2), "c.bin": ("format-unknown", 0),
        "d.txt": ("input-encoding", 0),
    }  # fmt: skip
    with pytest.raises(ConfigError, match="format-unknown"):
        reading.require_whole()


def test_documents_before_a_read_error_are_kept() -> None:
    lines = b"".join(b'{"id":"%d","text":"%s"}\n' % (number, b"fever " * 20) for number in range(20_000))
    packed = gzip.compress(lines, 1)
    reading = Reading([source({"a.jsonl.gz": packed[: len(packed) // 2], "b.txt": b"cough"})])
    docs = list(documents_of(reading))
    assert 1000 < len(docs) < 20_000
    assert docs[-1].id == "b"
    assert states(reading) == {"a.jsonl.gz": ("input-corrupt", len(docs) - 1), "b.txt": ("read", 1)}
    with pytest.raises(InputError, match="input-corrupt"):
        reading.require_whole()


def test_a_bug_in_a_reader_fails_only_its_file_and_reveals_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def read(self, read_from: Source) -> Iterator[Item]:
            yield Document("1", "fever")
            raise ValueError("Secret words")

    monkeypatch.setattr(module, "get", lambda name: Broken() if name == "pubtator" else get(name))
    reading = Reading([source({"a.pubtator": b"1|t|x\n", "b.txt": b"cough"})])
    items = list(reading)
    assert [item.id for item in items if isinstance(item, Document)] == ["1", "b"]
    (problem,) = (item for item in items if isinstance(item, Problem))
    assert (problem.code, problem.source) == ("internal-error", "a.pubtator")
    assert "Secret" not in repr(problem)
    assert states(reading)["a.pubtator"] == ("internal-error", 1)


def test_all_files_of_a_group_fail_together() -> None:
    reading = Reading([source({"a.ann": b"", "a.txt": b"\xff", "b.ann": b"T1\n", "c.ann": b"", "c.txt": b"x"})])
    items = list(reading)
    assert [(item.code, item.source) for item in items if isinstance(item, Problem)] == [
        ("input-encoding", "a.txt"), ("format-incomplete", "b.ann"),
    ]  # fmt: skip
    assert states(reading) == {
        "a.ann": ("input-encoding", 0), "a.txt": ("input-encoding", 0), "b.ann": ("format-incomplete", 0),
        "c.ann": ("read", 0), "c.txt": ("read", 1),
    }  # fmt: skip


def test_a_corpus_without_readable_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format-unknown"):
        Reading([source({"a.bin": b"\x00"})])
    with pytest.raises(ConfigError, match="format-unknown"):
        Reading([source({})])
    with pytest.raises(InputError, match="input-corrupt"):
        Reading([source({"a.txt.gz": gzip.compress(b"High fever and more")[:-9]})])


def test_files_of_several_sources_need_distinct_names() -> None:
    left, right = source({"1.txt": b"a"}).under("left"), source({"1.txt": b"b"}).under("right")
    assert [(doc.id, doc.source) for doc in documents_of(Reading([left, right]))] == [("1", "left/1.txt"), ("1", "right/1.txt")]
    with pytest.raises(ConfigError, match="config-invalid"):
        Reading([left, left])


def test_ordinals_count_lost_documents() -> None:
    items: list[Item] = [
        Problem("1", "corpus-offsets", "w"), Document("1", "x"), Problem("", "corpus-malformed", "w"),
        Problem("3", "corpus-bytes", "w"), Document("3", "x"),
    ]  # fmt: skip
    assert [(item.source, item.ordinal) for item in number_items(items, "f")] == [
        ("f", 1),
        ("f", 1),
        ("f", 2),
        ("f", 3),
        ("f", 3),
    ]


def test_is_loss_excludes_files_and_harmless_problems() -> None:
    assert not is_loss(Problem("1", "corpus-bytes", "w", source="f", ordinal=1))
    assert not is_loss(Problem("", "input-link", "w", source="f"))
    assert is_of_file(Problem("", "input-link", "w", source="f"))
    assert is_loss(Problem("1", "corpus-encoding", "w"))
    assert not is_of_file(Problem("1", "corpus-encoding", "w"))


def test_the_share_grows_while_a_large_file_is_read() -> None:
    line = b'{"id":"1","text":"' + b"High fever. " * 400 + b'"}\n'
    large, small = InputFile.from_bytes("1.jsonl", line * 400), InputFile.from_bytes("2.jsonl", line)
    reading = Reading([Source.of_files("notes", [large, small])])
    shares = [reading.share for _ in reading]
    assert len(set(shares)) > 4
    assert all(0 < share < 1 for share in shares[:200])
    assert shares[199] == pytest.approx(0.5, abs=0.2)
    assert shares[-1] == pytest.approx(400 / 401)
    assert reading.share == 1.0
