"""An earlier commit of Onym in an environment of its own, kept in the cache. It shares the dependencies of this environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from onym.store.cache import cache_folder

ROOT = Path(__file__).parents[2]
_READY = "ready"


class NotReachableError(Exception):
    """The commit or what it is built with cannot be had: a shallow clone, or no package index."""


def python_of(commit: str) -> Path:
    """Return an interpreter whose Onym is that of a commit; run it with `-I`, so that it sees no other."""
    folder = cache_folder() / "benchmarks" / f"onym-{commit}"
    python = folder / "bin" / "python"
    if not (folder / _READY).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        source = folder / "onym.tar.gz"
        _run("git", "-C", ROOT, "archive", "--prefix=onym/", "-o", source, commit)
        venv.create(folder, with_pip=False, symlinks=True)
        _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", source)
        _share_dependencies(folder, python)
        (folder / _READY).touch()
    return python


def _share_dependencies(folder: Path, python: Path) -> None:
    """Let an environment find what is installed in this one after what is installed in itself: only Onym differs."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(own).is_relative_to(folder):
        msg = f"{own} is not in the environment that was made"
        raise NotReachableError(msg)
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (Path(own) / "dependencies.pth").write_text("".join(f"{path}\n" for path in paths))


def _run(*command: object) -> None:
    try:
        subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    except OSError as e:
        raise NotReachableError(str(e)) from e
    except subprocess.CalledProcessError as e:
        last = (e.stderr.strip().splitlines() or ["no message"])[-1]
        msg = f"{command[0]}: {last}"
        raise NotReachableError(msg) from e
