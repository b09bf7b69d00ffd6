"""Probes: add one feature to a copy of the source by a few edits, and check that it appears everywhere it should.

A probe is data. Its `edits` are what a developer has to write; its `steps` are commands, each with a pattern that the output
must contain. The figure is the number of edited files, or the number of edits if `count_edits`; null if an edit or step fails.
To adapt a probe to another layout, change its edits.

The first word of a step is `onym`, `python` (a program), `read` (a file) or `http` (pipeline, path, body). `-o FILE` adds the
file to the output. Steps run in a folder with the files of `write_inputs`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.house.work import CONCEPTS, build_small_kb

PLUG_IN = Path(__file__).parents[2] / "tests/plug_in/src/onym_plug_in"
FEVER = "mesh:D005334"


class ProbeError(Exception):
    """A step of a probe failed, or an edit does not fit the source."""


@dataclass(frozen=True)
class Edit:
    """A new file below `src/onym`; or, if `after` is given, lines to insert after its first match in an existing file."""

    file: str
    text: str
    after: str = ""

    def apply(self, package: Path) -> None:
        path = package / self.file
        if not self.after:
            if not path.parent.is_dir():
                raise ProbeError(f"the folder does not exist: {Path(self.file).parent}")
            path.write_text(self.text, "utf-8")
            return
        if not path.is_file():
            raise ProbeError(f"the file {self.file} does not exist")
        source = path.read_text("utf-8")
        match = re.search(self.after, source)
        if not match:
            raise ProbeError(f"{self.file} does not contain {self.after!r}")
        path.write_text(source[: match.end()] + self.text + source[match.end() :], "utf-8")


@dataclass(frozen=True)
class Probe:
    """A feature to add, and where it must appear. `extra` are files that only the steps need; they are not counted."""

    edits: tuple[Edit, ...]
    steps: tuple[tuple[str, str], ...]
    extra: tuple[Edit, ...] = ()
    count_edits: bool = False

    @property
    def count(self) -> int:
        return len(self.edits) if self.count_edits else len({edit.file for edit in self.edits})


BUILD = "onym pipeline build --kb small/kb -o pipeline"
BATCH = (
    ("onym batch plan notes.txt --pipeline pipeline -o run", ""),
    ("onym batch run run --workers 1", ""),
)
RECIPES = "packs/recipes"
RECIPE_TEXT = """name = "probe-recipe"
title = "A probe"
releases = [{name = "probe", title = "Probe", version = "1", licence = "CC0", attribution = "Probe", files = [
  {url = "https://example.org/concepts.tsv", megabytes = 1}]}]
kb = {name = "probe", sources = [{path = "concepts.tsv", name = "probe"}]}
[pipeline]
detector = {kind = "dictionary"}
linker = {kind = "exact"}
"""

LINKER = Probe(
    (Edit("linkers/initials.py", (PLUG_IN / "initials.py").read_text("utf-8")),),
    (
        ("onym info", r"linker\s+initials"),
        ("onym link --help-all", "--letters"),
        ("onym link corpus.txt --kb small/kb --linker initials --letters 2 -o direct.jsonl", FEVER),
        (f"{BUILD} --detector none --linker initials --letters 2", "initials"),
        ("onym link corpus.txt --pipeline pipeline -o piped.jsonl", FEVER),
        ("onym dataset prepare ncbi-disease-biosyn --data data -o dataset", ""),
        ("onym evaluate --linker initials --dataset dataset --json", "initials"),
    ),
)
READER = Probe(
    (Edit("kb/readers/pairs.py", (PLUG_IN / "pairs.py").read_text("utf-8")),),
    (
        ("onym info", r"reader\s+pairs"),
        ("onym kb build made.pairs -o recognised", r"concepts\s+1"),
        ("onym kb build made.pairs --format pairs -o named", r"concepts\s+1"),
        ("onym kb search named shivering", "(?i)mesh:D012768"),
        ("onym kb build pairs.toml -o by-recipe", r"concepts\s+1"),
    ),
)
RECIPE = Probe(
    (Edit(f"{RECIPES}/probe-recipe.toml", RECIPE_TEXT),),
    (
        ("onym get", "probe-recipe"),
        ("onym get probe-recipe --from .", "installed"),
        ("onym link Fever. --pipeline probe-recipe", "(?i)D005334"),
        ("python \"import onym; print(onym.load('probe-recipe').link('Fever.').links[0].candidates[0].concept_id)\"", FEVER),
    ),
)
ROUTE_TEXT = """from onym.serve.routes import Reply, Request, Route

class ProbeReply(Reply):
    probe: str

def _probe(pipeline, job):
    return {"probe": "answered"}

ROUTES = (Route("/probe", "probe", Request, ProbeReply, "Probe.", act=_probe, method="GET"),)
"""
ROUTE = Probe(
    (Edit("serve/routes/probe.py", ROUTE_TEXT),),
    (
        (BUILD, ""),
        ("http pipeline /v1/probe", '"probe": ?"answered"'),
        ("http pipeline /openapi.json", '"/v1/probe"'),
        ("http pipeline /metrics", "/v1/probe"),
    ),
)
OUTPUT = Probe(
    (Edit("outputs/ids.py", (PLUG_IN / "ids.py").read_text("utf-8")),),
    (
        ("onym info", r"output\s+ids"),
        (BUILD, ""),
        ("onym link notes.txt --pipeline pipeline -o links.ids", FEVER),
        ("onym link notes.txt --pipeline pipeline --format ids -o links.any", FEVER),
        *BATCH,
        ("onym batch export run -o exported.ids", FEVER),
    ),
)
OPTION_TEXT = '    probe_option: int = Field(default=3, ge=1, description="Probe.")\n'
OPTION_SET = r"""["']probe_option["']:\s*7"""
OPTION = Probe(
    (Edit("pipeline/config.py", OPTION_TEXT, after=r"class PipelineOptions\((?:.*\n)+?    top_k: .*\n"),),
    (
        ("onym pipeline build --help", "--probe-option"),
        (f"{BUILD} --probe-option 7", ""),
        ("read pipeline/pipeline.json", OPTION_SET),
        ("python \"import onym; print(onym.load('pipeline').config)\"", OPTION_SET),
        ("python \"import onym; print(onym.build_pipeline('small/kb', 'other', probe_option=7).config)\"", OPTION_SET),
        ("onym get probe-recipe --from .", "installed"),
        ("onym pipeline info probe-recipe --json", OPTION_SET),
        ("onym pack build pipeline -o probe.onymp --licence made=CC0", ""),
        ("python \"import onym; print(onym.load('probe.onymp').config)\"", OPTION_SET),
        ("http pipeline /v1/pipelines", OPTION_SET),
    ),
    extra=(Edit(f"{RECIPES}/probe-recipe.toml", f"{RECIPE_TEXT}probe_option = 7\n"),),
    count_edits=True,
)
VOCABULARY_TEXT = """
[probe]
title = "Probe Ontology"
aliases = ["prb"]
pattern = "PRB[0-9]{4}"
groups = ["Disease"]
fhir = "https://example.org/fhir/probe"
omop = "Probe"
download = ["https://example.org/probe.obo"]
licence = "Probe Licence 1.0"
redistribution = "yes"
"""
VOCABULARY = Probe(
    (Edit("vocabularies.toml", VOCABULARY_TEXT, after=r"(?s)\A.*\Z"),),
    (
        ("onym kb build probe.toml -o probe/kb", r"concepts\s+1"),
        ("onym kb show probe/kb PRB:0001", "(?i)probe:0001"),
        ("onym kb types probe/kb", "Disease"),
        ("onym kb download --help", r"\bprobe\b"),
        ("onym corpus convert probe.pubtator ids.jsonl --to jsonl", ""),
        ("read ids.jsonl", "probe:0001(?s:.*)probe:PRB0002"),
        ("onym pipeline build --kb probe/kb -o probe", ""),
        ("onym pack build probe -o probe.onymp", "Probe Licence 1.0"),
        ("onym link notes.txt --pipeline probe -o links.fhir.ndjson", "https://example.org/fhir/probe"),
        ("onym map probe.tsv --column name --pipeline probe --omop-vocabulary athena -o source_to_concept_map.csv", "7,Probe,"),
    ),
    count_edits=True,
)
LINK_FIELD_TEXT = '    probe_field: str = "probed"\n'
LINK_FIELD_SET = r"""["']probe_field["']:\s*["']probed["']"""
LINK_FIELD = Probe(
    (Edit("types.py", LINK_FIELD_TEXT, after=r"class LinkEvidence[:(](?:.*\n)+?    assertion: .*\n"),),
    (
        (BUILD, ""),
        ("onym link notes.txt --pipeline pipeline -o links.tsv", r"probe_field(?s:.*)probed"),
        ("onym link notes.txt --pipeline pipeline -o predictions.jsonl", LINK_FIELD_SET),
        ("onym link notes.txt --pipeline pipeline --format jsonl -o documents.jsonl", LINK_FIELD_SET),
        ('http pipeline /v1/link \'{"text": "Fever."}\'', LINK_FIELD_SET),
        ("python \"import onym; print(onym.load('pipeline').link('Fever.').to_dict())\"", LINK_FIELD_SET),
        *BATCH,
        ("onym batch export run -o exported.csv", r"probe_field(?s:.*)probed"),
    ),
    count_edits=True,
)

PROBES = {
    "pipeline_option_declarations": OPTION,
    "vocabulary_tables": VOCABULARY,
    "link_forms": LINK_FIELD,
    "files_to_add_linker": LINKER,
    "files_to_add_reader": READER,
    "files_to_add_output": OUTPUT,
    "files_to_add_route": ROUTE,
    "files_to_add_recipe": RECIPE,
}


def run_probes(src: Path, folder: Path) -> dict[str, int | None]:
    """Return the figure of each probe; print the reason to stderr if a figure is null."""
    write_inputs(folder / "inputs")
    return {name: run_probe(name, probe, src, folder) for name, probe in PROBES.items()}


def run_probe(name: str, probe: Probe, src: Path, folder: Path) -> int | None:
    try:
        with Copy(src, folder / "inputs", folder / name) as copy:
            for edit in (*probe.edits, *probe.extra):
                edit.apply(copy.package)
            for step, expected in probe.steps:
                copy.check(step, expected)
    except ProbeError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return None
    return probe.count


def write_inputs(work: Path) -> None:
    """Write the inputs of the steps: a knowledge base, texts, corpora, a release and a dataset."""
    from tests.datasets.made import write_biosyn

    work.mkdir(parents=True)

    build_small_kb(work / "small")
    write_biosyn(work / "data")
    files = {
        "concepts.tsv": CONCEPTS,
        "notes.txt": "A high fever and Probeitis.\n",
        "corpus.txt": "1|t|A high feber\n1|a|\n1\t7\t12\tfeber\tDisease\tD005334\n",
        "made.pairs": "mesh:D012768 => shivering\n",
        "pairs.toml": '[[sources]]\npath = "made.pairs"\nformat = "pairs"\n',
        "probe.tsv": "id\tname\nPRB:0001\tProbeitis\n",
        "probe.toml": 'groups = true\n[[sources]]\npath = "probe.tsv"\nname = "probe"\n',
        "probe.pubtator": "1|t|Probeitis\n1|a|\n1\t0\t9\tProbeitis\tDisease\tPRB_0001|PRB0002\n",
        "athena/CONCEPT.csv": "concept_id\tvocabulary_id\tconcept_code\tstandard_concept\n7\tProbe\t0001\tS\n",
        "athena/CONCEPT_RELATIONSHIP.csv": "concept_id_1\tconcept_id_2\trelationship_id\tinvalid_reason\n",
    }
    (work / "athena").mkdir()
    for name, text in files.items():
        (work / name).write_text(text, "utf-8")


class Copy:
    """A copy of the source; its commands run in subprocesses with a separate cache."""

    def __init__(self, src: Path, inputs: Path, folder: Path) -> None:
        self.package, self.work = folder / "src" / "onym", folder / "work"
        shutil.copytree(src, self.package)  # copytree keeps modification times, so that compiled modules stay valid
        shutil.copytree(inputs, self.work)
        paths = [str(folder / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        plain = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "ONYM_CACHE": str(folder / "cache")}
        self._environment = {**os.environ, **plain, "PYTHONPATH": os.pathsep.join(paths)}
        self._servers: dict[str, tuple[subprocess.Popen[bytes], str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for server, _ in self._servers.values():
            server.terminate()
            server.wait()

    def check(self, step: str, expected: str) -> None:
        """Run a step, and raise unless its output matches the pattern."""
        kind, *words = shlex.split(step)
        match kind:
            case "onym":
                output = self._run("-m", "onym", *words) + self._read(words[words.index("-o") + 1] if "-o" in words else "")
            case "python":
                output = self._run("-c", *words)
            case "read":
                output = self._read(*words)
            case _:
                output = self._http(*words)
        if not re.search(expected, output):
            raise ProbeError(f"no match for {expected!r} in the output of {step}")

    def _read(self, name: str) -> str:
        file = self.work / name
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def _run(self, *arguments: str) -> str:
        command = (sys.executable, *arguments)
        done = subprocess.run(command, cwd=self.work, env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProbeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
        return done.stdout + done.stderr

    def _http(self, pipeline: str, path: str, body: str = "") -> str:
        if pipeline not in self._servers:
            self._servers[pipeline] = self._serve(pipeline)
        return _request(f"{self._servers[pipeline][1]}{path}", body)

    def _serve(self, pipeline: str) -> tuple[subprocess.Popen[bytes], str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        options = f"--pipeline {pipeline} --port {port} --drain-delay 0 --quiet".split()
        command = (sys.executable, "-m", "onym", "serve", *options)
        server, url = subprocess.Popen(command, cwd=self.work, env=self._environment), f"http://127.0.0.1:{port}"
        try:
            _request(f"{url}/ready", "", seconds=60)
        except ProbeError:
            server.kill()
            raise
        return server, url


def _request(url: str, body: str, seconds: float = 0) -> str:
    """Return the response to a request; retry for some seconds until the server listens."""
    request = urllib.request.Request(url, body.encode() or None, {"Content-Type": "application/json"})
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(request) as reply:
                return str(reply.read().decode())
        except OSError as e:
            if time.monotonic() > end:
                raise ProbeError(f"{url}: {e}") from e
            time.sleep(0.2)
