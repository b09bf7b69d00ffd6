"""Two kinds of pairs, mixed evenly: nothing of either is left out or comes twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.train.samples.base import Positive
from onym.train.samples.mixed import Mixed


@dataclass(frozen=True)
class Numbered:
    """Pairs that say where they come from and at which place they stand."""

    source: str
    epoch: int = 10
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> Numbered:
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        return [Positive(self.source, "", index, (0, 1)) for index in indices]


def mixed(share: float) -> Mixed:
    return Mixed(Numbered("own"), Numbered("other"), share)


@given(share=st.floats(0, 0.99), count=st.integers(1, 300))
def test_both_in_their_order_and_the_share_is_kept(share: float, count: int) -> None:
    found = mixed(share).__getitems__(range(count))
    for source in ("own", "other"):
        indices = [pair.concept for pair in found if pair.first == source]
        assert indices == list(range(len(indices)))
    assert abs(sum(pair.first == "other" for pair in found) - share * count) < 1 + count / 1000


@given(share=st.floats(0, 0.99), indices=st.lists(st.integers(0, 10**9), max_size=9))
def test_a_pair_does_not_depend_on_its_batch(share: float, indices: list[int]) -> None:
    pairs = mixed(share)
    assert pairs.__getitems__(indices) == [pairs.__getitems__([index])[0] for index in indices]


def test_how_long_an_epoch_is() -> None:
    assert [mixed(share).epoch for share in (0, 0.5, 0.75, 1 / 3, 0.99999)] == [10, 20, 40, 15, 10_000]
    assert (len(mixed(0.5)), len(mixed(0.5).with_count(7))) == (0, 7)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_what_cannot_be_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        mixed(share)
