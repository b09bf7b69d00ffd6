"""Batches: what the encoder reads, what the decoder is given, and where there is a loss."""

from __future__ import annotations

import torch

from onym.train.generative.collate import NameCollate
from onym.train.samples.base import Pair, Sample

COLLATE = NameCollate(start=5, eos=2, pad=1)
ONE, TWO = Sample([0, 7, 2], [8], [9, 10]), Sample([0, 6, 6, 6, 2], [11, 12, 13], [14])


def test_a_batch() -> None:
    batch = COLLATE([ONE, TWO])
    assert batch["input_ids"].tolist() == [[0, 7, 2, 1, 1], [0, 6, 6, 6, 2]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert batch["decoder_input_ids"].tolist() == [[5, 8, 9, 10, 1], [5, 11, 12, 13, 14]]
    assert batch["labels"].tolist() == [[-100, 9, 10, 2, -100], [-100, -100, -100, 14, 2]]
    assert {value.dtype for value in batch.values()} == {torch.int64}


def test_a_label_is_the_token_after() -> None:
    """At each labelled place the decoder has read all that comes before, and nothing of the target."""
    batch = COLLATE([ONE, TWO])
    for sample, ids, labels in zip((ONE, TWO), batch["decoder_input_ids"].tolist(), batch["labels"].tolist(), strict=True):
        whole = [*sample.prompt, *sample.name, 2]
        labelled = [position for position, label in enumerate(labels) if label != -100]
        assert [labels[position] for position in labelled] == [*sample.name, 2]
        assert all([*ids[1 : position + 1], labels[position]] == whole[: position + 1] for position in labelled)


def test_without_a_prompt_the_first_token_is_learnt() -> None:
    assert COLLATE([Sample([0, 2], [], [9])])["labels"].tolist() == [[9, 2]]


def test_a_source_that_holds_the_token_for_filling_is_read() -> None:
    assert COLLATE([Sample([0, 1, 2], [], [9])])["attention_mask"].tolist() == [[1, 1, 1]]


def test_pairs_are_two_rows_of_one_source() -> None:
    batch = COLLATE.pairs([Pair([0, 7, 2], [8], [9], [10, 11], (-1.5, -2.5)), Pair([0, 2], [], [12], [13])])
    assert batch["input_ids"].tolist() == [[0, 7, 2], [0, 7, 2], [0, 2, 1], [0, 2, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0]]
    assert batch["labels"].tolist() == [[-100, 9, 2, -100], [-100, 10, 11, 2], [12, 2, -100, -100], [13, 2, -100, -100]]
    assert batch["reference"].tolist() == [[-1.5, -2.5], [0.0, 0.0]]


def test_a_name_longer_than_the_model_can_read_is_learnt_as_far_as_it_can() -> None:
    batch = NameCollate(5, 2, 1, max_length=4)([Sample([0, 2], [8], [9, 10, 11, 12])])
    assert batch["decoder_input_ids"].tolist() == [[5, 8, 9, 10]]
    assert batch["labels"].tolist() == [[-100, 9, 10, 11]]
