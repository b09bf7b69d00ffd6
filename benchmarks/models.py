"""Where the real models are: each is fetched once, by the script in `ONYM_MODELS`, and kept in the cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from onym.store.cache import cache_folder


def model_folder(name: str) -> Path:
    """Return the folder of a model, an ordinary one of Hugging Face; fetch it if it was not fetched before."""
    kept = cache_folder() / "models" / name
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            _fetch(name, Path(folder) / name)
            with suppress(OSError):  # another process was quicker
                (Path(folder) / name).rename(kept)
    return kept


def _fetch(name: str, dest: Path) -> None:
    script = Path(os.environ.get("ONYM_MODELS") or Path(__file__).parents[1] / ".." / "shared" / "models").resolve() / "get"
    if not script.is_file():
        sys.exit(f"this benchmark needs a real model: set ONYM_MODELS to the folder of the script that fetches it ({script})")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(["bash", str(script), name, str(dest)], check=True, stdout=sys.stderr, env={**os.environ, "PATH": path})
