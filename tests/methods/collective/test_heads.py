"""Tests of the heads of collective models, compared with the equations term by term."""

from __future__ import annotations

import pytest
import torch

from onym.methods.collective.model import Heads

SPANS = [(0, 1), (0, 3), (2, 5), (4, 6)]


def states(tokens: int = 6, width: int = 4) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(tokens, width, dtype=torch.float64)


def spans() -> tuple[torch.Tensor, torch.Tensor]:
    firsts, lasts = torch.tensor(SPANS).unbind(1)
    return firsts, lasts


def test_span_score_sums_start_end_and_inside() -> None:
    heads, token_states = Heads(4, 4, "mean", "spans").double(), states()
    weight, bias = heads.span.weight, heads.span.bias
    for (first, last), found in zip(SPANS, heads.span_scores(token_states, *spans()), strict=True):
        start, end = weight[0] @ token_states[first] + bias[0], weight[1] @ token_states[last - 1] + bias[1]
        inside = sum((weight[2] @ token_states[token] + bias[2] for token in range(first, last)), start=torch.tensor(0.0))
        assert found.item() == pytest.approx((start + end + inside).item(), abs=1e-9)


def test_span_score_with_hidden_layer() -> None:
    heads, token_states = Heads(4, 4, "mean", "spans", labels=2, hidden=3).double(), states()
    start, end, inside = heads.span.weight.chunk(3)
    bias = sum(heads.span.bias.chunk(3), start=torch.zeros(3))
    for (first, last), found in zip(SPANS, heads.span_scores(token_states, *spans()), strict=True):
        hidden = start @ token_states[first] + end @ token_states[last - 1] + inside @ token_states[first:last].mean(0) + bias
        torch.testing.assert_close(found, heads.label.weight @ torch.nn.functional.gelu(hidden) + heads.label.bias)


def test_each_label_has_a_score() -> None:
    heads, token_states = Heads(4, 4, "mean", "spans", labels=2).double(), states()
    one = Heads(4, 4, "mean", "spans").double()
    one.span.weight.data, one.span.bias.data = heads.span.weight[1::2], heads.span.bias[1::2]
    found = heads.span_scores(token_states, *spans())
    torch.testing.assert_close(found[:, 1:], one.span_scores(token_states, *spans()))


def test_span_vector_from_end_tokens() -> None:
    heads, token_states = Heads(4, 3, "ends", "none").double(), states()
    for (first, last), found in zip(SPANS, heads.vectors(token_states, *spans()), strict=True):
        wanted = heads.ends.weight @ torch.cat([token_states[first], token_states[last - 1]]) + heads.ends.bias
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("dim", [4, 3])
def test_span_vector_is_mean_of_tokens(dim: int) -> None:
    heads, token_states = Heads(4, dim, "mean", "none").double(), states()
    for (first, last), found in zip(SPANS, heads.vectors(token_states, *spans()), strict=True):
        mean = token_states[first:last].mean(0)
        torch.testing.assert_close(found, mean if dim == 4 else heads.mean(mean))


def test_end_weights_are_initialised_to_the_mean() -> None:
    heads, token_states = Heads(4, 4, "ends", "none").double(), states()
    torch.testing.assert_close(heads.vectors(token_states, *spans())[1], (token_states[0] + token_states[2]) / 2)


def test_tag_scores_keep_the_precision_of_the_input() -> None:
    heads, token_states = Heads(4, 4, "mean", "tags").bfloat16(), states()
    found = heads.tag_scores(token_states)
    assert (found.dtype, found.shape) == (torch.float64, (6, 3))
    torch.testing.assert_close(found[1], heads.tag.weight.double() @ token_states[1] + heads.tag.bias.double())
    assert {name.partition(".")[0] for name, _ in heads.named_parameters()} == {"tag"}
