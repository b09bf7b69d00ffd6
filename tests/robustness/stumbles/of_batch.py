"""Stumbles of exports and batch runs: leftovers of refused runs, private runs, and large files."""

from __future__ import annotations

from tests.robustness.stumbles.rows import Scene, stumble


@stumble("onym link notes -o note_nlp.csv --nlp-date 2026-01-31")
def refused_omop_run_does_not_block_the_next(scene: Scene) -> str:
    notes = scene.folder / "notes"
    notes.mkdir()
    (notes / "ward7.txt").write_text("Type 2 diabetes.")
    (notes / "scan.bin").write_bytes(b"\xff\xfe")
    words = ("link", "notes", "-o", "note_nlp.csv", "--nlp-date", "2026-01-31")
    assert scene.onym(*words).status == 3
    left = [path.name for path in scene.folder.iterdir() if path != notes]
    assert not left, f"the refused run left {left}"
    assert scene.onym(*words, "--note-keys", "keys.csv").status == 5
    assert (scene.folder / "note_nlp.csv").exists()
    return "the refused run leaves nothing behind, and the next run writes note_nlp.csv"


@stumble("onym batch plan notes -o run --private")
def private_run_and_its_exports_are_closed_to_others(scene: Scene) -> str:
    notes = scene.folder / "notes"
    notes.mkdir()
    (notes / "patient Smith.txt").write_text("Type 2 diabetes.")
    for words in ("plan notes -o run --private", "run run --workers 1", "export run -o exports/links.csv"):
        assert scene.onym("batch", *words.split()).status == 0
    written = [path for name in ("run", "exports") for path in (scene.folder / name, *(scene.folder / name).rglob("*"))]
    left_open = [path.name for path in written if path.stat().st_mode & 0o077]
    assert not left_open, f"other users may read {left_open}"
    return f"{len(written)} files and folders, among them plan.json and the export, can be read by their owner alone"
