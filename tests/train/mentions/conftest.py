"""A corpus in which some names are mentions, and some are words."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from tests.train.tiny import FEVER, HEART, pubtator

SPLITS: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "train": [
        ("A fever was seen.", [("fever", FEVER)]),
        ("A heart attack was seen.", [("heart attack", HEART)]),
        ("The team ran to fever pitch.", []),
        ("They came to fever pitch.", []),
        ("A fever was treated.", [("fever", FEVER)]),
    ],
    "dev": [("A fever was seen, close to fever pitch.", [("fever", FEVER)])],
    "test": [("A fever.", [("fever", FEVER)])],
}


@pytest.fixture(scope="package")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the corpus, prepared."""
    folder = tmp_path_factory.mktemp("mentions")
    (folder / "ncbi_disease").mkdir()
    for split, word in (("train", "train"), ("dev", "develop"), ("test", "test")):
        (folder / "ncbi_disease" / f"NCBI{word}set_corpus.txt").write_text(pubtator(split, SPLITS[split]))
    return prepare("ncbi-disease", folder, folder / "prepared").folder
