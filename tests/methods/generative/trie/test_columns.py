from __future__ import annotations

import numpy as np
import pytest

from onym.methods.generative.trie.packed import MAX_NAME_TOKENS, Columns, token_type


@pytest.mark.parametrize(("vocabulary", "bits"), [(1, 16), (50_265, 16), (65_536, 16), (65_537, 32), (2**31, 32)])
def test_the_smallest_type_that_holds_the_last_token(vocabulary: int, bits: int) -> None:
    assert token_type(vocabulary).itemsize == bits // 8
    assert vocabulary - 1 <= np.iinfo(token_type(vocabulary)).max


def test_a_node_costs_sixteen_bytes_and_a_name_four() -> None:
    assert Columns._fields == ("tokens", "first", "low", "high", "height", "names")


def test_the_maximal_name_and_its_end_fit_into_16_bits() -> None:
    assert np.iinfo(np.uint16).max == MAX_NAME_TOKENS + 1
