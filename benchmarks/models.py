"""Locate pretrained models: each is downloaded once by the script in `ONYM_MODELS`, and kept in the cache directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from onym.store.cache import cache_folder


def model_folder(name: str) -> Path:
    """Return the folder of a Hugging Face model; download it on first use."""
    kept = cache_folder() / "models" / name
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            _fetch(name, Path(folder) / name)
            with suppress(OSError):  # another process has created the folder meanwhile
                (Path(folder) / name).rename(kept)
    return kept


def _fetch(name: str, dest: Path) -> None:
    script = Path(os.environ.get("ONYM_MODELS") or Path(__file__).parents[1] / ".." / "shared" / "models").resolve() / "get"
    if not script.is_file():
        sys.exit(f"pretrained model needed: set ONYM_MODELS to the folder with the download script ({script} not found)")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(["bash", str(script), name, str(dest)], check=True, stdout=sys.stderr, env={**os.environ, "PATH": path})
