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
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

from onym.store.cache import cache_folder

ROOT = Path(__file__).parents[2]


class NotReachableError(Exception):
    """Raised if a commit cannot be read: no repository, no git, or a shallow clone."""


@dataclass(frozen=True)
class Version:
    """The Onym of a commit, or, without a commit, of this working tree."""

    commit: str = ""

    @classmethod
    def of(cls, revision: str = "") -> Version:
        """Return the version of a revision; by default of `origin/main`, or else of the parent of HEAD."""
        if not revision:
            revision = "origin/main" if _git("branch", "--remotes", "--list", "origin/main") else "HEAD~1"
        return cls(_git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()[:12])

    @cached_property
    def folder(self) -> Path:
        """The folder of the environment, created on first use; its name depends on the commit, Python, and the dependencies."""
        key = repr((sys.version, ROOT, _dependencies()))
        digest = hashlib.sha256(key.encode()).hexdigest()[:8]
        folder = cache_folder() / "benchmarks" / f"onym-{self.commit or 'here'}-{digest}"
        if not folder.is_dir():
            self._create(folder)
        return folder

    @property
    def command(self) -> list[str]:
        """The beginning of a command line: Python with this version."""
        return [str(self.folder / "bin" / "python"), "-I"]  # isolated mode, because PYTHONPATH could put another Onym first

    @property
    def source(self) -> Path:
        """The folder with the files of this version."""
        return self.folder / "source" if self.commit else ROOT

    def _create(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            made = Path(name) / "made"
            venv.create(made, with_pip=False, symlinks=True)
            if self.commit:
                _extract(self.commit, made / "source")
            _add_paths(made, [folder / "source" / "src" if self.commit else ROOT / "src", *_dependencies()])
            with suppress(OSError):  # another process has created the folder meanwhile
                made.rename(folder)


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
