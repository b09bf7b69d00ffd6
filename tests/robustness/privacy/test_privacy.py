"""Tests that the suite `privacy` detects a canary phrase in every kind of output."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from onym.corpora import problems as isolation
from onym.corpora.corpus import read_sources
from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.registry import FORMATS, LINKERS, REGISTRIES
from onym.store.files.source import InputFile, Source
from onym.types import Problem
from tests.robustness.privacy import private_runs
from tests.robustness.privacy.canaries import Canaries, capture_shown, plant_documents
from tests.robustness.privacy.commands import (
    PLUG_INS,
    Command,
    Setup,
    draw_damaged_corpus,
    random_command,
    run_here,
    whole_corpus,
)
from tests.robustness.privacy.privacy import Breakable, make_malformed_calls, run_broken
from tests.robustness.privacy.private_runs import EXPORTS, open_to_others
from tests.support.linking import link_with


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup.make(tmp_path_factory.mktemp("privacy"))


@pytest.fixture
def plug_ins(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the leaking plug-ins for one test. Clear the list of plug-ins, which is otherwise filled once per process."""
    monkeypatch.syspath_prepend(setup.folder / PLUG_INS)
    _forget_plug_ins()
    yield
    _forget_plug_ins()


def _forget_plug_ins() -> None:
    for parts in REGISTRIES:
        vars(parts).pop("_plug_ins", None)


def canaries() -> Canaries:
    return Canaries(random.Random(0))


def test_finds_phrase_whole_or_in_part_in_any_case() -> None:
    made = canaries()
    one, other = made.phrase().split()
    assert made.find_in(f"x {other.upper()}y") == [other]
    assert made.find_in(f"{one[:-1]} {other[:-1]}") == []


@pytest.mark.parametrize("name", FORMATS.built_in)
def test_every_format_contains_phrases(name: str) -> None:
    made = canaries()
    files = whole_corpus(made, name)
    source = Source.of_files("made", [InputFile.from_bytes(key, data) for key, data in files.items()])
    assert made.find_in(" ".join(item.text for item in read_sources([source], name) if not isinstance(item, Problem)))


def test_captures_errors_logs_and_prints() -> None:
    def act() -> str:
        print("printed")
        isolation._log.debug("logged")
        raise InputError("input-missing", "raised")

    assert all(word in capture_shown(act) for word in ("printed", "logged", "raised"))


def test_detects_leaking_error_message(setup: Setup) -> None:
    linker = ExactLinker(KnowledgeBase.open(setup.folder / "kb"))
    part, made = Breakable(partial(link_with, linker), ((ExactLinker, "_find"),)), canaries()
    assert made.find_in(run_broken(random.Random(0), made, [part])) == []
    leaking = lambda error, document_id: Problem(document_id, "internal-error", str(error))  # noqa: E731
    with patch.object(isolation, "problem_of", leaking):
        assert made.find_in(run_broken(random.Random(0), made, [part]))


def test_errors_of_mcp_tools_contain_no_phrase(setup: Setup) -> None:
    made, kb = canaries(), KnowledgeBase.open(setup.folder / "kb")
    shown = capture_shown(lambda: "".join(make_malformed_calls(kb, random.Random(seed), made) for seed in range(10)))
    assert "request-malformed" in shown
    assert made.find_in(shown) == []


def test_detects_text_in_leftover_files(setup: Setup, tmp_path: Path) -> None:
    made = canaries()
    (tmp_path / ".stage").write_text(made.phrase())
    (tmp_path / "links.jsonl").write_text(f'{{"document":"1","problem":{{"code":"a-b","what":"{made.phrase()}"}}}}\n')
    assert len(made.find_in(run_here(Command(("--version",)), tmp_path))) == 4


def test_private_run_writes_only_private_files(setup: Setup, tmp_path: Path) -> None:
    assert open_to_others(tmp_path, setup.folder / "pipeline") == []
    assert len(list((tmp_path / "exports").iterdir())) == EXPORTS


@pytest.mark.slow
def test_detects_files_that_others_can_read(setup: Setup, tmp_path: Path) -> None:
    with patch.object(private_runs, "_SCRIPT", private_runs._SCRIPT.replace("private=True", "private=False")):
        found = open_to_others(tmp_path, setup.folder / "pipeline")
    wanted = {"runs/private/plan.json", "killed/run/quarantine/000000.json", "exports/links.csv", "exports/brat/1.ann"}
    assert wanted <= {*found}


def test_commands_run_on_damaged_files(setup: Setup, plug_ins: None, tmp_path: Path) -> None:
    assert "broken" in LINKERS.names
    rng, made = random.Random(3), canaries()
    assert draw_damaged_corpus(rng, made).files
    assert plant_documents(made)
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert made.find_in(run_here(random_command(rng, made, setup, folder), folder)) == []
