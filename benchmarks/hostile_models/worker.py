"""The process that opens hostile folders and links with them. It writes down every file that Python opens for it.

Files that libraries in C++ or Rust open are seen by the kernel's watch of the parent, see `watch`.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onym
from benchmarks.hostile.worker import memory_mb
from onym.corpora.isolation import INTERNAL
from onym.decoding.convert import convert_weights
from onym.detect.model import detector_of
from onym.errors import InputError, OnymError
from onym.index.build import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.linkers.dense import DenseLinker
from onym.linkers.generative import GenerativeLinker
from onym.models.onnx_encoder import OnnxEncoder
from onym.store.cache import cache_folder
from onym.types import Document, LinkedDocument, Mention

_TEXTS = ("No heart attack, but high fever.", f"{'a' * 40}! {'a' * 500} heart attack {'ab ' * 300}")
_IDLE_MB = 150.0  # torch keeps memory for later; a process that grew by more is replaced
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


def main(base: str, own: str) -> None:
    """Answer each line `[kind, folder]` by answers or an error's code, seconds, growth of the peak, and what was opened."""
    global _allowed, _is_watching  # noqa: PLW0603 - a hook has no other state
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
    gc.collect()
    idle = memory_mb("VmRSS")
    print("idle", flush=True)
    for line in sys.stdin:
        kind, folder = json.loads(line)
        _allowed = common | {folder}
        _events.clear()
        before = memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        _is_watching, started = True, time.perf_counter()
        found = _outcome(kind, Path(folder), kb)
        seconds, _is_watching = time.perf_counter() - started, False
        mb = memory_mb("VmHWM") - before
        gc.collect()
        found |= {"seconds": seconds, "mb": mb, "idle": memory_mb("VmRSS") < idle + _IDLE_MB, "events": _events[:5]}
        print(json.dumps(found), flush=True)


def _outcome(kind: str, folder: Path, kb: KnowledgeBase) -> dict[str, Any]:
    try:
        return {"code": "", "answers": _answers(kind, folder, kb)}
    except OnymError as e:
        return {"code": e.code, "answers": []}
    except BaseException as e:
        return {"code": f"!{type(e).__name__}: {e}"[:200], "answers": []}


def _answers(kind: str, folder: Path, kb: KnowledgeBase) -> list[Any]:
    """Do with a folder what a user would do, and return what came out of it."""
    if kind == "convert":
        return _converted(folder)
    if kind == "pipeline":
        return _links(onym.load(folder).link_many(_TEXTS))
    documents = [_document(str(number), text) for number, text in enumerate(_TEXTS)]
    if kind == "encoder":
        return _links(DenseLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu").link(documents))
    if kind == "onnx":
        encoder = OnnxEncoder.open(folder)
        return _links(DenseLinker(kb, encoder, index_in_memory(kb, encoder)).link(documents))
    if kind in ("bart", "t5"):
        return _links(GenerativeLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu").link(documents))
    linker = CollectiveLinker.from_pretrained(folder, kb, dtype="fp32", device="cpu")
    detected = [[doc.id, len(doc.mentions)] for doc in _found(linker.model, documents)]
    return [*_links(linker.link(documents)), *detected]


def _found(model: Any, documents: list[Document]) -> Iterable[Document]:
    for each in detector_of(model).detect(documents):
        if each.problems:
            raise InputError(each.problems[0].code, each.problems[0].what)
        yield each.document


def _converted(folder: Path) -> list[Any]:
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


if __name__ == "__main__":
    main(*sys.argv[1:])
