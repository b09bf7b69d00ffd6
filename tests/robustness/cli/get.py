"""Install the catalogue of `onym get` from a local server with real data, with and without interruptions.

recipes                 recipes that were installed; `--quick` uses the small ones
from_local_server_ok    recipes that installed without interruption, load by name, and link a text to the expected concept
interrupted_resumed     recipes that were installed with interruptions, with the same bytes (except embeddings) as without
kills                   processes killed by SIGKILL: two at random bytes of each download, and one at a random moment
breaks                  connections closed by the server
bytes_twice             bytes sent although the client had them on disk, or had received them before the connection broke
bytes_in_flight         bytes that were in network buffers when a process was killed, and were sent again

Of the two kills per download, one is immediate and one waits until the client has written everything that was sent, so that
nothing is in flight. A second recipe that uses the same release must not download it again; such bytes count as sent twice.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from benchmarks.report import data_folder

from onym.packs.locate import find_install_folder, load, recipe_names
from onym.packs.recipe import PipelineRecipe, read_recipe
from onym.store.cache import cache_folder
from tests.robustness.cli.catalogue import FileServer, Ledger, Stop, write_releases, write_umls

QUICK = ("hpo-phenotypes", "mondo-diseases")
UPPER_BOUNDS = MappingProxyType({"bytes_twice": 0, "failed": 0})
TEXTS = {
    "hpo-phenotypes": ("A child with short stature.", "hp:0004322"),
    "mesh-diseases-chemicals": ("Treated with aspirin.", "mesh:D001241"),
    "mesh-diseases-chemicals-trained": ("Patients with asthma were treated with aspirin.", "mesh:D001241"),
    "mondo-diseases": ("He had type 2 diabetes mellitus.", "mondo:0005148"),
    "pubtator-six": ("Treated with aspirin.", "mesh:D001241"),
    "umls-sapbert": ("She had an acute abdomen.", "umls:C0000001"),
}
_POLL_S = 0.01
_PATIENCE_S = 3_600.0


@dataclass
class Scene:
    """The server, the random generator, and the results of all installations."""

    server: FileServer
    rng: random.Random
    log: Path
    kills: int = 0
    breaks: int = 0
    twice: int = 0
    in_flight: int = 0
    problems: list[str] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--recipe", action="append", help="install only this recipe; may be repeated")


def run(options: argparse.Namespace) -> dict[str, object]:
    names = options.recipe or (QUICK if options.quick else recipe_names())
    # Recipes with more releases are slower, so they come last.
    recipes = sorted((read_recipe(name) for name in names), key=lambda recipe: len(recipe.releases))
    releases = cache_folder() / "benchmarks" / "catalogue-releases"
    for recipe in recipes:
        write_releases(recipe, releases, data_folder())
    licensed = releases / "META"
    if any(recipe.release_to_bring for recipe in recipes) and not licensed.is_dir():
        write_umls(licensed, data_folder())
    ok = resumed = 0
    with tempfile.TemporaryDirectory() as folder, FileServer(releases).running() as server:
        scene = Scene(server, random.Random(options.seed), Path(folder) / "log.txt")
        plain, broken = Path(folder) / "plain", Path(folder) / "broken"
        for recipe in recipes:
            words = [
                "get",
                recipe.name,
                "--mirror",
                server.url,
                *(["--file", str(licensed)] if recipe.release_to_bring else []),
            ]
            with patch.dict(os.environ, ONYM_CACHE=str(plain)):
                seconds = _install_at_once(recipe, words, scene)
                is_right = _is_right(recipe, scene)
                ok += is_right
            with patch.dict(os.environ, ONYM_CACHE=str(broken)):
                _install_with_interruptions(recipe, words, seconds, scene)
                is_same = _files(plain, recipe) == _files(broken, recipe)
                resumed += is_right and is_same and _is_right(recipe, scene)
                if not is_same:
                    scene.problems.append(f"{recipe.name}: other files after interruptions")
            print(
                f"{recipe.name}: {ok} right, {resumed} resumed, {scene.kills} kills, {scene.twice} bytes twice", file=sys.stderr
            )
    print("".join(f"{each}\n" for each in scene.problems), end="", file=sys.stderr)
    return {
        "recipes": len(recipes),
        "from_local_server_ok": ok,
        "interrupted_resumed": resumed,
        "failed": 2 * len(recipes) - ok - resumed,
        "kills": scene.kills,
        "breaks": scene.breaks,
        "bytes_twice": scene.twice,
        "bytes_in_flight": scene.in_flight,
        "served_mb": round(sum(sent.count for sent in server.answers) / 1e6, 1),
    }


def _start(words: list[str], scene: Scene) -> subprocess.Popen[bytes]:
    with scene.log.open("wb") as log:
        command = [sys.executable, "-m", "onym", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=dict(os.environ))


def _finish(recipe: PipelineRecipe, words: list[str], scene: Scene) -> None:
    """Run a client until it exits."""
    if status := _start(words, scene).wait(_PATIENCE_S):
        scene.problems.append(f"{recipe.name}: status {status}\n{scene.log.read_text()}")


def _install_at_once(recipe: PipelineRecipe, words: list[str], scene: Scene) -> float:
    """Install a pipeline and return the seconds it took."""
    ledger, start = Ledger(scene.server, recipe), time.monotonic()
    _finish(recipe, words, scene)
    ledger.account()
    scene.twice += ledger.twice
    return time.monotonic() - start


def _install_with_interruptions(recipe: PipelineRecipe, words: list[str], seconds: float, scene: Scene) -> None:
    """Install a pipeline; kill the client during each download, break each connection once, and kill it during the build."""
    server, rng = scene.server, scene.rng
    ledger = Ledger(server, recipe)
    stops = {path: _stops(server.folder / path.lstrip("/"), rng) for path in ledger.find_unfinished()}
    server.stops = {path: list(several) for path, several in stops.items()}
    scene.breaks += sum(stop.breaks for several in stops.values() for stop in several)
    for path, (first, _, last) in stops.items():
        _kill_at(first, words, scene)
        ledger.account()
        _kill_at(last, words, scene, lambda path=path, last=last: ledger.on_disk(path) >= last.offset)  # type: ignore[misc]
        ledger.account()
    _kill_after(rng.uniform(0, seconds), words, scene)
    ledger.account()
    _finish(recipe, words, scene)
    ledger.account()
    scene.twice += ledger.twice
    scene.in_flight += ledger.in_flight


def _stops(file: Path, rng: random.Random) -> list[Stop]:
    """Return three random bytes in order: where to kill the client, break the connection, and kill the client again."""
    size = file.stat().st_size
    offsets = sorted(rng.sample(range(1, size), 3))
    return [Stop(offset, breaks=number == 1) for number, offset in enumerate(offsets)]


def _kill_at(stop: Stop, words: list[str], scene: Scene, is_ready: Callable[[], bool] = lambda: True) -> None:
    """Start a client, and kill it when the server has reached its stop and the client has written enough."""
    process = _start(words, scene)
    deadline = time.monotonic() + _PATIENCE_S
    while not (stop.reached.wait(_POLL_S) and is_ready()):
        if process.poll() is not None or time.monotonic() > deadline:
            scene.problems.append(f"{words[1]}: ended before it was killed, status {process.poll()}\n{scene.log.read_text()}")
            break
        time.sleep(_POLL_S)
    scene.kills += process.poll() is None
    process.kill()
    process.wait()
    stop.goes_on.set()


def _kill_after(seconds: float, words: list[str], scene: Scene) -> None:
    """Start a client, and kill it after some time unless it has ended."""
    process = _start(words, scene)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        scene.kills += 1
    process.wait()


def _is_right(recipe: PipelineRecipe, scene: Scene) -> bool:
    """Load a pipeline by name and link a text with it."""
    text, expected = TEXTS[recipe.name]
    try:
        found = [link.concept_id for link in load(recipe.name).link(text).links]
    except Exception as e:
        scene.problems.append(f"{recipe.name}: {e}")
        return False
    if expected not in found:
        scene.problems.append(f"{recipe.name}: linked to {found}")
    return expected in found


def _files(cache: Path, recipe: PipelineRecipe) -> dict[str, bytes]:
    """Return the files of an installed pipeline without embeddings, whose last bits depend on the batching."""
    with patch.dict(os.environ, ONYM_CACHE=str(cache)):
        folder = find_install_folder(recipe.name)
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if "/indexes/" not in name and "/vectors/" not in name}
