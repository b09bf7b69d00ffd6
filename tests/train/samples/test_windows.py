"""Windows of documents, as a model is shown them."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.models.tokens import Tokenizer
from onym.train.samples.windows import TrainingWindows
from onym.types import Document, Mention

TEXT = "Fever came. Then a heart attack, and later on fevers again."
MENTIONS = (
    Mention(0, 5, "Fever", ("mesh:D005334",)),
    Mention(19, 31, "heart attack", ("mesh:D009203",)),
    Mention(46, 52, "fevers", ("mesh:D0",)),
    Mention(53, 58, "again"),
)
DOC = Document("1", TEXT, MENTIONS)


@pytest.fixture
def tokens(encoder: Path) -> Tokenizer:
    return Tokenizer.open(encoder)


def test_mentions_are_in_the_windows_that_hold_them_whole(tokens: Tokenizer) -> None:
    windows = TrainingWindows([DOC], [(DOC, MENTIONS[1]), (DOC, MENTIONS[0])], tokens, room=16, overlap=8)
    found: dict[str, set[int]] = {}
    for window in windows.__getitems__(range(windows.epoch)):
        for first, last, number in window.spans:
            assert window.window.start <= first < last <= window.window.end
            surface = TEXT[window.tokens.starts[first] : window.tokens.ends[last - 1]]
            found.setdefault(surface, set()).add(number)
    assert found == {"Fever": {1}, "heart attack": {0}, "fevers": {-1}}, "without an id nothing is to be linked"


def test_windows_know_nothing_of_mentions(tokens: Tokenizer) -> None:
    bare = Document("1", TEXT)
    one, other = (TrainingWindows([doc], [], tokens, room=12, overlap=4) for doc in (DOC, bare))
    assert [window.window for window in one.__getitems__(range(one.epoch))] == [
        window.window for window in other.__getitems__(range(other.epoch))
    ]
    assert one.epoch > 2


def test_each_window_is_seen_once_in_an_epoch(tokens: Tokenizer) -> None:
    docs = [Document(str(number), TEXT * number) for number in range(1, 5)]
    windows = TrainingWindows(docs, [], tokens, room=12, overlap=4, count=7, seed=3)
    seen = [(window.doc.id, window.window.start) for window in windows.__getitems__(range(windows.epoch))]
    assert len(seen) == len(set(seen)) == windows.epoch
    assert len(windows) == 7
