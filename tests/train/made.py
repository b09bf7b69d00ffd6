"""Checks that apply to every trained model folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.methods.generative.linker import GenerativeLinker
from onym.types import Document, Mention
from tests.support.linking import link_with

DOC = Document("1", "He had a heart attack, then fever.", (Mention(9, 21, "heart attack"), Mention(28, 33, "fever")))
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle")


def open_linker(folder: Path, kb_folder: Path) -> GenerativeLinker:
    """Open a published model and check that it links."""
    linker = GenerativeLinker.from_pretrained(folder, KnowledgeBase.open(kb_folder), dtype="fp32")
    (linked,) = link_with(linker, [DOC])
    assert all(link.candidates for link in linked.links)
    return linker


def record(folder: Path) -> dict[str, Any]:
    """Return the training record, after checking that the folder has no pickle files."""
    assert not [path.name for path in folder.rglob("*") if path.suffix in PICKLES]
    found: dict[str, Any] = json.loads((folder / "training.json").read_text())
    return found
