"""What `onym.load` opens and hashes: each artefact once, each byte of a model once."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onym
from benchmarks.house.pipelines import build_pipeline, save_encoder
from onym.store.artefact import Artefact


def loading_figures(kb: Path, folder: Path) -> dict[str, object]:
    """Return how often an artefact is opened at most, and how many bytes of the model are hashed again, in one cold load."""
    model = save_encoder(folder / "encoder")
    pipeline = build_pipeline(kb, folder / "pipeline", "--linker", "dense", "--model", str(model))
    with _cold_cache(folder / "cold"), counted_opens() as opens, counted_digests() as digests:
        onym.load(pipeline).link("Fever and a heart attack.")
    sizes = {hashlib.sha256(path.read_bytes()).hexdigest(): path.stat().st_size for path in model.rglob("*") if path.is_file()}
    again = sum(size * (digests[digest] - 1) for digest, size in sizes.items() if digests[digest] > 1)
    return {"artefact_opens_per_load": max(opens.values()), "model_bytes_hashed_twice": again}


@contextmanager
def _cold_cache(folder: Path) -> Iterator[None]:
    """Be a machine that has verified nothing yet."""
    with patch.dict(os.environ, {"ONYM_CACHE": str(folder)}):
        yield


@contextmanager
def counted_opens() -> Iterator[Counter[Path]]:
    """Count how often each artefact is opened, by its folder."""
    counts: Counter[Path] = Counter()
    own = Artefact.open.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Artefact], folder: Path, *arguments: Any, **options: Any) -> Any:
        counts[Path(folder).resolve()] += 1
        return own(cls, folder, *arguments, **options)

    with patch.object(Artefact, "open", classmethod(counted)):
        yield counts


@contextmanager
def counted_digests() -> Iterator[Counter[str]]:
    """Count the SHA-256 digests that are computed, whoever does it: a file hashed twice has its digest computed twice."""
    counts: Counter[str] = Counter()
    lock, sha256, file_digest = threading.Lock(), hashlib.sha256, hashlib.file_digest

    def note(digest: str) -> str:
        with lock:
            counts[digest] += 1
        return digest

    class Counted:
        """A hash that is counted when its digest is asked for."""

        def __init__(self, data: bytes = b"", **_options: Any) -> None:
            self._hash = sha256(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._hash, name)

        def hexdigest(self) -> str:
            return note(self._hash.hexdigest())

        def digest(self) -> bytes:
            return bytes.fromhex(self.hexdigest())

    def counted_file(file: Any, name: Any, **options: Any) -> Any:
        found = file_digest(file, name, **options)
        note(found.hexdigest())
        return found

    with patch.object(hashlib, "sha256", Counted), patch.object(hashlib, "file_digest", counted_file):
        yield counts
