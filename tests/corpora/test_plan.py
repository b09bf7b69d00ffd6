"""Tests of planning: each file of a corpus is read, ignored, or reported as failed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from onym.corpora.reading import Plan, PlannedFile, plan_of, state_counts
from onym.errors import ConfigError
from onym.store.files.source import InputFile, Source

PUBTATOR = b"1|t|Fever\n1|a|\n"
JSONL = b'{"id": 1, "text": "Fever"}\n'
BIOC = b'<?xml version="1.0"?><collection><document><id>1</id></document></collection>'


def source(files: dict[str, bytes]) -> Source:
    return Source.of_files("corpus", [InputFile.from_bytes(name, data) for name, data in files.items()])


def formats_by_file(plan: Plan) -> dict[str, str]:
    return {file.name: file.format or file.code or file.state for file in plan.files}


def test_an_unrecognised_file_does_not_affect_others(tmp_path: Path) -> None:
    notes = {f"{number:02}.txt": b"A note about fever." for number in range(50)}
    plan = plan_of(source(notes | {"07.txt": PUBTATOR, "09.txt": JSONL}))
    assert formats_by_file(plan) == dict.fromkeys(notes, "text") | {"07.txt": "pubtator", "09.txt": "jsonl"}
    assert [group.name for group in plan.groups] == sorted(notes)


def test_formats_may_be_mixed() -> None:
    files = {
        "a.ann": b"", "a.txt": b"Fever", "b.jsonl": JSONL, "b.txt": b"Fever", "c.tsv": PUBTATOR, "d.xml": BIOC,
        "e.concept": b"1||0|5||D||fever||D1\n", "s.source": b'["START x END"]\n', "s.target": b"", "slabel.txt": b"D1\n",
    }  # fmt: skip
    plan = plan_of(source(files))
    assert formats_by_file(plan) == {
        "a.ann": "brat", "a.txt": "brat", "b.jsonl": "jsonl", "b.txt": "text", "c.tsv": "pubtator", "d.xml": "bioc_xml",
        "e.concept": "biosyn", "s.source": "genbioel", "s.target": "genbioel", "slabel.txt": "genbioel",
    }  # fmt: skip
    assert [file.name for file in plan.groups[0].files] == ["a.txt", "a.ann"]
    assert len(plan.groups) == 7


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.pubtator", b"nothing of that kind", "pubtator"),
        ("A.PubTator.gz", gzip.compress(PUBTATOR, mtime=0), "pubtator"),
        ("a.biocxml", BIOC, "bioc_xml"),
        ("a.biocjson", b"{}", "bioc_json"),
        ("a.parquet", b"torn", "parquet"),
        ("a.txt", b"", "text"),
        ("a.json", b'[{"text": "Fever", "id": "1"}]', "jsonl"),
        ("a.jsonl", b"", "ignored"),
        ("a.bin", b"\x00\x01", "format-unknown"),
        ("a.ann", b"", "brat"),
        ("note", b"A note without an extension", "format-unknown"),
        ("a.txt.gz", gzip.compress(b"High fever and more", mtime=0)[:-9], "input-corrupt"),
        ("README", b"This is a corpus.", "ignored"),
        ("docs/readme_first.txt", b"This is a corpus.", "ignored"),
        ("LICENSE.txt", b"CC BY", "ignored"),
        ("license to drive.txt", b"A patient without one.", "text"),
        ("annotation.conf", b"[entities]", "ignored"),
        (".git/config", b"[core]", "ignored"),
        ("a/.hidden.txt", b"x", "ignored"),
    ],
)
def test_plans_a_single_file(name: str, data: bytes, expected: str) -> None:
    assert formats_by_file(plan_of(source({name: data}))) == {name: expected}


def test_a_readme_given_as_the_only_file_is_read() -> None:
    file = InputFile.from_bytes("README.txt", b"This is a corpus.")
    assert formats_by_file(plan_of(Source("README.txt", (file,)))) == {"README.txt": "text"}


def test_a_given_format_applies_to_all_files() -> None:
    files = {"a.txt": PUBTATOR, "b.json": JSONL, "c.bin": b"x", "README.md": b"y"}
    plan = plan_of(source(files), "text")
    assert formats_by_file(plan) == {"a.txt": "text", "b.json": "text", "c.bin": "text", "README.md": "ignored"}
    assert formats_by_file(plan_of(source({"a.txt": b"x", "a.ann": b"", "b.txt": b"x"}), "brat")) == dict.fromkeys(
        ("a.ann", "a.txt", "b.txt"), "brat"
    )
    with pytest.raises(ConfigError, match="part-unknown"):
        plan_of(source(files), "word")


def test_files_skipped_by_the_source_are_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fever")
    (tmp_path / "b.txt").symlink_to("/etc/hostname")
    (tmp_path / "c").symlink_to(".")
    plan = plan_of(Source.open(tmp_path))
    assert formats_by_file(plan) == {"a.txt": "text", "b.txt": "input-link", "c": "ignored"}
    assert state_counts(plan.files) == {"read": 1, "ignored": 1, "failed": 1}
    assert plan.files[1] == PlannedFile("b.txt", "failed", code="input-link", why="the link leads out of the folder")
    assert [error.code for error in plan.errors] == ["input-link"]
