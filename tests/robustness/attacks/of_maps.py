"""Attacks on a knowledge base in use: its files are truncated while they are mapped, and a read ends the process (SIGBUS)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
from benchmarks.serve.running import Running

from onym.pipeline.folder import build_pipeline
from tests.robustness.attacks.rows import Outcome, Place, attack

_TRAP = """
import os
from pathlib import Path
from onym.corpora import problems

right, trap = problems.require_whole_maps, Path(os.environ["TRAP"])

def truncate_once():
    right()  # the sizes are checked before each batch, and the files are truncated after that
    if trap.exists():
        trap.unlink()
        for path in trap.with_name("kb").rglob("*"):
            if path.is_file() and path.suffix != ".json" and path.name != "CURRENT":
                os.truncate(path, 0)

problems.require_whole_maps = truncate_once
"""


class _Trap:
    """A copy of the knowledge base, whose files are truncated within the first batch after `set`, and a pipeline over it."""

    def __init__(self, place: Place) -> None:
        self._kb, self.pipeline, self._file = (place.folder / name for name in ("kb", "pipeline", "trap"))
        shutil.copytree(place.kb_path, self._kb)
        shutil.copytree(place.kb_path, place.folder / "whole")
        build_pipeline(self._kb, self.pipeline)
        (place.folder / "site").mkdir()
        (place.folder / "site" / "sitecustomize.py").write_text(_TRAP)  # Python runs it in every process
        paths = os.pathsep.join([str(place.folder / "site"), *filter(None, sys.path)])
        self.env: Mapping[str, str] = os.environ | {"PYTHONPATH": paths, "TRAP": str(self._file)}

    def set(self) -> None:
        self._file.touch()

    def mend(self) -> None:
        """Restore the files; raise AssertionError if they were not truncated."""
        assert not self._file.exists()
        shutil.copytree(self._kb.with_name("whole"), self._kb, dirs_exist_ok=True)

    def run(self, place: Place, *words: object) -> Outcome:
        """Run `onym`, whose knowledge base is truncated within a batch."""
        self.set()
        command = [sys.executable, "-m", "onym", *map(str, words)]
        done = subprocess.run(command, cwd=place.folder, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        self.mend()
        return Outcome(done.returncode, done.stdout, done.stderr)


def _write_notes(place: Place) -> Path:
    notes = place.folder / "notes.jsonl"
    notes.write_text('{"id": "1", "text": "High fever."}\n')
    return notes


@attack("the files of a knowledge base are truncated within a batch of onym link", has_succeeded=False)
def kb_truncated_under_link(place: Place) -> None:
    trap, links = _Trap(place), place.folder / "links.jsonl"
    words = ("link", _write_notes(place), "--pipeline", trap.pipeline, "-o", links, "--force")
    links.write_text("earlier\n")
    assert trap.run(place, *words).status == -signal.SIGBUS
    assert links.read_text() == "earlier\n"
    assert place.onym(*words).status == 0
    assert not list(place.folder.glob(".*links*"))


@attack("the files of a knowledge base are truncated within a batch of onym batch run", has_succeeded=False)
def kb_truncated_under_batch(place: Place) -> None:
    trap, out = _Trap(place), place.folder / "out"
    assert place.onym("batch", "plan", _write_notes(place), "--pipeline", trap.pipeline, "-o", out).status == 0
    trap.run(place, "batch", "run", out, "--workers", "1").require_refused("artefact-corrupt")
    assert not list(out.glob("shards/[!.]*"))
    assert place.onym("batch", "run", out, "--workers", "1").status == 0
    assert not list(out.glob("shards/.*"))
    assert place.onym("batch", "verify", out).status == 0


@attack("the files of a knowledge base are truncated within a request, and come back: onym serve", has_succeeded=False)
def kb_truncated_under_serve(place: Place) -> None:
    trap = _Trap(place)
    service = Running(trap.pipeline, place.folder / "log", "--workers", "1", env=trap.env)
    try:
        service.wait_until_ready()
        right = httpx.post(f"{service.url}/v1/link", json={"text": "High fever."}).json()
        trap.set()
        answer = httpx.post(f"{service.url}/v1/link", json={"text": "heart attack"})  # no answer in memory
        assert answer.status_code == 503, answer.text
        assert "serve-worker-died" in answer.text
        trap.mend()
        service.wait_until_ready()
        assert f"died with status {-signal.SIGBUS}" in service.read_log()
        assert httpx.post(f"{service.url}/v1/link", json={"text": "High fever."}).json() == right
    finally:
        service.stop()
