from __future__ import annotations

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.methods.dense.index.kinds import AUTO, KINDS, code_bits, codes_per_vector, faiss, find_kind, kind_for, lists_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3, 50, 400])
def test_kinds_train_on_few_vectors_and_use_inner_product(kind: str, count: int, capfd: pytest.CaptureFixture[str]) -> None:
    vectors = np.random.default_rng(0).standard_normal((count, 24)).astype(np.float32)
    index = KINDS[kind].make(24, count)
    assert index.is_trained == (not KINDS[kind].sample)
    index.train(vectors)
    index.add(vectors)
    assert (index.ntotal, index.metric_type) == (count, faiss().METRIC_INNER_PRODUCT)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_begins_with_the_kinds_mark(kind: str) -> None:
    index = KINDS[kind].make(24, 100)
    index.train(np.random.default_rng(0).standard_normal((100, 24)).astype(np.float32))
    assert faiss().serialize_index(index)[:4].tobytes() == KINDS[kind].fourcc


@pytest.mark.parametrize("count", [0, 1, 39, 100, 10_000, 10**7])
def test_trains_no_more_centroids_than_vectors(count: int) -> None:
    assert 1 <= lists_of(count) <= max(1, count)
    assert 1 <= code_bits(count) <= 8
    assert 2 ** code_bits(count) <= max(2, count)


@pytest.mark.parametrize("width", [1, 7, 16, 312, 384, 768, 1024])
def test_codes_divide_the_width(width: int) -> None:
    assert all(width % codes_per_vector(width, group) == 0 for group in (4, 8))


def test_an_unknown_kind() -> None:
    with pytest.raises(ConfigError, match="index-unknown"):
        find_kind("magic")


def test_auto_is_flat_for_few_names() -> None:
    assert [kind_for(AUTO, names).name for names in (0, 1, 100_000)] == ["flat"] * 3


def test_auto_is_always_a_known_kind() -> None:
    for exponent in range(33):
        assert kind_for(AUTO, 2**exponent) in KINDS.values()
    assert [kind_for(kind, 2**32).name for kind in KINDS] == list(KINDS)
    with pytest.raises(ConfigError, match="index-unknown") as caught:
        kind_for("magic", 1)
    assert "auto, flat" in caught.value.fix
