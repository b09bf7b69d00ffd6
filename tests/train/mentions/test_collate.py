"""What a regression learns from."""

from __future__ import annotations

from pathlib import Path

from onym.detect.classifier import row_of
from onym.train.mentions.collate import occurrences_of
from onym.train.mentions.context import MentionsContext
from tests.train.mentions.made import TYPES, config


def test_a_name_is_a_mention_where_the_corpus_has_one(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder))
    found = occurrences_of(context, "ncbi-disease", context.corpora[0].documents, "one")
    spans = [
        (text[span.start : span.end], bool(is_mention))
        for (text, span), is_mention in zip(found.documents, found.is_mention, strict=True)
    ]
    wanted = [("fever", False), ("fever", False), ("fever", True), ("fever", True), ("heart attack", True)]
    assert sorted(spans) == wanted
    assert sum(row_of("name=fever|one") in rows for rows in found.rows) == 4
    assert found.gold == 3


def test_types_that_a_corpus_does_not_annotate_are_left_out(ambiguous: Path, kb_folder: Path) -> None:
    context = MentionsContext(config(ambiguous, kb_folder, data={"types": dict.fromkeys(TYPES, "Phenotype")}))
    assert not occurrences_of(context, "ncbi-disease", context.corpora[0].documents, "").documents
