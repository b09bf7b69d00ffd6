"""Tests of the index on disk: everything is checked before FAISS reads it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.dense.index import artefact as artefact_module
from onym.methods.dense.index.artefact import IndexOrigin, IndexPart, open_index_artefact, write_index
from onym.methods.dense.index.build import build_index
from onym.methods.dense.index.kinds import KINDS, faiss
from onym.methods.dense.index.search import Index, open_index
from onym.methods.dense.index.vectors import open_derived_vectors
from onym.store.stage import Record, staging
from onym.types import silent
from tests.methods.dense.index.made import WIDTH, Hashed, names_of


@pytest.fixture
def never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if FAISS is called to read the file."""

    def refuse(*_: Any) -> Any:
        pytest.fail("FAISS was called")

    monkeypatch.setattr(artefact_module, "_read", refuse)


def file_of(folder: Path) -> Path:
    return next(folder.glob("*/index.faiss"))


def republish(kb: KnowledgeBase, dest: Path, data: bytes, **changes: Any) -> Path:
    """Publish a file as the index of a knowledge base, with valid digests."""
    with staging(dest) as stage:
        with stage.file("index.faiss") as file:
            file.write(data)
        config = IndexOrigin.of(kb, Hashed(), "flat").model_dump(mode="json") | changes
        stage.publish(dest, "index", 1, Record(config, [], {}))
    return dest


@pytest.mark.parametrize("kind", KINDS)
def test_file_equals_that_of_faiss(kb: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    build_index(kb, Hashed(), tmp_path / "index", kind)
    wanted = KINDS[kind].make(WIDTH, 30)
    vectors = Hashed().encode(names_of(kb))
    wanted.train(vectors)
    wanted.add(vectors)
    assert file_of(tmp_path / "index").read_bytes() == faiss().serialize_index(wanted).tobytes()
    (part,), origin, _ = open_index_artefact(tmp_path / "index", IndexOrigin.of(kb, Hashed(), kind))
    assert (part.index.ntotal, part.index.d, origin.kind) == (30, WIDTH, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_builds_are_reproducible(large_kb: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    digests = {build_index(large_kb, Hashed(), tmp_path / name, kind).digest() for name in ("one", "two")}
    assert len(digests) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_many_dimensions(large_kb: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    """The limits for reading FAISS files allow vectors of a realistic dimension."""
    encoder = Hashed(width=96)
    build_index(large_kb, encoder, tmp_path / "index", kind)
    assert open_index_artefact(tmp_path / "index").parts[0].index.d == 96


def test_accepts_names_encoded_in_another_precision(kb: KnowledgeBase, tmp_path: Path) -> None:
    build_index(kb, Hashed(precision="bfloat16"), tmp_path / "index")
    assert open_index_artefact(tmp_path / "index", IndexOrigin.of(kb, Hashed(), "flat"))[1].precision == "bfloat16"


@pytest.mark.usefixtures("never_read")
@pytest.mark.parametrize(
    ("encoder", "kind", "other"), [(Hashed("other"), "flat", "encoder"), (Hashed(), "sq8", "kind"),
                                   (Hashed(width=8), "flat", "width")]
)  # fmt: skip
def test_rejects_index_of_another_origin(kb: KnowledgeBase, tmp_path: Path, encoder: Hashed, kind: str, other: str) -> None:
    build_index(kb, Hashed(), tmp_path / "index")
    with pytest.raises(IntegrityError, match=other) as caught:
        open_index_artefact(tmp_path / "index", IndexOrigin.of(kb, encoder, kind))
    assert caught.value.code == "index-mismatch"


@pytest.mark.usefixtures("never_read")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data + b"\x00",
        lambda data: b"",
        lambda data: data[:3],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    ],
)
def test_rejects_file_unlike_its_manifest(kb: KnowledgeBase, tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    build_index(kb, Hashed(), tmp_path / "index")
    path = file_of(tmp_path / "index")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_index_artefact(tmp_path / "index")


def flat(count: int = 30, width: int = WIDTH, index: Any = None) -> bytes:
    index = index or faiss().IndexFlatIP(width)
    index.add(np.zeros((count, width), dtype=np.float32))
    return bytes(faiss().serialize_index(index).tobytes())


@pytest.mark.usefixtures("never_read")
@pytest.mark.parametrize(
    ("data", "changes"),
    [
        (lambda: flat(29), {}),
        (lambda: flat(width=8), {}),
        (lambda: flat(), {"names": 31}),
        (lambda: flat(), {"width": 15}),
        (lambda: flat(), {"kind": "sq8"}),
        (lambda: flat(), {"kind": "magic"}),
        (lambda: flat(), {"metric": "l2"}),
        (lambda: flat(), {"more": 1}),
        (lambda: flat(), {"metric": None}),
        (lambda: flat(index=faiss().IndexFlatL2(WIDTH)), {}),
        (lambda: flat()[:-4], {}),
        (lambda: flat() + b"\x00\x00\x00\x00", {}),
        (lambda: b"", {}),
        (lambda: b"IxFI", {}),
    ],
)
def test_rejects_file_unlike_its_origin(
    kb: KnowledgeBase, tmp_path: Path, data: Callable[[], bytes], changes: dict[str, Any]
) -> None:
    """Digests do not help here: an attacker can recompute them for a changed file."""
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_index_artefact(republish(kb, tmp_path / "index", data(), **changes))


@pytest.mark.usefixtures("never_read")
def test_rejects_codes_of_wrong_length(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = flat()
    at = len(data) - 30 * WIDTH * 4 - 8
    assert struct.unpack_from("<Q", data, at) == (30 * WIDTH,)
    for claimed in (0, 30 * WIDTH - 1, 30 * WIDTH + 1, 2**62):
        spoilt = data[:at] + struct.pack("<Q", claimed) + data[at + 8 :]
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            open_index_artefact(republish(kb, tmp_path / "index", spoilt))


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq", "pq"])
def test_changed_numbers_never_give_invalid_ids(kb: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    """After any change of a number, the file is rejected, or the search still returns valid name ids."""
    build_index(kb, Hashed(), tmp_path / "good", kind)
    data, origin = file_of(tmp_path / "good").read_bytes(), IndexOrigin.of(kb, Hashed(), kind)
    wanted, refused = Hashed().encode(["a"]), 0
    for at in range(37, len(data) - 4, 4):
        spoilt = np.frombuffer(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :], dtype=np.uint8)
        try:
            index = Index([IndexPart(0, 30, artefact_module._read(spoilt, origin, 30, ""))], origin, "", spoilt)
            ids = index.search(wanted, 5)[1]
        except IntegrityError:
            refused += 1
            continue
        assert -1 <= ids.min() <= ids.max() < 30
    assert refused > 5


@pytest.mark.parametrize("vectors", [None, b"", bytes(30 * WIDTH * 2 - 2), bytes(30 * WIDTH * 2 + 2)])
def test_rejects_wrong_number_of_vectors(kb: KnowledgeBase, tmp_path: Path, vectors: bytes | None) -> None:
    build_index(kb, Hashed(), tmp_path / "good", "ivfpq")
    with staging(tmp_path / "index") as stage:
        for name, data in (("index.faiss", file_of(tmp_path / "good").read_bytes()), ("vectors.f16", vectors)):
            if data is not None:
                with stage.file(name) as file:
                    file.write(data)
        config = IndexOrigin.of(kb, Hashed(), "ivfpq").model_dump(mode="json")
        stage.publish(tmp_path / "index", "index", 1, Record(config, [], {}))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize("is_known_here", [True, False])
def test_checks_neighbours_on_every_open(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known_here: bool
) -> None:
    """A graph with invalid neighbours and valid digests is rejected, even if the machine has verified it before."""
    build_index(kb, Hashed(), tmp_path / "good", "hnsw")
    data = bytearray(file_of(tmp_path / "good").read_bytes())
    at = 37 + 8 + 6 * 8 + 8 + 7 * 4 + 8 + 30 * 4 + 8 + 31 * 8 + 8  # offset of the first neighbour in the graph
    struct.pack_into("<i", data, at, 30)
    republish(kb, tmp_path / "index", bytes(data), kind="hnsw")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / ("cache" if is_known_here else "other")))
    with pytest.raises(IntegrityError, match="a neighbour does not exist"):
        open_index_artefact(tmp_path / "index")


def test_restores_the_limits_of_faiss(kb: KnowledgeBase, tmp_path: Path) -> None:
    before = faiss().get_deserialization_vector_byte_limit(), faiss().get_deserialization_loop_limit()
    build_index(kb, Hashed(), tmp_path / "index")
    open_index_artefact(tmp_path / "index")
    assert (faiss().get_deserialization_vector_byte_limit(), faiss().get_deserialization_loop_limit()) == before


def test_an_index_stays_usable_when_another_is_published(kb: KnowledgeBase, tmp_path: Path) -> None:
    build_index(kb, Hashed(), tmp_path / "index")
    (part,), _, _mapped = open_index_artefact(tmp_path / "index")
    vectors = open_derived_vectors(kb, Hashed())
    for kind in ("sq8", "flat16"):
        with staging(tmp_path / "index") as stage:
            write_index(stage, tmp_path / "index", IndexOrigin.of(kb, Hashed(), kind), vectors, progress=silent)
    assert part.index.search(Hashed().encode([kb.names[3]]), 1)[1].tolist() == [[3]]
