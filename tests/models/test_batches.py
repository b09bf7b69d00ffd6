from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onym.models.encoder import batches


@given(st.lists(st.integers(0, 30)), st.integers(1, 100))
def test_each_text_is_in_one_batch_within_budget(lengths: list[int], budget: int) -> None:
    found = [batch.tolist() for batch in batches(np.array(lengths, dtype=np.int64), budget)]
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    padded = [max(lengths[row] for row in batch) * len(batch) for batch in found]
    assert all(size <= budget or len(batch) == 1 for size, batch in zip(padded, found, strict=True))
    read = [lengths[row] for batch in found for row in batch]
    assert read == sorted(lengths, reverse=True)


def test_texts_of_equal_length_keep_their_order() -> None:
    assert [batch.tolist() for batch in batches(np.array([5] * 4), 10)] == [[0, 1], [2, 3]]
