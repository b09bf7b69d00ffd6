"""Tests of the HTML pages of linked documents."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.markup import colour_of_type
from onym.outputs.html import read_shown, write_page
from onym.pipeline.folder import build_pipeline
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from tests.cli.command import onym
from tests.test_linked_documents import read

TEXT = "High fever, no <b>heart attack</b>."


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "notes.txt").write_text(TEXT)
    (tmp_path / "kb").symlink_to(tiny_kb)
    build_pipeline(tiny_kb, tmp_path / "p")
    return tmp_path


@pytest.mark.parametrize("name", ["linked.jsonl", "linked.parquet", "linked.pubtator"])
def test_shows_linked_documents(folder: Path, name: str) -> None:
    onym("link", "notes.txt", "--pipeline", "p", "--format", name.partition(".")[2], "-o", name, cwd=folder)
    done = onym("show", name, "--kb", "kb", "-o", "page.html", cwd=folder)
    assert "documents\t1" in done.stdout
    page = (folder / "page.html").read_text("utf-8")
    marks = read(page)
    assert TEXT in " ".join(marks.text.split())
    assert any(title and title.startswith("MESH:D009203 Myocardial Infarction") for title in marks.titles)
    assert not {"script", "b", "img", "link"} & set(marks.tags)
    assert "exists" in onym("show", name, "-o", "page.html", cwd=folder, status=2).stderr


def test_names_come_from_the_knowledge_base(tmp_path: Path, tiny_kb: Path) -> None:
    mention = '{"start":0,"end":5,"concept_ids":["mesh:D005334","x:1"]}'
    (tmp_path / "a.jsonl").write_text(f'{{"id":"1","text":"Fever","mentions":[{mention}]}}\n')
    (bare,), (named,) = read_shown(tmp_path / "a.jsonl"), read_shown(tmp_path / "a.jsonl", KnowledgeBase.open(tiny_kb))
    assert [each.preferred_name for each in bare.links[0].candidates] == ["", ""]
    assert [each.preferred_name for each in named.links[0].candidates] == ["Fever", ""]


def test_titles_and_ids_are_escaped() -> None:
    mention = Mention(0, 1, "x")
    linked = LinkedDocument(Document("<i>", "x", (mention,)), (Link(mention, (Candidate("a:1", "", 1.0, '"><script>'),)),))
    file = io.BytesIO()
    assert write_page([linked], "<script>", file) == 1
    assert "script" not in read(file.getvalue().decode()).tags


def test_six_types_have_six_colours_and_a_legend() -> None:
    names = ("Gene", "Species", "Cell line", "Variant", "Disease", "Chemical")
    mentions = tuple(Mention(row, row + 1, "x", (), name) for row, name in enumerate(names))
    links = tuple(Link(mention, (Candidate("a:1", "", 1.0),)) for mention in mentions)
    file = io.BytesIO()
    write_page([LinkedDocument(Document("1", "x" * len(names), mentions), links)], "types", file)
    text, _, legend = file.getvalue().decode().partition('<p class="legend">')
    assert len({colour_of_type(name) for name in names}) == len(names)
    assert all(colour_of_type(name) in text for name in names)
    assert all(f'<span style="background:{colour_of_type(name)}">{name}</span>' in legend for name in names)


def test_one_type_needs_no_legend() -> None:
    mention = Mention(0, 1, "x", (), "Gene")
    file = io.BytesIO()
    write_page([LinkedDocument(Document("1", "x", (mention,)), (Link(mention, (Candidate("a:1", "", 1.0),)),))], "one", file)
    assert b'class="legend"' not in file.getvalue()
