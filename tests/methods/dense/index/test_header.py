from __future__ import annotations

import numpy as np
import pytest

from onym.methods.dense.index.guard import SIZE, Header, make_stream_head
from onym.methods.dense.index.kinds import KINDS, faiss


@pytest.mark.parametrize("kind", KINDS)
def test_the_head_of_each_kind(kind: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((100, 24)).astype(np.float32)
    index = KINDS[kind].make(24, 100)
    untaught = Header.parse(faiss().serialize_index(index)[:SIZE].tobytes())
    assert untaught == Header(KINDS[kind].fourcc, 24, 0, is_ready=not KINDS[kind].sample)
    index.train(vectors)
    index.add(vectors)
    head = Header.parse(faiss().serialize_index(index)[:SIZE].tobytes())
    assert head == Header(KINDS[kind].fourcc, 24, 100, is_ready=True)


def test_another_metric_is_not_ready() -> None:
    head = Header.parse(faiss().serialize_index(faiss().IndexFlatL2(8)).tobytes())
    assert head is not None
    assert not head.is_ready


@pytest.mark.parametrize("size", [0, 4, SIZE - 1])
def test_truncated_header(size: int) -> None:
    assert Header.parse(b"\x00" * size) is None


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.is_streamed])
def test_streamed_file_equals_that_of_faiss(kind: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((100, 24)).astype(np.float32)
    index = KINDS[kind].make(24, 100)
    index.train(vectors)
    empty, codes = faiss().serialize_index(index).tobytes(), index.sa_encode(vectors).tobytes()
    index.add(vectors)
    head = make_stream_head(empty, 100, index.sa_code_size(), 4 if kind == "flat" else 1)
    assert head + codes == faiss().serialize_index(index).tobytes()
