from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.check import check_kb
from onym.methods.generative.trie.artefact import (
    Origin,
    find_tries,
    open_derived_trie,
    open_derived_trie_artefact,
    trie_locations,
)
from onym.store import derived
from onym.store.artefact import check_artefact
from onym.store.cache import cache_folder
from onym.store.stage import staging
from tests.methods.generative.trie.letters import Letters, Plain
from tests.store.artefact.rotten import rot


@pytest.fixture
def kb(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    shutil.copytree(tiny_kb, tmp_path / "kb", ignore=shutil.ignore_patterns("tries"))
    return KnowledgeBase.open(tmp_path / "kb")


def location(kb: KnowledgeBase, tokenizer: Letters, template: Plain) -> Path:
    return open_derived_trie_artefact(kb, tokenizer, template).artefact.location


def test_the_trie_is_built_once(kb: KnowledgeBase) -> None:
    tokenizer = Letters()
    digests = {open_derived_trie(kb, tokenizer, Plain()).digest for _ in range(3)}
    assert len(digests) == 1
    assert tokenizer.batches == 1


def test_the_versions_of_the_knowledge_base_are_not_touched(kb: KnowledgeBase) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in kb.folder.iterdir())
    folder = location(kb, Letters(), Plain())
    assert folder.parent == kb.folder.parent / "tries"
    assert sorted((path.name, path.stat().st_mtime_ns) for path in kb.folder.iterdir()) == before
    assert check_kb(kb.folder.parent) == []


def test_each_tokenizer_and_template_has_its_own_trie(kb: KnowledgeBase) -> None:
    pairs = [(Letters(), Plain()), (Letters("words"), Plain()), (Letters(), Plain("other"))]
    folders = [location(kb, *pair) for pair in pairs]
    assert len(set(folders)) == 3
    assert find_tries(kb) == sorted(folders)
    assert [location(kb, *pair) for pair in pairs] == folders


def test_rebuilds_corrupt_trie(kb: KnowledgeBase) -> None:
    folder, tokenizer = location(kb, Letters(), Plain()), Letters()
    path = next(folder.glob("*/tokens.npy"))
    path.write_bytes(path.read_bytes()[:-2])
    trie = open_derived_trie(kb, tokenizer, Plain())
    assert tokenizer.batches == 1
    assert len(trie.names) == len(kb.names)


def test_a_tokenizer_that_changed_its_end_token_but_not_its_digest(kb: KnowledgeBase) -> None:
    open_derived_trie(kb, Letters(eos=2), Plain())
    assert open_derived_trie(kb, Letters(eos=3), Plain()).eos == 3


def test_uses_the_cache_if_the_folder_is_read_only(kb: KnowledgeBase) -> None:
    (kb.folder.parent / "tries").write_text("no folder")
    folder, tokenizer = location(kb, Letters(), Plain()), Letters()
    assert folder.parent == cache_folder() / "tries"
    assert len(open_derived_trie(kb, tokenizer, Plain()).names) == len(kb.names)
    assert tokenizer.batches == 0
    assert find_tries(kb) == [folder]


def test_a_trie_of_another_knowledge_base_in_the_cache_is_not_listed(kb: KnowledgeBase) -> None:
    (kb.folder.parent / "tries").write_text("no folder")
    location(kb, Letters(), Plain())
    (cache_folder() / "tries" / "torn").mkdir()
    (cache_folder() / "tries" / "torn" / "CURRENT").write_text("nothing")
    kb.digest = "0" * 16
    assert find_tries(kb) == []


def test_reports_if_no_location_is_writable(kb: KnowledgeBase, tmp_path: Path) -> None:
    (kb.folder.parent / "tries").write_text("no folder")
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache" / "tries").write_text("no folder")
    with pytest.raises(ConfigError) as caught:
        open_derived_trie(kb, Letters(), Plain())
    assert caught.value.code == "output-failed"


def test_second_process_waits(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    own = trie_locations(kb, Origin.of(kb, Letters(), Plain())).own
    stage, waited = staging(own), threading.Event()
    stage.__enter__()
    steps: list[str] = []

    def progress(what: str, _names: int) -> None:
        steps.append(what)
        if len(steps) == 2:
            stage.__exit__(None, None, None)
            waited.set()

    monkeypatch.setattr(derived, "WAIT", 0.01)
    trie = open_derived_trie(kb, Letters(), Plain(), progress=progress)
    assert waited.is_set()
    assert steps[:2] == ["waiting for another process that builds the trie"] * 2
    assert "building the trie" in steps
    assert len(trie.names) == len(kb.names)


def test_does_not_wait_on_other_lock_errors(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise IntegrityError("artefact-corrupt", "no")

    monkeypatch.setattr(derived, "staging", refuse)
    with pytest.raises(IntegrityError) as caught:
        open_derived_trie(kb, Letters(), Plain())
    assert caught.value.code == "artefact-corrupt"


def test_concurrent_processes_build_it_once(kb: KnowledgeBase) -> None:
    code = (
        "import sys, time\n"
        "from onym.kb import KnowledgeBase\n"
        "from onym.methods.generative.trie.artefact import open_derived_trie\n"
        "from tests.methods.generative.trie.letters import Letters, Plain\n"
        "tokenizer = Letters()\n"
        "trie = open_derived_trie(KnowledgeBase.open(sys.argv[1]), tokenizer, Plain())\n"
        "print(trie.digest, tokenizer.batches)\n"
    )
    command = [sys.executable, "-c", code, str(kb.folder.parent)]
    root = Path(__file__).parents[4]
    started = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate()[0].split() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len({digest for digest, _ in said}) == 1
    assert sum(int(batches) for _, batches in said) == 1


def test_full_verification_rebuilds_corrupt_trie(kb: KnowledgeBase) -> None:
    open_derived_trie(kb, Letters(), Plain())
    (folder,) = (kb.folder.parent / "tries").iterdir()
    rot(folder, "tokens.npy", -2, b"\xff")
    whole = KnowledgeBase.open(kb.folder.parent, verify="full")
    open_derived_trie(whole, Letters(), Plain())
    assert check_artefact(folder) == []
