"""Fixtures for training tests: one thread, a tiny model with its tokenizer, a tiny corpus and its knowledge base."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from onym.datasets import prepare
from tests.support.models import save_encoder, save_model
from tests.threads import one_thread
from tests.train.tiny import CORPUS, pubtator


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="package", autouse=True)
def _own_environment() -> Iterator[None]:
    """Restore the environment variables, which Trainer and accelerate change."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a BART of one layer and random weights, and its tokenizer."""
    return save_model(tmp_path_factory.mktemp("train") / "tiny-bart")


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a BERT of two layers and random weights, and its tokenizer."""
    return save_encoder(tmp_path_factory.mktemp("train") / "tiny-bert")


@pytest.fixture(scope="session")
def kb_folder(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> Path:
    """Return a copy of the tiny knowledge base, because tries are cached inside its folder."""
    return shutil.copytree(tiny_kb, tmp_path_factory.mktemp("train") / "kb")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a prepared dataset with mentions of the three concepts, in train, dev and test."""
    folder = tmp_path_factory.mktemp("train")
    (folder / "ncbi_disease").mkdir()
    for split, word in (("train", "train"), ("dev", "develop"), ("test", "test")):
        (folder / "ncbi_disease" / f"NCBI{word}set_corpus.txt").write_text(pubtator(split, CORPUS[split]))
    return prepare("ncbi-disease", folder, folder / "prepared").folder
