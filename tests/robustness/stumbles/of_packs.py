"""Check commands that install pipelines and packs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest

import onym
from onym.errors import ConfigError, DownloadError
from onym.packs import install_pack
from onym.packs.install import install
from onym.packs.locate import find_install_folder
from onym.packs.recipe import FileSources, read_recipe
from onym.store.download import Patience
from tests.robustness.packs.hostile_packs import Made, packs_with_outside_models, small_pack
from tests.robustness.stumbles.rows import Result, Scene, stumble

_INSTALL_AGAIN = "import sys; from onym.packs import install_pack\nwhile True: install_pack(sys.argv[1], force=True)"


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


@stumble('onym pack wheel X.onymp, where pack.json says "onym": "0.1\\nRequires-Dist: six==1.17.0"')
def pack_adds_no_dependency_to_a_wheel(scene: Scene) -> str:
    made = Made(small_pack(scene.folder / "good"))
    record = {**made.record, "onym": "0.1\nRequires-Dist: six==1.17.0\nX: y"}
    (scene.folder / "bad.onymp").write_bytes(made.pack(record=record))
    _require(scene.onym("pack", "wheel", "bad.onymp", "-o", "dist"), 3, "pack-malformed")
    assert not (scene.folder / "dist").exists()
    return "[pack-malformed], and no wheel is written"


@stumble("onym pack install X.onymp --force, again and again, while another process loads the pipeline")
def pipeline_loads_while_it_is_replaced(scene: Scene) -> str:
    pack = small_pack(scene.folder / "good")
    with patch.dict(os.environ, ONYM_CACHE=str(scene.folder / "cache")):
        install_pack(pack)
        versions, loads = {find_install_folder("small")}, 0
        installer = subprocess.Popen([sys.executable, "-c", _INSTALL_AGAIN, str(pack)])
        until = time.monotonic() + 60
        while time.monotonic() < until and len(versions) < 4:
            assert onym.load("small").link("fever").links
            versions.add(find_install_folder("small"))
            loads += 1
        installer.kill()
        installer.wait()
    assert len(versions) > 1, "it was not replaced"
    return f"{loads} loads during {len(versions) - 1} installations, and none fails"


@stumble("onym get hpo-phenotypes --mirror URL, where the server redirects in a loop, or to /internal")
def mirror_redirects_are_followed_within_the_mirror_only(scene: Scene) -> str:
    for to, text in (("", "too many redirects"), ("/internal", "/internal, which is not below")):
        with _redirecting_server(to) as (url, seen):
            done = scene.onym("get", "hpo-phenotypes", "--mirror", f"{url}/mirror", ONYM_CACHE=str(scene.folder / "cache"))
        _require(done, 3, "download-redirect")
        assert text in " ".join(done.stderr.split()), done.stderr
        assert "/internal" not in seen, "the other address was asked"
    return "[download-redirect], which says where the server redirects to"


@stumble("onym get hpo-phenotypes, offline")
def offline_get_names_what_works_without_a_network(scene: Scene) -> str:
    with (
        patch.dict(os.environ, ONYM_CACHE=str(scene.folder / "cache")),
        pytest.raises(DownloadError, match="cannot be reached") as caught,
    ):
        install(read_recipe("hpo-phenotypes"), FileSources("http://127.0.0.1:9"), patience=Patience(attempts=2, pause_s=0))
    for remedy in ("hp.obo", "--from FOLDER", "--mirror ADDRESS"):
        assert remedy in caught.value.fix, caught.value
    return f"{caught.value.what}; try {caught.value.fix}"


@stumble("onym get, to see which pipelines are installed")
def installed_pipelines_are_listed(scene: Scene) -> str:
    pack, cache = small_pack(scene.folder / "good"), str(scene.folder / "cache")
    assert scene.onym("pack", "install", pack.as_posix(), "--name", "mine", ONYM_CACHE=cache).status == 0
    listed = json.loads(scene.onym("get", "--list", "--json", ONYM_CACHE=cache).stdout)
    assert [row["name"] for row in listed if row["installed"]] == ["starter", "mine"], listed
    assert [row["name"] for row in listed if row["default"]] == ["starter"], listed
    return "onym get --list shows all pipelines, which are installed, and the default"


@stumble("onym link TEXT --pipeline strater")
def mistyped_pipeline_gets_a_suggestion(scene: Scene) -> str:
    cache = str(scene.folder / "cache")
    _require(scene.onym("link", "Fever.", "--pipeline", "strater", "--json", ONYM_CACHE=cache), 3, "did you mean starter?")
    _require(scene.onym("get", "hpo-phenotype", ONYM_CACHE=cache), 2, "did you mean hpo-phenotypes?")
    return "did you mean starter?"


@stumble("onym get umls-sapbert, with ONNX Runtime and without torch")
def dense_pipeline_is_installed_without_torch(scene: Scene) -> str:
    recipe, only_onnx = read_recipe("umls-sapbert"), ("onnxruntime", "onnx", "faiss")
    with (
        patch.dict(os.environ, ONYM_CACHE=str(scene.folder / "cache")),
        patch("onym.packs.install.find_spec", lambda name: name if name in only_onnx else None),
        pytest.raises(ConfigError, match="release-licensed"),
    ):
        install(recipe)
    return "ONNX Runtime is enough; the next step asks for the licensed release"


@contextmanager
def _redirecting_server(to: str) -> Iterator[tuple[str, list[str]]]:
    """Run a server that answers every request with a redirect to `to`, or to the requested path itself if empty."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(302)
            self.send_header("Location", to or self.path)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def _require(done: Result, status: int, text: str) -> None:
    assert done.status == status, (done.status, done.stderr)
    assert text in done.stdout + done.stderr, done.stderr
