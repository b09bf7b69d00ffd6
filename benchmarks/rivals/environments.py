"""Environments of the tools, made by uv from locked lists, and the knowledge base in their formats.

Everything is below `rivals` in the cache directory, and is made once.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from benchmarks.rivals.adapters.serving import Answer, Job, Request
from benchmarks.rivals.systems import OWN, System
from onym.kb import KnowledgeBase
from onym.store.cache import cache_folder
from onym.store.output import whole_file

ROOT = Path(__file__).parents[2]
LOCKS = Path(__file__).parent / "locks"
_PYTHON = "3.11"
_COMPLETE = "complete"
_TIMEOUT = 3_600
_QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class RivalError(RuntimeError):
    """A tool that cannot be installed, or that failed; the message ends with what it printed."""


def rivals_folder() -> Path:
    """Return the folder for environments, exports and results."""
    return cache_folder() / "rivals"


def python_of(system: System) -> Path:
    """Return the interpreter of a system's environment, which is made if it is missing or its list has changed."""
    if system.is_own:
        return Path(sys.executable)
    lock = LOCKS / f"{system.environment}.txt"
    digest = sha256(lock.read_bytes()).hexdigest()[:16]
    folder = rivals_folder() / "environments" / f"{system.environment}-{digest}"
    python, complete = folder / "bin" / "python", folder / _COMPLETE
    if not complete.exists():
        uv = _find_uv()
        _run([str(uv), "venv", "--quiet", "--clear", "--python", _PYTHON, str(folder)])
        _run([str(uv), "pip", "sync", "--quiet", "--python", str(python), str(lock)])
        complete.touch()
    return python


def _find_uv() -> Path:
    """Return uv in an environment of its own."""
    folder = rivals_folder() / "uv"
    if not (folder / "bin" / "uv").exists():
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"])
    return folder / "bin" / "uv"


def version_of(system: System) -> str:
    """Return the version of a system's package."""
    code = f"from importlib.metadata import version; print(version({system.package!r}))"
    return _run([str(python_of(system)), "-c", code]).strip()


def _run(command: Sequence[str]) -> str:
    environment = {
        "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", ""),
        "UV_NATIVE_TLS": "1",
    } | dict(os.environ)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
        env=environment,
    )
    if done.returncode:
        msg = f"{Path(command[0]).name} failed: {done.stderr[-1_000:]}"
        raise RivalError(msg)
    return done.stdout


def export_base(source: Path, system: System) -> Path:
    """Return the folder with a knowledge base in the formats of a system; missing files are written."""
    kb = KnowledgeBase.open(source)
    folder = rivals_folder() / "kb" / kb.digest
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / OWN).exists():
        (folder / OWN).symlink_to(source.resolve())
    for name, write in system.formats.items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                if path.suffix == ".gz":
                    with gzip.open(file, "wb") as packed:
                        write(kb, cast(BinaryIO, packed))
                else:
                    write(kb, file)
    return folder


def run_system(
    system: System,
    settings: Mapping[str, Any],
    kb: Path,
    requests: Sequence[Request],
    *,
    prefer: Sequence[str] = (),
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> tuple[dict[str, dict[str, list[Answer]]], dict[str, Any]]:
    """Return the answers of a system by part and document, and its CPU seconds and memory."""
    derived = rivals_folder() / "derived" / f"{system.environment}-{kb.name}"
    job: Job = {
        "kb": str(kb),
        "derived": str(derived),
        "settings": dict(settings),
        "prefer": list(prefer),
        "seconds": dict(seconds),
    }
    lines = [json.dumps(job), *map(json.dumps, requests)]
    if not (derived / _COMPLETE).exists():
        _adapt(system, ["prepare"], lines[:1])
        derived.mkdir(parents=True, exist_ok=True)
        (derived / _COMPLETE).touch()
    found = [json.loads(line) for line in _adapt(system, [], lines)]
    if not found or "figures" not in found[-1]:
        msg = f"{system.title} gave no figures"
        raise RivalError(msg)
    answers: defaultdict[str, dict[str, list[Answer]]] = defaultdict(dict)
    for each in found[:-1]:
        answers[each["part"]][each["id"]] = each["mentions"]
    return dict(answers), found[-1]["figures"]


def _adapt(system: System, arguments: Sequence[str], lines: Sequence[str]) -> list[str]:
    command = [
        str(python_of(system)),
        "-m",
        f"benchmarks.rivals.adapters.{system.adapter}",
        *arguments,
    ]
    environment = dict(os.environ) | _QUIET
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT,
            cwd=ROOT,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        msg = f"{system.title} did not end after {time.perf_counter() - started:.0f} s"
        raise RivalError(msg) from error
    if done.returncode:
        msg = f"{system.title} failed: {done.stderr[-1_000:]}"
        raise RivalError(msg)
    return done.stdout.splitlines()
