"""Losses are found by name, with the score that they were published with, and wrong options are refused."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from onym.errors import ConfigError
from onym.train.losses.cpo import cpo
from onym.train.losses.dpo import dpo
from onym.train.losses.named import LOSSES, loss_named
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import PreferenceLoss
from onym.train.losses.simpo import simpo
from tests.train.losses.closed import drawn_pairs


def test_each_has_the_score_of_its_paper() -> None:
    assert {name: loss_named(name).score for name in LOSSES} == {"dpo": "sum", "cpo": "sum", "simpo": "mean", "pairwise": "sum"}


def test_each_says_what_it_needs() -> None:
    assert [name for name in LOSSES if loss_named(name).needs_reference] == ["dpo"]
    assert [name for name in LOSSES if loss_named(name).needs_cross_entropy] == ["cpo"]
    assert not loss_named("cpo", alpha=0).needs_cross_entropy


def test_each_is_the_function_of_its_name_with_its_options() -> None:
    pairs, likelihood = drawn_pairs(0), torch.tensor(1.5)
    expected = {
        "dpo": dpo(pairs, beta=0.3, smoothing=0.1),
        "cpo": cpo(pairs, likelihood, beta=0.3, smoothing=0.1),
        "simpo": simpo(pairs, beta=0.3, smoothing=0.1),
        "pairwise": pairwise(pairs, beta=0.3),
    }
    for name in LOSSES:
        options = {"beta": 0.3} if name == "pairwise" else {"beta": 0.3, "smoothing": 0.1}
        loss: PreferenceLoss = loss_named(name, **options)
        torch.testing.assert_close(loss(pairs, likelihood), expected[name])
    torch.testing.assert_close(loss_named("cpo", alpha=0)(pairs), cpo(pairs, alpha=0))


def test_options_are_all_reported_and_cannot_be_changed() -> None:
    loss = loss_named("cpo", beta=0.2)
    assert dict(loss.options) == {"beta": 0.2, "alpha": 1.0, "smoothing": 0.0}
    with pytest.raises(TypeError):
        loss.options["beta"] = 1.0  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.name = "dpo"  # type: ignore[misc]


def test_what_is_needed_and_not_passed_is_an_error() -> None:
    with pytest.raises(ValueError, match="cross-entropy"):
        loss_named("cpo")(drawn_pairs(0))


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("kto", {}, "no loss is named 'kto'"),
        ("", {}, "no loss is named ''"),
        ("dpo", {"gamma": 0.5}, "no option 'gamma'"),
        ("pairwise", {"smoothing": 0.1}, "no option 'smoothing'"),
        ("cpo", {"cross_entropy": 1.0}, "no option 'cross_entropy'"),
        ("dpo", {"beta": 0.0}, "beta is 0.0"),
        ("dpo", {"beta": -0.1}, "beta is -0.1"),
        ("dpo", {"beta": math.inf}, "beta is inf"),
        ("dpo", {"beta": math.nan}, "beta is nan"),
        ("dpo", {"smoothing": 0.5}, "smoothing is 0.5"),
        ("cpo", {"alpha": -1.0}, "alpha is -1.0"),
        ("simpo", {"gamma": math.nan}, "gamma is nan"),
    ],
)
def test_what_cannot_be_is_refused(name: str, options: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loss_named(name, **options)
    assert caught.value.code == "config-invalid"
    assert says in caught.value.what
    assert caught.value.fix
