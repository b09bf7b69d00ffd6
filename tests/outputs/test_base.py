"""Tests of choosing built-in and plug-in output formats by name and by extension."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.base import ExportOptions, OutputContext, check_output, format_of_path, get_writer, write_output
from onym.outputs.links import format_of, require_linked_output, write_links
from onym.pipeline import Pipeline
from onym.registry import OUTPUTS, Part
from onym.types import Candidate, Document, Link, LinkedDocument, Mention
from tests.plug_in.src.onym_plug_in import ids

FEVER = Mention(5, 10, "fever")
DOC = Document("1", "High fever", (FEVER,))
LINKED = LinkedDocument(DOC, (Link(FEVER, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),)),))


@pytest.fixture
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the plug-in `ids`, and one that cannot be imported."""

    def fail_to_load() -> Any:
        raise ImportError("a library of the plug-in is missing")

    parts = (Part("output", "broken", "elsewhere", "1", fail_to_load), Part("output", "ids", "elsewhere", "1", lambda: ids))
    monkeypatch.setitem(vars(OUTPUTS), "_plug_ins", parts)


def test_each_module_is_a_format() -> None:
    assert OUTPUTS.names[:6] == ("fhir", "html", "omop", "predictions", "sssom", "table")
    for name in OUTPUTS.names:
        module = OUTPUTS.load(name)
        assert hasattr(module, "write") == hasattr(module, "ENDINGS")
        assert hasattr(module, "write_terms") == hasattr(module, "TERM_ENDINGS")


def test_longest_extension_wins() -> None:
    names = ("links.csv", "note_nlp.csv", "page.html", "links.jsonl", "links", "-")
    assert [format_of_path(Path(name)) for name in names] == ["table", "omop", "html", "predictions", "", ""]
    assert [format_of(path) for path in (None, Path("links.jsonl"), Path("page.html"))] == ["table", "predictions", "html"]


@pytest.mark.usefixtures("plug_ins")
def test_finds_plug_ins_and_skips_broken_ones(tiny_kb: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.ids"
    assert format_of(path) == "ids"
    require_linked_output(path, "ids")
    write_links([DOC], Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))), path, "ids")
    assert path.read_text() == "mesh:D005334\n"
    with pytest.raises(ConfigError, match="part-broken"):
        get_writer("broken")


@pytest.mark.usefixtures("plug_ins")
def test_format_without_options_rejects_options() -> None:
    options = ExportOptions.of(nlp_date="2026-01-31")
    for name in ("ids", "table", "html", "predictions"):
        with pytest.raises(ConfigError, match="apply only to FHIR and OMOP"):
            check_output(name, OutputContext(Path("links.tsv"), options=options))


def test_rejects_a_term_format_for_documents() -> None:
    with pytest.raises(ConfigError, match="sssom cannot store documents"):
        require_linked_output(Path("a.sssom.tsv"), "sssom")


def test_html_highlights_mentions_and_requires_text(tmp_path: Path) -> None:
    path = tmp_path / "ward.html"
    write_output([LINKED], "html", OutputContext(path))
    assert "<title>ward</title>" in path.read_text()
    assert '<mark style="' in path.read_text()
    with pytest.raises(ConfigError, match="contains the text"):
        write_output([LINKED], "html", OutputContext(tmp_path / "other.html", text=False))
    assert not (tmp_path / "other.html").exists()


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("failed in the middle of writing")

    part = Part("output", "failing", "elsewhere", "1", lambda: SimpleNamespace(ENDINGS=(), write=fail))
    monkeypatch.setitem(vars(OUTPUTS), "_plug_ins", (part,))
    with pytest.raises(RuntimeError, match="middle"):
        write_output([LINKED], "failing", OutputContext(tmp_path / "links"))
    assert not (tmp_path / "links").exists()
