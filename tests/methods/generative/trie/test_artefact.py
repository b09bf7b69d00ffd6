from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import InputError, IntegrityError, OnymError
from onym.kb import KnowledgeBase
from onym.methods.generative.trie import artefact
from onym.methods.generative.trie.artefact import FORMAT, KIND, Origin, build_trie, open_trie, open_trie_artefact
from onym.methods.generative.trie.packed import ROOT, Columns, PackedTrie
from onym.store.artefact import Artefact
from onym.store.stage import Record, staging
from tests.methods.generative.trie.letters import Letters, Plain, to_ragged


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def trie_folder(kb: KnowledgeBase, tmp_path: Path) -> Path:
    build_trie(kb, Letters(), Plain(), tmp_path / "trie")
    return tmp_path / "trie"


def origin(kb: KnowledgeBase, changes: dict[str, Any] | None = None) -> Origin:
    return Origin.of(kb, Letters(), Plain()).model_copy(update=changes)


def publish(dest: Path, trie: PackedTrie, config: dict[str, Any]) -> None:
    """Write columns as a trie artefact, and drop its verification record."""
    with staging(dest) as stage:
        for name, column in trie.columns._asdict().items():
            stage.write_array(name, column)
        stage.publish(dest, KIND, FORMAT, Record(config, [], {}))
    forget(dest)


def forget(dest: Path) -> None:
    """Change the modification times, so that the files count as unverified."""
    for path in dest.glob("*/*.npy"):
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def test_each_name_of_the_knowledge_base_is_found(kb: KnowledgeBase, trie_folder: Path) -> None:
    trie = open_trie(trie_folder, origin(kb))
    for name in range(len(kb.names)):
        leaf = trie.find([ord(letter) for letter in kb.names[name]])
        assert trie.names_at(leaf).tolist() == [name]
    assert isinstance(trie.tokens.base, np.memmap)
    assert trie.digest == (trie_folder / "CURRENT").read_text().strip()
    assert repr(trie).startswith(f"<PackedTrie {trie.digest}: 9 names, ")


def test_manifest_records_the_origin(kb: KnowledgeBase, trie_folder: Path) -> None:
    trie, found, artefact = open_trie_artefact(trie_folder)
    assert artefact.manifest.config == {
        "kb": kb.digest, "names": 9, "tokenizer": "letters", "template": "plain", "eos": 2, "vocabulary": 256,
    }  # fmt: skip
    assert found == origin(kb)
    assert artefact.manifest.counts == {"names": 9, "nodes": trie.node_count, "max_name_tokens": len("myocardial infarction")}


def test_the_same_input_gives_the_same_bytes(kb: KnowledgeBase, tmp_path: Path) -> None:
    digests = {build_trie(kb, Letters(), Plain(), tmp_path / name).digest() for name in ("one", "other")}
    assert len(digests) == 1


def test_batch_size_does_not_change_the_trie(
    kb: KnowledgeBase, trie_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefact, "BATCH", 3)
    tokenizer, steps = Letters(), list[tuple[str, int]]()
    build_trie(kb, tokenizer, Plain(), tmp_path / "other", progress=lambda *progress: steps.append(progress))
    assert tokenizer.batches == 3
    assert steps == [
        ("tokenising names", 0),
        ("tokenising names", 3),
        ("tokenising names", 6),
        ("building the trie", 9),
        ("writing", 9),
    ]
    assert (tmp_path / "other" / "CURRENT").read_text() == (trie_folder / "CURRENT").read_text()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kb": "0" * 16}, "another knowledge base"),
        ({"tokenizer": "words"}, "another tokenizer"),
        ({"template": "genre"}, "another template"),
        ({"kb": "0" * 16, "template": "genre"}, "another knowledge base and another template"),
        ({"eos": 3}, "another end token or vocabulary"),
        ({"vocabulary": 257}, "another end token or vocabulary"),
    ],
)
def test_rejects_trie_of_another_origin(kb: KnowledgeBase, trie_folder: Path, changes: dict[str, Any], what: str) -> None:
    with pytest.raises(IntegrityError) as caught:
        open_trie(trie_folder, origin(kb, changes))
    assert caught.value.code == "trie-mismatch"
    assert caught.value.what == f"the trie was built for {what}"
    assert "onym trie build" in caught.value.fix


def test_rejects_other_artefacts(kb: KnowledgeBase, tiny_kb: Path, tmp_path: Path) -> None:
    for folder, code in ((tiny_kb, "artefact-kind"), (tmp_path, "artefact-missing")):
        with pytest.raises(IntegrityError) as caught:
            open_trie(folder)
        assert caught.value.code == code


def test_rejects_token_outside_the_vocabulary_and_writes_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    for vocabulary in (100, 3):
        with pytest.raises(InputError) as caught:
            build_trie(kb, Letters(vocabulary=vocabulary), Plain(), tmp_path / "trie")
        assert caught.value.code == "trie-tokens"
    assert [path.name for path in (tmp_path / "trie").iterdir()] == [".lock"]


def test_rejects_token_that_overflows_16_bits(kb: KnowledgeBase, tmp_path: Path) -> None:
    class LargeIds(Letters):
        def ids_of(self, texts: Any) -> Any:
            return to_ragged([[65_536 + 97] for _ in texts])

    with pytest.raises(InputError) as caught:
        build_trie(kb, LargeIds(), Plain(), tmp_path / "trie")
    assert caught.value.code == "trie-tokens"


@pytest.mark.parametrize("column", Columns._fields)
def test_detects_changed_bytes(trie_folder: Path, column: str) -> None:
    path = next(trie_folder.glob(f"*/{column}.npy"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError) as caught:
        open_trie(trie_folder)
    assert caught.value.code == "artefact-corrupt"


def test_rejects_truncated_and_missing_files(trie_folder: Path) -> None:
    path = next(trie_folder.glob("*/low.npy"))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(IntegrityError, match="wrong size"):
        open_trie(trie_folder)
    path.unlink()
    with pytest.raises(IntegrityError, match="missing"):
        open_trie(trie_folder)


def test_rejects_invalid_columns_with_valid_digests(kb: KnowledgeBase, tmp_path: Path) -> None:
    trie = PackedTrie.build(to_ragged([[3]] * len(kb.names)), 2, 256)
    beyond = PackedTrie(trie.columns._replace(names=trie.names + np.uint32(1)), 2, 256)
    cycle = PackedTrie(trie.columns._replace(first=np.array([1, 1, 2, 3], dtype=np.uint32)), 2, 256)
    for number, hostile in enumerate((beyond, cycle)):
        publish(tmp_path / str(number), hostile, origin(kb).model_dump())
        with pytest.raises(IntegrityError) as caught:
            open_trie(tmp_path / str(number), origin(kb))
        assert caught.value.code == "artefact-corrupt"


@pytest.mark.parametrize("change", [{"eos": "2"}, {"eos": -1}, {"vocabulary": None}, {"more": 1}, {"kb": 3}, {"names": 2**70}])
def test_rejects_invalid_manifest(kb: KnowledgeBase, tmp_path: Path, change: dict[str, Any]) -> None:
    trie = PackedTrie.build(to_ragged([[3]] * len(kb.names)), 2, 256)
    publish(tmp_path / "trie", trie, origin(kb).model_dump() | change)
    with pytest.raises(IntegrityError) as caught:
        open_trie(tmp_path / "trie")
    assert caught.value.code == "artefact-corrupt"


def test_rejects_manifest_without_a_column(trie_folder: Path) -> None:
    version = trie_folder / (trie_folder / "CURRENT").read_text().strip()
    manifest = json.loads((version / "manifest.json").read_text())
    del manifest["files"]["height.npy"]
    data = json.dumps(manifest).encode()
    (version / "manifest.json").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()[:16]
    version.rename(trie_folder / digest)
    (trie_folder / "CURRENT").write_text(digest)
    with pytest.raises(IntegrityError) as caught:
        open_trie(trie_folder)
    assert caught.value.code == "artefact-corrupt"


def test_checks_the_structure_once_per_machine(kb: KnowledgeBase, trie_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    monkeypatch.setattr(artefact, "require_sound", lambda *_: checks.append("checked"))
    open_trie(trie_folder)
    assert checks == []  # no check is needed, because the trie was verified when it was written
    forget(trie_folder)
    for _ in range(3):
        open_trie(trie_folder)
    assert checks == ["checked"]


def test_open_trie_survives_a_new_version(kb: KnowledgeBase, trie_folder: Path) -> None:
    trie = open_trie(trie_folder)
    for name in ("b", "c", "d"):
        build_trie(kb, Letters(name), Plain(), trie_folder)
    assert len(trie.children(ROOT)[0]) == len({kb.names[name][0] for name in range(len(kb.names))})
    assert open_trie_artefact(trie_folder)[1].tokenizer == "d"


def test_an_artefact_of_another_format(kb: KnowledgeBase, trie_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefact, "FORMAT", 2)
    with pytest.raises(OnymError) as caught:
        open_trie(trie_folder)
    assert caught.value.code == "artefact-version"
    assert Artefact.open(trie_folder, KIND, 1).digest
