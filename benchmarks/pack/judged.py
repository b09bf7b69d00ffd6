"""Whether hostile packs are refused: by a code of Onym's, without a trace in the cache directory or around it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

import onym
from benchmarks.own_cache import own_cache
from benchmarks.pack.hostile import TEXT, Hostile
from onym.errors import InternalError, OnymError

_EXPECTED = ["mesh:D009203", "mesh:D006973", "mesh:D005334"]


def refused(cases: Sequence[Hostile], good: Path, folder: Path) -> int:
    """Return how many packs were refused and left nothing; the others are named on stderr.

    The sound pack is accepted before and after them, or this fails.
    """
    folder.mkdir()
    count = 0
    _require_accepted(good, folder.with_name("accepted-before"))
    before = _left(folder)
    with own_cache(folder / "cache"):
        for number, case in enumerate(cases):
            path = folder / f"{number}.onymp"
            path.write_bytes(case.data)
            answer = _answer(path)
            path.unlink()
            left = _left(folder) - before
            if answer or left:
                print(f"{case.what}: {answer or f'left {sorted(left)[:3]}'}", file=sys.stderr)
                rmtree(folder / "cache" / "packs", ignore_errors=True)
            else:
                count += 1
    _require_accepted(good, folder / "cache")
    return count


def _answer(path: Path) -> str:
    """Return what became of a pack, if it was not refused as it should be."""
    try:
        onym.load(path).link(TEXT)
    except InternalError as e:
        return f"[{e.code}] {e.what}"
    except OnymError:
        return ""
    except BaseException as e:  # whatever else is a defect
        return f"{type(e).__name__}: {e}"
    return "accepted"


def _left(folder: Path) -> set[str]:
    """Return all files and folders of packs and pipelines, and what is outside of the cache directory."""
    notes = ("cache/verified", "cache/digests")  # what was found out about files, by the digests of their paths
    empty = {"cache", "cache/packs"}
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return {name for name in found if name not in empty and not name.startswith(notes)} | {
        path.name for path in folder.parent.iterdir()
    }


def _require_accepted(good: Path, cache: Path) -> None:
    with own_cache(cache):
        answers = [link.concept_id for link in onym.load(good).link(TEXT).links]
    if answers != _EXPECTED:
        sys.exit(f"the sound pack answers {answers}")
