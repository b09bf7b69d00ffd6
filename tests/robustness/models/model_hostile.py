"""Open and use hostile model folders as a user would, and check that none runs code, reads other files or exhausts resources.

The folders are encoders, BART, T5, collective models, models to convert, and pipelines. Encoders are opened with torch and
with ONNX Runtime.

folders              number of folders: huge sizes, NaN, code, pickles, adapters, kernels, links, pipes, devices, false headers
                     and indexes, very slow tokenizers; `--quick` uses every 20th
refused_or_harmless  folders that were rejected by an error with a code, or gave the same answers as the valid folder, without
                     running code or reading files outside the folder; the suite fails unless this equals `folders`
refused              folders that were rejected by an error with a code
executed             folders whose code was run: it created its marker or started a process
outside_reads        folders for which a file outside the folder was opened by Python, or by any library (seen by inotify)
worst_s              longest time for one folder, in seconds; a folder that took more than two seconds is timed five times,
                     because the machine may be busy, and its shortest time counts
worst_mb             largest peak memory growth of an idle process by one folder, in megabytes
peft, kernels        whether these packages are installed; with them, transformers loads more files
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import onym
from onym.corpora.problems import INTERNAL
from onym.errors import InputError, OnymError
from onym.kb import KnowledgeBase
from onym.methods.collective.linker import CollectiveLinker
from onym.methods.dense.index.build import index_in_memory
from onym.methods.dense.linker import DenseLinker
from onym.methods.generative.decoding.convert import convert_weights
from onym.methods.generative.linker import GenerativeLinker
from onym.methods.tagger.detector import detector_of
from onym.models.onnx_encoder import OnnxEncoder
from onym.models.torch_loading import quiet
from onym.store.cache import cache_folder
from onym.types import Document, LinkedDocument, Mention
from tests.robustness.children import Child, LostError, requests
from tests.robustness.meter import Meter
from tests.robustness.models import configs, tokenizers, weights
from tests.robustness.models.case import Case, save_honest, save_kb
from tests.support.linking import link_with

_PATIENCE_S, _SOON_S, _LIMIT_S, _LIMIT_MB = 30.0, 2.0, 5.0, 512.0
_STEP, _AGAIN, _WORKERS = 20, 4, 2


@dataclass(frozen=True)
class Outcome:
    """The outcome of one folder."""

    name: str
    code: str
    is_same: bool
    seconds: float
    mb: float
    executed: bool
    outside: bool
    events: list[str] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """Whether the folder was rejected by an error with a code."""
        return bool(self.code) and not self.code.startswith("!")

    @property
    def fine(self) -> bool:
        """Whether no harm was done."""
        return (self.is_refused or (not self.code and self.is_same)) and not self.executed and not self.outside


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="report each folder on stderr")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="number of parallel processes")
    parser.add_argument("--only", default="", help="open only folders whose name contains this")


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = [case for case in CASES if options.only in f"{case.kind} {case.name}"][:: _STEP if options.quick else 1]
    found = outcomes(cases, workers=options.workers, verbose=options.verbose)
    figures: dict[str, Any] = {
        "folders": len(found),
        "refused_or_harmless": sum(each.fine for each in found),
        "refused": sum(each.is_refused for each in found),
        "executed": sum(each.executed for each in found),
        "outside_reads": sum(each.outside for each in found),
        "worst_s": round(max(each.seconds for each in found), 2),
        "worst_mb": round(max(each.mb for each in found), 1),
        **{name: find_spec(name) is not None for name in ("peft", "kernels")},
    }
    if figures["refused_or_harmless"] < len(found) or figures["worst_s"] > _LIMIT_S or figures["worst_mb"] > _LIMIT_MB:
        sys.exit(
            f"some folders did harm: {figures}, {[(each.name, each.code, each.events) for each in found if not each.fine]}"
        )
    return figures


def outcomes(cases: list[Case], *, workers: int = _WORKERS, verbose: bool = False) -> list[Outcome]:
    """Open every folder in an idle process, with several processes in parallel."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ONYM_CACHE=f"{folder}/cache"):
        base = Path(folder).resolve()
        with quiet():
            honest = save_honest(base / "honest", save_kb(base / "kb"))
        with ThreadPoolExecutor(workers) as pool:
            parts = [
                pool.submit(_outcomes, cases[number::workers], base / str(number), honest, verbose=verbose)
                for number in range(workers)
            ]
            return [outcome for part in parts for outcome in part.result()]


def _outcomes(cases: list[Case], own: Path, honest: Path, *, verbose: bool) -> list[Outcome]:
    """Open folders one after the other, in a separate temp folder."""
    found, desk = [], _Desk(own, honest)
    try:
        for case in cases:
            found.append(desk.outcome(case))
            if verbose or not found[-1].fine:
                print(found[-1], file=sys.stderr, flush=True)
    finally:
        desk.close()
    return found


class _Desk:
    """Makes hostile folders, opens them with a worker, and removes them."""

    def __init__(self, own: Path, honest: Path) -> None:
        shutil.copytree(honest.parent / "kb" / "kb", own / "kb")
        self._own, self._honest = own, honest
        self._child = Child(work, str(honest.parent), str(own), timeout=_PATIENCE_S, is_quiet=True)
        self._wanted = {kind: self._ask(kind, honest / kind).get("answers") for kind in {case.kind for case in CASES}}

    def outcome(self, case: Case) -> Outcome:
        base = self._own / "case"
        base.mkdir()
        folder = case.make(base, self._honest)
        watch = Watch(base / "outside")
        try:
            answer = self._ask(case.kind, folder)
            for _ in range(_AGAIN if answer["seconds"] > _SOON_S else 0):
                again = self._ask(case.kind, folder)
                answer |= {"seconds": min(answer["seconds"], again["seconds"]), "mb": max(answer["mb"], again["mb"])}
            was_read = watch.was_read()
            executed = (base / "executed").exists()
        finally:
            watch.close()
            shutil.rmtree(base)
        return self._judge_case(case, answer, was_read=was_read, executed=executed)

    def _judge_case(self, case: Case, answer: dict[str, Any], *, was_read: bool, executed: bool) -> Outcome:
        events = answer.get("events", [])
        opens = [each for each in events if each.startswith(("open ", "socket"))]
        return Outcome(
            name=f"{case.kind} {case.name}",
            code=answer["code"],
            is_same=answer.get("answers") == self._wanted[case.kind],
            seconds=answer["seconds"],
            mb=answer["mb"],
            executed=executed or len(events) > len(opens),
            outside=was_read or bool(opens),
            events=events,
        )

    def _ask(self, kind: str, folder: Path) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._child.ask([kind, str(folder)])
        except LostError as e:
            return {"code": f"!{e.how}", "seconds": e.seconds, "mb": 0.0}
        if not answer.pop("idle"):
            self._child.close()
        return answer

    def close(self) -> None:
        self._child.close()


# Watches opened files with inotify, because Python does not see files opened by C++ and Rust libraries.

_OPEN, _NONBLOCK = 0x20, os.O_NONBLOCK


class Watch:
    """Detects whether any file in or below a folder is opened (inotify)."""

    def __init__(self, folder: Path) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(_NONBLOCK)
        for path in (folder, *(each for each in folder.rglob("*") if not each.is_symlink())):
            if self._descriptor < 0 or library.inotify_add_watch(self._descriptor, os.fsencode(path), _OPEN) < 0:
                raise OSError(ctypes.get_errno(), "inotify cannot watch the folder")

    def was_read(self) -> bool:
        """Return whether a file was opened since the last call."""
        try:
            return bool(os.read(self._descriptor, 65_536))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._descriptor)


# The child process that opens hostile folders and links with them. It records every file that Python opens; the parent's
# inotify watch sees files opened by C++ or Rust libraries.

_TEXTS = ("No heart attack, but high fever.", f"{'a' * 40}! {'a' * 500} heart attack {'ab ' * 300}")
_IDLE_MB = 150.0  # MB; torch caches memory, and a process that grew by more than this is replaced
_EXECUTES = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "subprocess.Popen",
    "pty.spawn",
    "ctypes.dlopen",
}

_events: list[str] = []
_allowed: set[str] = set()
_is_watching = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _is_watching:
        return
    if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
        path = os.path.realpath(os.fsdecode(args[0]))
        if _allowed.isdisjoint((path, *map(str, Path(path).parents))):
            _events.append(f"open {path}")
    elif event in _EXECUTES or event.startswith("socket.connect"):
        _events.append(event)


def work(pipe: Connection, base: str, own: str) -> None:
    """Open folders for requests `[kind, folder]`; respond with links or an error code, time, memory and opened files."""
    kb = KnowledgeBase.open(Path(own) / "kb")
    honest = Path(base) / "honest"
    for kind in ("encoder", "bart", "t5", "collective", "convert", "pipeline", "onnx"):
        _answers(kind, honest / kind, kb)
    roots = (
        sys.prefix,
        sys.base_prefix,
        *filter(None, sys.path),
        f"{base}/kb",
        f"{base}/cache",
        f"{own}/kb",
        "/proc/self",
        "/sys",
    )
    common = {os.path.realpath(each) for each in (*roots, "/dev/urandom", "/dev/null")}
    sys.addaudithook(_hook)
    meter = Meter(_IDLE_MB, is_busy_only=False)
    for kind, folder in requests(pipe):
        answer = meter.measure(partial(_watch_opening, kind, Path(folder), kb, common | {folder}))
        pipe.send(answer | {"events": _events[:5]})


def _watch_opening(kind: str, folder: Path, kb: KnowledgeBase, allowed: set[str]) -> dict[str, Any]:
    global _allowed, _is_watching  # noqa: PLW0603 - a hook has no other state
    _events.clear()
    _allowed, _is_watching = allowed, True
    try:
        return _outcome(kind, folder, kb)
    finally:
        _is_watching = False


def _outcome(kind: str, folder: Path, kb: KnowledgeBase) -> dict[str, Any]:
    try:
        return {"code": "", "answers": _answers(kind, folder, kb)}
    except OnymError as e:
        return {"code": e.code, "answers": []}
    except BaseException as e:
        return {"code": f"!{type(e).__name__}: {e}"[:200], "answers": []}


def _answers(kind: str, folder: Path, kb: KnowledgeBase) -> list[Any]:
    """Use a folder as a user would, and return the results."""
    if kind == "convert":
        return _convert_folder(folder)
    if kind == "pipeline":
        return _links(onym.load(folder).link_many(_TEXTS))
    documents = [_document(str(number), text) for number, text in enumerate(_TEXTS)]
    if kind == "encoder":
        return _links(link_with(DenseLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu"), documents))
    if kind == "onnx":
        encoder = OnnxEncoder.open(folder)
        return _links(link_with(DenseLinker(kb, encoder, index_in_memory(kb, encoder)), documents))
    if kind in ("bart", "t5"):
        return _links(link_with(GenerativeLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu"), documents))
    linker = CollectiveLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu")
    detected = [[doc.id, len(doc.mentions)] for doc in _detect_documents(linker.model, documents)]
    return [*_links(link_with(linker, documents)), *detected]


def _detect_documents(model: Any, documents: list[Document]) -> Iterable[Document]:
    for each in detector_of(model).detect(documents):
        if each.problems:
            raise InputError(each.problems[0].code, each.problems[0].what)
        yield each.document


def _convert_folder(folder: Path) -> list[Any]:
    dest = cache_folder() / f"converted-{os.getpid()}"
    shutil.rmtree(dest, ignore_errors=True)
    try:
        convert_weights(folder, dest)
        return sorted([path.name, hashlib.sha256(path.read_bytes()).hexdigest()] for path in dest.iterdir())
    finally:
        shutil.rmtree(dest, ignore_errors=True)


def _document(name: str, text: str) -> Document:
    start = text.index("heart attack")
    spans = [(start, start + 12), (0, min(300, start))]
    return Document(name, text, tuple(Mention(first, last, text[first:last]) for first, last in spans))


def _links(linked: Iterable[LinkedDocument]) -> list[Any]:
    found = []
    for each in linked:
        if each.problems:
            code = each.problems[0].code
            raise InputError(f"!{code}" if code == INTERNAL else code, each.problems[0].what)
        found += [[(best.concept_id, round(best.score, 4)) for best in link.candidates[:3]] for link in each.links]
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


_CASES: tuple[Case, ...] = (*configs.CASES, *weights.CASES, *tokenizers.CASES)
CASES: tuple[Case, ...] = (*_CASES, *weights.once_more(_CASES), *weights.ONNX_CASES, weights.GRAPH)
