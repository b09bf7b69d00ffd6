"""Cached virtual environments that differ only in their Onym: that of an earlier commit, or of this working tree.

Each environment has its version of Onym first on the path, followed by the dependencies of the running environment. The earlier
commit is read from the git history; nothing is built or downloaded.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from onym.store.cache import cache_folder

ROOT = Path(__file__).parents[2]
BEFORE = "08f99fb"
"""Commit that this version is compared with."""
_SOURCE = "source"


class NotReachableError(Exception):
    """Raised if the commit cannot be read: no repository, no git, or a shallow clone."""


def command_of(commit: str = "") -> list[str]:
    """Return the beginning of a command line: Python with the Onym of a commit, by default of this working tree."""
    return [str(python_of(commit)), "-I"]  # isolated mode, because PYTHONPATH could put another Onym first


def python_of(commit: str = "") -> Path:
    """Return a Python interpreter with the Onym of a commit, by default of this working tree. Run it with `-I`."""
    folder = _environment(commit)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            made = Path(name) / "made"
            venv.create(made, with_pip=False, symlinks=True)
            if commit:
                _extract(commit, made / _SOURCE)
            _add_paths(made, [folder / _SOURCE / "src" if commit else ROOT / "src", *_dependencies()])
            with suppress(OSError):  # another process has created the folder meanwhile
                made.rename(folder)
    return folder / "bin" / "python"


def source_of(commit: str) -> Path:
    """Return the folder with the files of a commit."""
    python_of(commit)
    return _environment(commit) / _SOURCE


def _environment(commit: str) -> Path:
    """Return the folder of an environment. Its name depends on the commit, Python, the dependencies and the working tree."""
    key = repr((sys.version, ROOT, _dependencies()))
    return cache_folder() / "benchmarks" / f"onym-{commit or 'here'}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _dependencies() -> list[str]:
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))


def _extract(commit: str, dest: Path) -> None:
    archive = _git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=BytesIO(archive)) as members:
        members.extractall(dest, filter="data")


def _add_paths(environment: Path, paths: Sequence[object]) -> None:
    """Put these folders on the environment's import path, in this order."""
    (site_packages,) = environment.glob("lib/python*/site-packages")
    (site_packages / "onym.pth").write_text("".join(f"{path}\n" for path in paths), "utf-8")


def _git(*arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout
    except OSError as e:
        msg = f"git: {e}"
        raise NotReachableError(msg) from e
    except subprocess.CalledProcessError as e:
        last = (e.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        msg = f"git {arguments[0]}: {last} (a shallow clone? git fetch --unshallow)"
        raise NotReachableError(msg) from e
