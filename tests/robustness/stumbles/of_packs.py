"""Stumbles of people who install pipelines and packs."""

from __future__ import annotations

from pathlib import Path

from tests.robustness.packs.hostile_packs import Made, packs_with_outside_models, small_pack
from tests.robustness.stumbles.rows import Result, Scene, stumble


@stumble('onym pack info X.onymp, where pipeline.json says "model": "/absolute/path"')
def pack_with_a_model_outside_is_rejected(scene: Scene) -> str:
    made = Made(small_pack(scene.folder / "good"))
    path = scene.folder / "bad.onymp"
    path.write_bytes(next(packs_with_outside_models(made)).data)
    for words in (("pack", "info", path.name), ("pack", "install", path.name), ("link", "Fever.", "--pipeline", path.name)):
        done = scene.onym(*words, ONYM_CACHE=str(scene.folder / "cache"))
        _require(done, 3, "pack-malformed")
    assert not any(Path(scene.folder, "cache").glob("p*/*")), "something was unpacked"
    return "info, install and link reject it with [pack-malformed]; nothing is unpacked"


def _require(done: Result, status: int, text: str) -> None:
    assert done.status == status, (done.status, done.stderr)
    assert text in done.stdout + done.stderr, done.stderr
