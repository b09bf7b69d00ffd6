"""Stumbles of building knowledge bases, of tables, and of naming a knowledge base."""

from __future__ import annotations

from tests.robustness.stumbles.rows import Scene, stumble

_OBO = "format-version: 1.2\n\n[Term]\nid: HP:0001945\nname: Fever\n"


@stumble("onym kb build mesh -o mesh-kb")
def files_of_a_folder_that_are_not_read_are_listed(scene: Scene) -> str:
    folder = scene.folder / "mesh"
    folder.mkdir()
    (folder / "sample.obo").write_text(_OBO)
    (folder / "mesh.tsv").write_text("D000001\tCalcimycin\tA-23187\tD03.633\n")
    done = scene.onym("kb", "build", "mesh", "-o", "kb")
    assert done.status == 0, done.stderr
    assert "ignored 1 file" in done.stderr, done.stderr
    assert "mesh/mesh.tsv" in done.stderr, done.stderr
    assert "--format mesh_table" in done.stderr, done.stderr
    assert "mesh/mesh.tsv" in scene.onym("kb", "info", "kb").stdout
    return done.stderr.strip()
