"""Tests of name vectors: encoded once, builds resume after a kill, and a new release encodes only new names."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index import vectors as vectors_module
from onym.methods.dense.index.vectors import VectorsOrigin, open_derived_vectors, open_vectors
from onym.store.stage import Record, staging
from tests.methods.dense.index.made import WIDTH, Hashed, kb_of, names_of, words


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "SHARD", 7)


def all_vectors(kb: KnowledgeBase, encoder: Hashed) -> Any:
    return Hashed().encode(names_of(kb))


def test_vectors_agree_with_the_encoder(kb: KnowledgeBase) -> None:
    encoder = Hashed()
    found = open_derived_vectors(kb, encoder)
    assert encoder.encoded == names_of(kb)
    assert len(found) == 30
    assert np.array_equal(np.concatenate(list(found.shards())), all_vectors(kb, encoder))
    assert [len(shard) for shard in found.shards()] == [7, 7, 7, 7, 2]
    rows = np.array([29, 0, 7, 6, 7])
    assert np.array_equal(found.rows(rows), all_vectors(kb, encoder)[rows])


def test_encodes_each_name_once(kb: KnowledgeBase) -> None:
    open_derived_vectors(kb, Hashed())
    again = Hashed()
    open_derived_vectors(kb, again)
    assert again.encoded == []
    assert not list(kb.folder.parent.glob("vectors/*/.work"))


@pytest.mark.parametrize("other", [Hashed("other"), Hashed(precision="bfloat16")])
def test_another_encoder_or_precision_has_its_own(kb: KnowledgeBase, other: Hashed) -> None:
    open_derived_vectors(kb, Hashed())
    open_derived_vectors(kb, other)
    assert len(other.encoded) == 30
    assert len(list(kb.folder.parent.glob("vectors/*"))) == 2


def test_resumes_after_kill(kb: KnowledgeBase) -> None:
    killed = Hashed()
    killed.fails_at = names_of(kb)[15]
    with pytest.raises(KeyboardInterrupt):
        open_derived_vectors(kb, killed)
    assert killed.encoded == names_of(kb)[:14]
    encoder = Hashed()
    found = open_derived_vectors(kb, encoder)
    assert encoder.encoded == names_of(kb)[14:]
    assert np.array_equal(np.concatenate(list(found.shards())), all_vectors(kb, encoder))


def test_builds_are_reproducible(kb: KnowledgeBase, tmp_path: Path) -> None:
    open_derived_vectors(kb, Hashed())
    first = {path.name for path in kb.folder.parent.glob("vectors/*/*") if path.is_dir()}
    shutil.rmtree(kb.folder.parent / "vectors")
    open_derived_vectors(kb, Hashed())
    assert {path.name for path in kb.folder.parent.glob("vectors/*/*") if path.is_dir()} == first


def test_a_new_release_encodes_only_new_names(tmp_path: Path) -> None:
    open_derived_vectors(kb_of(tmp_path, words(30)), Hashed())
    release = kb_of(tmp_path, ["a new one", *words(30)[5:], "zz, another"])
    encoder, steps = Hashed(), []
    found = open_derived_vectors(release, encoder, progress=lambda what, _names: steps.append(what))
    assert encoder.encoded == ["a new one", "zz another"]
    assert steps[0] == "encoding names, 25 of them reused"
    assert np.array_equal(np.concatenate(list(found.shards())), all_vectors(release, encoder))
    assert open_vectors(next(release.folder.parent.glob("vectors/*"))).origin == VectorsOrigin.of(release, encoder)


def test_rebuilds_corrupt_artefact(kb: KnowledgeBase) -> None:
    open_derived_vectors(kb, Hashed())
    path = next(kb.folder.parent.glob("vectors/*/*/vectors-00001.npy"))
    path.write_bytes(path.read_bytes()[:-4])
    encoder = Hashed()
    open_derived_vectors(kb, encoder)
    assert len(encoder.encoded) == 30


def test_uses_the_cache_if_the_folder_is_read_only(kb: KnowledgeBase, tmp_path: Path) -> None:
    (kb.folder.parent / "vectors").write_text("no folder")
    open_derived_vectors(kb, Hashed())
    again = Hashed()
    open_derived_vectors(kb, again)
    assert again.encoded == []
    assert len(list((tmp_path / "cache" / "vectors").iterdir())) == 1


def test_a_sample_is_the_same_each_time(kb: KnowledgeBase) -> None:
    found = open_derived_vectors(kb, Hashed())
    assert np.array_equal(found.sample(100), all_vectors(kb, Hashed()))
    few = found.sample(10)
    assert few.shape == (10, WIDTH)
    assert np.array_equal(few, found.sample(10))
    assert {row.tobytes() for row in few} < {row.tobytes() for row in all_vectors(kb, Hashed())}


def change_origin(origin: VectorsOrigin, **values: Any) -> VectorsOrigin:
    return VectorsOrigin.model_validate(origin.model_dump() | values)


@pytest.mark.parametrize("values", [{"names": 31}, {"names": 29}, {"width": 15}, {"shard": 6}])
def test_rejects_inconsistent_columns(kb: KnowledgeBase, tmp_path: Path, values: dict[str, int]) -> None:
    wrong = change_origin(VectorsOrigin.of(kb, Hashed()), **values)
    with staging(tmp_path / "wrong") as stage:
        parts = [*all_vectors(kb, Hashed())]
        for number, start in enumerate(range(0, 30, 7)):
            stage.write_array(f"vectors-{number:05d}", np.concatenate(parts[start : start + 7]))
        stage.write_strings("names", kb.names)
        record = Record(wrong.model_dump(mode="json"), [], {})
        stage.publish(tmp_path / "wrong", "vectors", 1, record)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_vectors(tmp_path / "wrong")


def test_rejects_vectors_of_another_origin(kb: KnowledgeBase) -> None:
    open_derived_vectors(kb, Hashed())
    path = next(kb.folder.parent.glob("vectors/*"))
    with pytest.raises(IntegrityError, match="index-mismatch"):
        open_vectors(path, VectorsOrigin.of(kb, Hashed("other")))


def test_rejects_invalid_manifest(kb: KnowledgeBase, tmp_path: Path) -> None:
    with staging(tmp_path / "wrong") as stage:
        stage.publish(tmp_path / "wrong", "vectors", 1, Record({"kb": 1}, [], {}))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_vectors(tmp_path / "wrong")
