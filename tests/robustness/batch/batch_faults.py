"""Inject faults into runs of `onym batch`, check how the run ends, and check that a second run completes the output.

Faults: a full disk (ENOSPC) or an I/O error (EIO) at the first, second ... write of outputs; an output folder that is not
writable; two drivers at once; a shard that always kills its worker or always fails; an input or the pipeline changed during the
run; a truncated output; an output and a plan of a newer Onym; a Ray cluster that loses one of its two nodes. After each, the
fault is removed and the plan is run again: the output must be byte-identical to that of an undisturbed run.

cases   number of faults injected; `by_kind` counts them by kind
wrong   number of cases in which the first run ended unexpectedly, or the second run wrote other output; `which` names them
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onym.batch.engines import LocalEngine
from onym.batch.ledger import status
from onym.batch.run import run_batch
from onym.errors import OnymError
from tests.robustness.batch.runs import PACKED, driver, kill_nodes, make_corpus, make_pipeline, outputs, plan_run

_FILES, _WRITES, _QUICK_WRITES = 4, 24, 2
_DISK = """
import errno, io, os, pathlib, sys
count, number = {count}, errno.{name}
seen = 0
class Failing(io.BufferedWriter):
    def write(self, data):
        global seen
        seen += 1
        if seen == count:
            raise OSError(number, os.strerror(number))
        return super().write(data)
right = pathlib.Path.open
def opened(self, mode="r", *more, **options):
    return Failing(io.FileIO(self, "w")) if mode == "wb" else right(self, mode, *more, **options)
pathlib.Path.open = opened
from onym.batch.worker import main
sys.exit(main())
"""
_POISON = """
import os, signal, sys
import onym.batch.shard as shard
right = shard.write_shard
def wrong(which, *arguments, **options):
    if which.number == 2:
        {act}
    return right(which, *arguments, **options)
shard.write_shard = wrong
from onym.batch.worker import main
sys.exit(main())
"""
Case = Callable[[Path], bool]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--writes", type=int, default=0, help="failing writes for each error (default: 24, or 2 with --quick)")


def run(options: argparse.Namespace) -> dict[str, object]:
    writes = options.writes or (_QUICK_WRITES if options.quick else _WRITES)
    kinds: Counter[str] = Counter()
    which: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        pipeline, corpus = make_pipeline(base), make_corpus(base, _FILES)
        reference = plan_run(corpus, pipeline, base / "reference")
        driver(reference).wait()
        wanted = outputs(reference)
        for name, (kind, case) in _cases(writes, corpus, base).items():
            out = plan_run(corpus, pipeline, base / name.replace(" ", "-"))
            kinds[kind] += 1
            is_right = case(out)
            run_batch(out, workers=1)
            if not is_right or outputs(out) != wanted:
                which.append(name)
    figures: dict[str, object] = {"cases": sum(kinds.values()), "wrong": len(which), "by_kind": dict(sorted(kinds.items()))}
    if which:
        sys.exit(f"wrong must be 0: {figures | {'which': which}}")
    return figures


def _cases(writes: int, corpus: Path, base: Path) -> dict[str, tuple[str, Case]]:
    found: dict[str, tuple[str, Case]] = {}
    for name in ("ENOSPC", "EIO"):
        for count in range(1, writes + 1):
            found[f"{name} at write {count}"] = name, _failing_disk(_DISK.format(count=count, name=name))
    found["a killing shard"] = "poison", _make_poisoned("os.kill(os.getpid(), signal.SIGKILL)", "batch-worker-died")
    found["a failing shard"] = "poison", _make_poisoned("raise ValueError('patient Smith')", "internal-error")
    found["two drivers"] = "two drivers", _two_drivers
    found["a changed input"] = "changed", lambda out: _judge_changed_input(out, corpus / "00001.jsonl")
    found["a changed packed input"] = "changed", lambda out: _judge_changed_input(out, corpus / PACKED)
    found["a changed pipeline"] = "changed", lambda out: _judge_changed_pipeline(out, base / "pipeline" / "pipeline.json")
    found["a torn output"] = "torn", _judge_torn_output
    found["a newer receipt"] = "newer", _newer_plan
    found["no folder for outputs"] = "unwritable", _unwritable
    if writes > _QUICK_WRITES:  # not with --quick, because starting a Ray cluster takes half a minute
        found["a cluster shrunk to one CPU"] = "shrunk", _shrunk
    return found


def _refusal(out: Path, engine: Any = None) -> str:
    """Do a run, and return its error code, or an empty string if it succeeds."""
    try:
        run_batch(out, engine=engine or LocalEngine(1))
    except OnymError as e:
        return e.code
    return ""


def _failing_disk(worker: str) -> Case:
    def case(out: Path) -> bool:
        code = _refusal(out, LocalEngine(1, [sys.executable, "-c", worker]))
        is_clean = not list((out / "shards").glob(".*"))
        # a run without an error has fewer writes than the number of the write that should fail
        return is_clean and (code == "output-failed" or (code == "" and status(out).is_done))

    return case


def _make_poisoned(act: str, code: str) -> Case:
    def case(out: Path) -> bool:
        run_batch(out, engine=LocalEngine(2, [sys.executable, "-c", _POISON.format(act=act)]))
        ledger = status(out)
        text = json.dumps([each.what for each in ledger.quarantined.values()])
        return {2: code} == {n: each.code for n, each in ledger.quarantined.items()} and "Smith" not in text and _rest(ledger)

    return case


def _rest(ledger: Any) -> bool:
    return len(ledger.receipts) == len(ledger.plan.shards) - 1


def _two_drivers(out: Path) -> bool:
    drivers = [driver(out), driver(out)]
    return [each.wait() for each in drivers] == [0, 0] and status(out).is_done


def _judge_changed_input(out: Path, path: Path) -> bool:
    before = path.read_bytes()
    path.write_bytes(gzip.compress(gzip.decompress(before)[:-1]) if path.name == PACKED else before.replace(b"more", b"less"))
    run_batch(out, workers=1)
    ledger = status(out)
    path.write_bytes(before)
    codes = {each.code for each in ledger.quarantined.values()}
    shards = {shard.number for shard in ledger.plan.shards if shard.groups[0].files[0].member == path.name}
    rest = len(ledger.plan.shards) - len(shards)
    return codes == {"batch-input-changed"} and set(ledger.quarantined) == shards and len(ledger.receipts) == rest > 0


def _judge_changed_pipeline(out: Path, path: Path) -> bool:
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"top_k": 10', b'"top_k": 9'))
    code = _refusal(out)
    path.write_bytes(before)
    return code == "batch-pipeline-changed" and not status(out).receipts


def _judge_torn_output(out: Path) -> bool:
    run_batch(out, workers=1)
    path = out / "shards" / "000001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    return [shard.number for shard in status(out).open_shards] == [1]


def _newer_plan(out: Path) -> bool:
    path = out / "plan.json"
    before = path.read_text()
    path.write_text(before.replace('"format": 1,', '"format": 2,', 1))
    code = _refusal(out)
    path.write_text(before)
    return code == "batch-version"


def _shrunk(out: Path) -> bool:
    """Remove one of two nodes from a running cluster: the other one must finish the run."""
    killed, _ = kill_nodes(out, 1)
    return killed == 1 and status(out).is_done


def _unwritable(out: Path) -> bool:
    (out / "shards").write_text("a file where the folder should be")
    code = _refusal(out)
    (out / "shards").unlink()
    return code == "output-failed"
