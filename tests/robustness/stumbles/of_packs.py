"""Stumbles of people who install pipelines and packs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import onym
from onym.packs import install_pack
from onym.packs.locate import installed_folder
from tests.robustness.harness import own_cache
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
    (scene.folder / "bad.onymp").write_bytes(made.packed(record=record))
    _require(scene.onym("pack", "wheel", "bad.onymp", "-o", "dist"), 3, "pack-malformed")
    assert not (scene.folder / "dist").exists()
    return "[pack-malformed], and no wheel is written"


@stumble("onym pack install X.onymp --force, again and again, while another process loads the pipeline")
def pipeline_loads_while_it_is_replaced(scene: Scene) -> str:
    pack = small_pack(scene.folder / "good")
    with own_cache(scene.folder / "cache"):
        install_pack(pack)
        versions, loads = {installed_folder("small")}, 0
        installer = subprocess.Popen([sys.executable, "-c", _INSTALL_AGAIN, str(pack)])
        until = time.monotonic() + 60
        while time.monotonic() < until and len(versions) < 4:
            assert onym.load("small").link("fever").links
            versions.add(installed_folder("small"))
            loads += 1
        installer.kill()
        installer.wait()
    assert len(versions) > 1, "it was not replaced"
    return f"{loads} loads during {len(versions) - 1} installations, and none fails"


@stumble("onym get hpo-phenotypes --mirror URL, where the server redirects in a loop, or to /internal")
def mirror_redirects_are_followed_within_the_mirror_only(scene: Scene) -> str:
    for to, text in (("", "in a loop"), ("/internal", "/internal, which is not below")):
        with _redirecting_server(to) as (url, seen):
            done = scene.onym("get", "hpo-phenotypes", "--mirror", f"{url}/mirror", ONYM_CACHE=str(scene.folder / "cache"))
        _require(done, 3, "download-redirect")
        assert text in " ".join(done.stderr.split()), done.stderr
        assert "/internal" not in seen, "the other address was asked"
    return "[download-redirect], which says where the server redirects to"


@contextmanager
def _redirecting_server(to: str) -> Iterator[tuple[str, list[str]]]:
    """Serve nothing but redirects to this path, or back to the path itself."""
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
