"""Tests of input arguments, which are paths, `-` for standard input, or literal texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from onym.cli.app import app
from onym.cli.inputs import open_sources, resolve_kb
from onym.corpora.reading import Reading
from onym.errors import InputError
from onym.packs.locate import locate_kb
from onym.store.files.source import InputFile, Source
from onym.types import Document

TEXTS = ["High fever.", "No fever,\n\nbut a cough\r\n", "Fi\u00e8vre \U0001f912", "a b\udcff"]
PUBTATOR = "1|t|High fever\n1|a|\n"


def documents(*names: str, form: str = "") -> list[object]:
    with open_sources(names) as found:
        return list(found.read(form))


@pytest.mark.parametrize("text", TEXTS)
def test_text_argument_gives_the_same_document_as_a_file(text: str) -> None:
    file = InputFile.from_bytes("1.txt", text.encode("utf-8", "replace"))
    assert documents(text) == list(Reading([Source.of_files("texts", [file])]))


def test_texts_are_numbered() -> None:
    found = [item for item in documents(*TEXTS[:2]) if isinstance(item, Document)]
    assert [(item.id, item.source, item.text) for item in found] == [("1", "1.txt", TEXTS[0]), ("2", "2.txt", TEXTS[1])]


def test_format_is_not_detected_for_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.corpora.reading.format_of", lambda _: pytest.fail("format detection was called"))
    assert len(documents("High fever.")) == 1
    assert [item.text for item in documents(PUBTATOR) if isinstance(item, Document)] == [PUBTATOR]


def test_given_format_applies_to_texts() -> None:
    assert [item.text for item in documents(PUBTATOR, form="pubtator") if isinstance(item, Document)] == ["High fever"]


def test_texts_and_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Cough")
    found = documents("High fever.", str(tmp_path / "notes.txt"))
    assert [item.text for item in found if isinstance(item, Document)] == ["High fever.", "Cough"]


@pytest.mark.parametrize("argument", ["my notes.txt", "ward/a b.CSV", "no-such.txt", "no/such", "*.txt", "C:\\notes"])
def test_a_mistyped_path_is_no_text(argument: str) -> None:
    with pytest.raises(InputError, match="input-missing"):
        documents(argument)


def test_a_word_that_is_no_file_is_linked_but_not_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(documents("High fever.", "asthma")) == 2
    assert capsys.readouterr().err == "Argument 2 is neither a file nor a folder; it is linked as text.\n"


def test_a_folder_is_announced_with_its_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("Cough")
    (tmp_path / "a.pubtator").write_text(PUBTATOR)
    (tmp_path / ".hidden").write_text("Cough")
    documents(str(tmp_path))
    assert "3 files (1 ignored, 1 pubtator, 1 text)." in capsys.readouterr().err.replace("\n", " ")


def test_a_pipeline_stands_for_its_knowledge_base() -> None:
    assert resolve_kb(Path("starter")) == locate_kb("starter")
    assert resolve_kb(None) is None


def test_every_command_resolves_the_knowledge_base_it_is_given() -> None:
    found = {" ".join(words): param for words, param in parameters(get_command(app)) if param.name == "kb"}
    assert {"link", "map", "evaluate", "train pipeline", "index build", "trie build"} <= set(found)
    assert {name for name, param in found.items() if getattr(param.callback, "__name__", "") != resolve_kb.__name__} == set()


def parameters(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the parameters of a command and of those below it, each with the words of its command."""
    below = getattr(command, "commands", {})
    for name in below:
        yield from parameters(below[name], (*words, name))
    yield from ((words, param) for param in command.params)
