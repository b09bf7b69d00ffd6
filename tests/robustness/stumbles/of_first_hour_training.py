"""Check what a stranger meets in the first hour of training: whose word counts, which figures are printed, what is silent."""

from __future__ import annotations

import atexit
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.robustness.stumbles.rows import Result, Scene, stumble

_PATIENCE_S, _QUIET_S = 300.0, 12.0
_TERMS = {
    "breast cancer": "D001943",
    "lung cancer": "D008175",
    "fever": "D005334",
    "gout": "D006073",
    "asthma": "D001249",
    "hepatitis": "D056486",
    "headache": "D006261",
}
_FRAMES = ("No {} was found, and no {}.", "The women had {}; two had {} too.", "After a year of {} came {}.")
_TRAIN = ("train", "pipeline", "--dataset", "mine", "--kb", "starter", "--type", "Disease", "--detector", "dictionary")


class Trained(NamedTuple):
    """A pipeline trained on a small corpus with the knowledge base of the starter, and the seconds of its longest silence."""

    scene: Scene
    printed: str
    silence: float

    def answer(self, text: str, *options: str) -> str:
        """Return the first concept that is linked in a text."""
        done = self.scene.onym("link", text, *options)
        assert done.status == 0, done
        header, row, *_ = [line.split("\t") for line in done.stdout.splitlines()]
        return row[header.index("concept_id")]


@stumble("onym train pipeline: 28 training mentions of breast cancer = D001943, and it is MONDO:0007254 still")
def clear_annotations_win_over_the_order_of_vocabularies(_: Scene) -> str:
    trained = _train()
    assert trained.answer("She had breast cancer.", "--pipeline", "trained") == "MESH:D001943"
    assert trained.answer("She had breast cancer.", "--pipeline", "starter") == "MONDO:0007254"
    build = ("pipeline", "build", "--kb", "starter", "--linker", "rerank", "--model", "trained/reranker")
    done = trained.scene.onym(*build, "--no-follow-annotations", "-o", "by-name", "--force")
    assert done.status == 0, done
    assert trained.answer("She had breast cancer.", "--pipeline", "by-name") == "MONDO:0007254"
    return "its annotations win, unless --no-follow-annotations is given"


@stumble("onym train pipeline: figures on training data, printed as if they were results")
def figures_are_those_of_dev_in_plain_words(_: Scene) -> str:
    trained = _train()
    figures = [line for line in trained.printed.splitlines() if re.search(r"\d+\.\d", line)]
    assert any(re.search(r"strict F1 on dev +\d+\.\d from raw text", line) for line in figures), trained.printed
    for line in figures:
        assert ", dev: " in line or "on dev" in line or "training documents" in line, line
        assert "{" not in line, line
    done = trained.scene.onym("evaluate", "--pipeline", "trained", "--dataset", "mine", "--split", "train")
    assert "was trained on these documents" in done.stderr, done
    done = trained.scene.onym("evaluate", "--pipeline", "trained", "--dataset", "mine", "--split", "dev")
    assert "was trained on these documents" not in done.stderr, done
    return next(line for line in figures if "strict F1 on dev" in line)


@stumble('onym train pipeline: silent for minutes, as after "preparing the evaluation on dev"')
def nothing_is_silent_for_long(_: Scene) -> str:
    trained = _train()
    assert trained.silence < _QUIET_S, trained
    code = "import time; from onym.cli.console import progress\nwith progress('calibrating'): time.sleep(33)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    assert done.stderr == "calibrating: 0:00:30 so far\n", done
    return f"longest silence {trained.silence:.0f} s; without a terminal there is a line every half minute"


@stumble("onym train pipeline --kb starter, onym index build starter, onym trie info starter, ...")
def the_starter_stands_for_its_knowledge_base_everywhere(scene: Scene) -> str:
    (scene.folder / "terms.csv").write_text("term\nfever\n")
    words: tuple[tuple[str, ...], ...] = (
        ("kb", "show", "starter", "MONDO:0005068"),
        ("kb", "diff", "starter", "starter"),
        ("kb", "export", "starter", "--under", "MONDO:0005068", "-o", "kb.jsonl"),
        ("map", "terms.csv", "--column", "term", "--kb", "starter", "-o", "mapped.tsv"),
        ("migrate", "mapped.tsv", "--column", "concept_id", "--from", "starter", "--to", "starter", "-o", "new.tsv"),
        ("review", "create", "mapped.tsv", "--column", "term", "--kb", "starter", "-o", "desk.sqlite"),
        ("pipeline", "build", "--kb", "starter", "-o", "built"),
    )
    for command in words:
        done = scene.onym(*command)
        assert done.status == 0, done
    trained = _train().scene
    own: tuple[tuple[str, ...], ...] = (
        ("evaluate", "--linker", "exact", "--dataset", "mine", "--split", "dev", "--kb", "starter"),
        ("train", "rerank", *_set("data.datasets=['mine']", "data.kb=starter", "data.terms=0"), "-o", "reranker"),
    )
    for command in own:
        done = trained.onym(*command)
        assert done.status == 0, done
    for what in ("index", "trie"):
        done = scene.onym(what, "info", "starter")
        assert "[artefact-missing] the knowledge base has no" in done.stderr, done
    return f"{len(words) + len(own) + 3} commands find its knowledge base"


def _set(*overrides: str) -> list[str]:
    return [word for override in overrides for word in ("--set", override)]


@cache
def _train() -> Trained:
    """Train on a terminal, once for all rows."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    scene = Scene(Path(folder.name))
    (scene.folder / "mine.pubtator").write_text("\n\n".join(_documents()) + "\n")
    done = scene.onym("dataset", "prepare", "mine.pubtator", "--name", "mine", "--shares", "0.6,0.2,0.2", "--kb", "starter")
    assert done.status == 0, done
    printed, silence = _watch(scene, *_TRAIN, "-o", "trained")
    assert "confidence" in printed, printed
    return Trained(scene, printed, silence)


def _documents() -> Iterator[str]:
    """Yield 140 documents of two diseases each, in which breast cancer is annotated with MeSH."""
    names = list(_TERMS)
    for number in range(140):
        pair = names[number % len(names)], names[(number // len(names) + number + 1) % len(names)]
        text = f"Case {number}. " + _FRAMES[number % len(_FRAMES)].format(*pair)
        lines = [f"{number}|t|{text}", f"{number}|a|"]
        start = 0
        for name in pair:
            start = text.index(name, start)
            lines.append(f"{number}\t{start}\t{start + len(name)}\t{name}\tDisease\t{_TERMS[name]}")
            start += len(name)
        yield "\n".join(lines)


def _watch(scene: Scene, *words: str) -> tuple[str, float]:
    """Run `onym` on a terminal; return what it prints, and the seconds of its longest silence."""
    main, other = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    command = [sys.executable, "-m", "onym", *words]
    printed, silence, last = b"", 0.0, time.monotonic()
    with subprocess.Popen(command, cwd=scene.folder, env=environment, stdout=other, stderr=other) as process:
        os.close(other)
        with suppress(OSError):  # the terminal is closed when the process ends
            while part := os.read(main, 65_536):
                printed += part
                silence, last = max(silence, time.monotonic() - last), time.monotonic()
        process.wait(_PATIENCE_S)
    os.close(main)
    assert process.returncode == 0, Result(process.returncode, printed.decode(), "")
    return printed.decode().replace("\r\n", "\n"), silence
