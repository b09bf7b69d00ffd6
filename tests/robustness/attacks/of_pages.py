"""Attacks on the pages and plots that commands write: scripts in names, ids, types, texts and names of files."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from tests.robustness.attacks.rows import Place, attack
from tests.robustness.serve.browser import Watched, open_browser
from tests.robustness.serve.hostile_pages import payloads
from tests.support.models import save_encoder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FILES = ("<img src=x onerror=pwned()>.jsonl", "';pwned();\"<svg onload=pwned()>.jsonl")
_MODEL = "<script>pwned()</script>".replace("/", "\u2215")


def _write_release(path: Path, texts: Sequence[str]) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "name", "synonyms", "definition", "types"])
        for number, text in enumerate(texts):
            synonyms = "|".join(f"{text} {number} {each}" for each in "abcde")  # a plot needs five names
            rows.writerow([f"evil:{number}{text}", text, synonyms, text, text])


def _write_corpus(path: Path, texts: Sequence[str]) -> None:
    """Write documents whose ids, surfaces and types are payloads; every second surface has a wrong concept."""
    with path.open("w") as file:
        for number, text in enumerate(texts):
            surface, right = f"{text} {number} a", number - number % 2
            mention = {"start": 0, "end": len(surface), "surface": surface, "type": text}
            mention["concept_ids"] = [f"evil:{right}{texts[right]}"]
            print(json.dumps({"id": f"{number} {text}", "text": surface, "mentions": [mention]}), file=file)


def _require_quiet(browser: Browser, page: Path) -> None:
    """Raise AssertionError unless the page has payloads, runs none of them and loads nothing."""
    assert "pwned()" in page.read_text() or page.suffix == ".svg"  # whose letters are paths
    watched = Watched(browser, page.as_uri())
    assert watched.count_executed() == 0, page.name
    assert set(watched.external) == {page.as_uri()}, page.name
    watched.close()


@attack(
    "ids, names, types, texts and file names are scripts: evaluate, compare, show, plot",
    has_succeeded=False,
    needs_browser=True,
)
def scripts_in_pages(place: Place) -> None:
    texts, folder = payloads(is_quick=False)[::3], place.folder
    _write_release(folder / "evil.csv", texts)
    build_kb(Recipe.of({"sources": [{"path": "evil.csv"}]}), folder / "kb", root=folder)
    _write_corpus(folder / "mine.jsonl", texts)
    save_encoder(folder / _MODEL)
    on = ("--dataset", "mine", "--split", "test", "--kb", "kb")
    for command in (
        ("dataset", "prepare", "--name", "mine", "mine.jsonl", "--kb", "kb"),
        ("evaluate", *on, "--linker", "exact", "--save", _FILES[0]),
        ("evaluate", *on, "--linker", "tfidf", "--save", _FILES[1]),
        ("evaluate", _FILES[0], *on, "--report", "linker.html"),
        ("compare", *_FILES, *on, "--report", "two.html"),
        ("show", "mine.jsonl", "-o", "show.html"),
        ("plot", "names", "--kb", "kb", "--model", _MODEL, "-o", "names.svg"),
    ):
        done = place.onym(*command)
        assert done.status == 0, done
    with open_browser() as browser:
        for name in ("linker.html", "two.html", "show.html", "names.svg"):
            _require_quiet(browser, folder / name)
