"""Run commands that write, repeatedly, on a file system whose calls fail or are recorded.

`shim.c` intercepts the file system calls of a process. It is compiled here, loaded with LD_PRELOAD, and controlled from within
the process.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from onym.cli import app as onym_app
from onym.cli import boundary
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.methods.dense.index import open_index
from onym.review.desk import open_desk
from tests.robustness.children import Child, requests

_SOURCE = Path(__file__).with_name("shim.c")
LIST, NOTHING = -1, 0  # values of `at` for runs without a failing call: list all calls, or only record writes


def compile_library(folder: Path) -> Path:
    """Compile `shim.c` into a folder."""
    library = folder / "shim.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("this benchmark needs gcc: run `apt-get install -y gcc`")
    return library


def environment(library: Path, cache: Path) -> dict[str, str]:
    """Return the environment variables that load the library."""
    own = {"LD_PRELOAD": str(library), "ONYM_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    return {**own, "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "200"}


def arm(folder: Path, at: int, error: int, *, is_lasting: bool = False, record: int = -1) -> None:
    """Start counting calls on files below `folder`, and make call number `at` fail with `error`; 0 means a short write.

    `record` is an open file. If `at` is `LIST`, every call is written to it; if `NOTHING`, only calls that change a file.
    """
    library = ctypes.CDLL(None)
    numbers = [ctypes.c_long(value) for value in (at, error, is_lasting, record)]
    library.shim_arm(os.fsencode(folder), *numbers)


def disarm() -> int:
    """Stop counting; return the number of calls."""
    return int(ctypes.CDLL(None).shim_disarm())


# Commands that replace an earlier output: how each is prepared, run, and checked.

_KBS = {
    "old": "id\tname\tsynonyms\nmesh:D1\tFever\tPyrexia\nmesh:D2\tCough\t\n",
    "new": "id\tname\tsynonyms\nmesh:D1\tFever\tPyrexia|High temperature\nmesh:D3\tHeadache\tCephalalgia\n",
}
_TEXT = "1|t|Fever and cough.\n1|a|A headache, and fever again.\n1\t0\t5\tFever\tDisease\tD1\n1\t10\t15\tcough\tDisease\tD2\n\n"
_EARLIER_TEXT = "1|t|Fever.\n1|a|Fever again.\n1\t0\t5\tFever\tDisease\tD1\n\n"
_TRAINING = """
[start]
model = "{0}/encoder"
[data]
kb = "{0}/kb"
[optim]
steps = 1
batch_size = 2
"""


ACCOUNTED = "accounted"
"""The output of a run that could not read its input, and said so: whole, without it."""
UNFINISHED = ", without its audit table"
"""Ends the state of migrated annotations without an audit table: they are whole, and the run that made them did not finish."""


@dataclass(frozen=True)
class Command:
    """An Onym command in a folder. `identify` returns an identifier of its output (equal for equal outputs), or None.

    The commands in `earlier` make its inputs and the earlier output.
    """

    name: str
    arguments: tuple[str, ...]
    identify: Callable[[Path], str | None]
    earlier: tuple[tuple[str, ...], ...]
    needs_model: bool = False


def write_inputs(folder: Path, *, needs_model: bool) -> None:
    """Write the inputs of the commands."""
    for name, rows in _KBS.items():
        (folder / f"{name}.tsv").write_text(rows)
    (folder / "text.txt").write_text(_TEXT)
    (folder / "earlier.txt").write_text(_EARLIER_TEXT)
    (folder / "train.toml").write_text(_TRAINING.format(folder))
    if needs_model:
        from tests.support.models import save_encoder

        save_encoder(folder / "encoder")


def _of_kb(folder: Path) -> str | None:
    return KnowledgeBase.open(folder / "kb", verify="full").digest if (folder / "kb" / "CURRENT").exists() else None


def _of_index(folder: Path) -> str | None:
    return open_index(folder / "index", verify="full").digest if (folder / "index" / "CURRENT").exists() else None


def _of_links(folder: Path) -> str | None:
    """Identify the links. If the only document is missing, it must be listed as a failed file in the problems."""
    path = folder / "links.jsonl"
    if not path.exists():
        return None
    if path.stat().st_size:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    problems = path.with_name("links.jsonl.problems.jsonl").read_text().splitlines()
    codes = [json.loads(line)["code"] for line in problems]
    return ACCOUNTED if codes == ["input-unreadable"] else "empty"


def _of_model(folder: Path) -> str | None:
    """Identify a trained model by its weights and files, without its record, which contains the time."""
    model = folder / "model"
    if not model.exists():
        return None
    files = sorted(str(path.relative_to(model)) for path in model.rglob("*") if path.is_file())
    json.loads((model / "training.json").read_bytes())
    return hashlib.sha256((model / "model.safetensors").read_bytes() + " ".join(files).encode()).hexdigest()


def _of_migrated(folder: Path) -> str | None:
    """Identify migrated annotations. An audit table beside them must have a row for each of their ids.

    If the input could not be read to its end, the rest is copied, and the audit table ends before it.
    """
    path, audit = folder / "migrated.txt", folder / "migrated.txt.audit.tsv"
    if not path.exists():
        return "audit table alone" if audit.exists() else None
    rows = [line.split("\t") for line in path.read_text().splitlines() if "\t" in line]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if not audit.exists():
        return digest + UNFINISHED
    links = [(row["start"], row["end"], row["old"]) for row in csv.DictReader(audit.open(encoding="utf-8"), delimiter="\t")]
    expected = [(start, end, f"MESH:{concept}") for _, start, end, _, _, concept in rows]
    if links != expected[: len(links)]:
        raise ValueError("the audit table is that of other annotations")
    return digest if len(links) == len(expected) else ACCOUNTED


def _of_desk(folder: Path) -> str | None:
    """Identify a desk by its links and texts; its id and time differ. Without a text, the command says that it is missing."""
    if not (folder / "desk.sqlite").exists():
        return None
    with open_desk(folder / "desk.sqlite") as desk:
        if desk.facts.missing:
            return ACCOUNTED
        return hashlib.sha256(repr([*desk.links(), *desk.documents()]).encode()).hexdigest()


_KB = ("kb", "build", "old.tsv", "-o", "kb")
_LINK = ("link", "text.txt", "--kb", "kb", "-o", "links.jsonl")
_INDEX = ("index", "build", "kb", "--model", "encoder", "-o", "index", "--device", "cpu")
_TRAIN = ("train", "align", "--config", "train.toml", "-o", "model", "--device", "cpu")
_NEW_KB = ("kb", "build", "new.tsv", "-o", "new-kb")
_MIGRATE = ("--from", "kb", "--to", "new-kb", "-o", "migrated.txt")
_DESK = ("links.jsonl", "--documents", "text.txt", "--kb", "kb", "-o", "desk.sqlite")
COMMANDS = {
    command.name: command
    for command in (
        Command("train", _TRAIN, _of_model, (_KB,), needs_model=True),
        Command("index", (*_INDEX, "--kind", "sq8"), _of_index, (_KB, (*_INDEX, "--kind", "flat")), needs_model=True),
        Command("build", ("kb", "build", "new.tsv", "-o", "kb"), _of_kb, (_KB,)),
        Command("link", (*_LINK, "--format", "jsonl", "--force"), _of_links, (_KB, _LINK)),
        Command(
            "migrate",
            ("migrate", "text.txt", *_MIGRATE, "--force"),
            _of_migrated,
            (_KB, _NEW_KB, ("migrate", "earlier.txt", *_MIGRATE)),
        ),
        Command("review", ("review", "create", *_DESK), _of_desk, (_KB, _LINK)),
        Command("audit", ("audit", "plan", *_DESK), _of_desk, (_KB, _LINK)),
    )
}


def is_old_or_new(state: str, old: str, new: str) -> bool:
    """Return whether an output is the earlier or the new one, with its audit table or known to lack it."""
    return state.removesuffix(UNFINISHED) in (old, new)


def state_of(command: Command, folder: Path) -> str:
    """Return the state of a command's output: its identifier, `absent`, or `torn`."""
    try:
        return command.identify(folder) or "absent"
    except (OnymError, OSError, ValueError, KeyError):
        return "torn"


_AT_ONCE = 2
HANGS = 120  # seconds
_HUNG = 98


class Outcome(NamedTuple):
    """The outcome of a run: its exit status, message, and the state of its output."""

    status: int
    message: str
    state: str


class Writer:
    """A process that runs one of the commands with faults."""

    def __init__(self, child: Child, folder: Path, name: str) -> None:
        self._child, self.folder, self.name = child, folder, name

    def run(self, call: int, error: int = 0, *, is_lasting: bool = False, source: str = "base") -> Outcome:
        """Run the command with a fault, starting from the content of a folder."""
        return Outcome(*self._child.ask([call, error, is_lasting, source]))


def judge_commands(names: Sequence[str], judge: Callable[[Writer], Counter[str]]) -> Counter[str]:
    """Run `judge` for each command and add up the counts. Each command has its own process, and several run in parallel."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        base = Path(folder).resolve()
        library = compile_library(base)

        def judge_one(name: str) -> Counter[str]:
            env = environment(library, base / name / "work" / "cache")
            with closing(Child(work, str(base / name), name, timeout=3 * HANGS, env=env)) as child:
                return judge(Writer(child, base / name, name))

        return sum(pool.map(judge_one, names), Counter())


class Fault(NamedTuple):
    """A fault: the number of the failing call, the error, whether the disk stays full, and the folder to start from."""

    call: int
    error: int
    is_lasting: bool
    source: str


class Runs:
    """The runs of a command, one for each request, and the pipe for the responses."""

    def __init__(self, pipe: Connection, folder: Path, command: Command) -> None:
        self.pipe, self.folder, self.command = pipe, folder, command
        self.base, self.work = folder / "base", folder / "work"

    def prepare(self) -> None:
        """Prepare the folder that runs start from."""
        self.work.mkdir(parents=True)
        write_inputs(self.work, needs_model=self.command.needs_model)
        for arguments in self.command.earlier:
            if self._is_child_run():
                run_command(arguments)
        self.work.rename(self.base)

    def faults(self) -> Iterator[Fault]:
        return (Fault(*request) for request in requests(self.pipe))

    def fork(self, fault: Fault) -> bool:
        """Fork a run with a fault. Return True in the child, where the fault is active; in the parent, send its outcome."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.folder / fault.source, self.work)
        child = os.fork()
        if child == 0:
            self._enter()
            record = os.open(self.folder / "record", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            arm(self.work, fault.call, fault.error, is_lasting=fault.is_lasting, record=record)
            return True
        status = self._wait_for_child(child)
        message = (self.folder / "messages").read_text(errors="replace")
        self.pipe.send([status, message, state_of(self.command, self.work)])
        return False

    def _is_child_run(self) -> bool:
        """Fork for a run without a fault; return True in the child."""
        child = os.fork()
        if child == 0:
            self._enter()
            return True
        if self._wait_for_child(child):
            sys.exit(f"the preparation failed: {(self.folder / 'messages').read_text()}")
        return False

    def _enter(self) -> None:
        """Change to the command's folder, and redirect its output to a file."""
        os.chdir(self.work)
        messages = os.open(self.folder / "messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(messages, 1)
        os.dup2(messages, 2)

    def _wait_for_child(self, child: int) -> int:
        """Wait for a child and return its status. Import the modules that it imported, so that later children start faster."""
        status, path = _status_of(child), self.folder / "modules"
        for name in path.read_text().split() if path.exists() else ():
            if name not in sys.modules:
                with suppress(Exception):
                    import_module(name)
        path.unlink(missing_ok=True)
        return status


def work(pipe: Connection, folder: str, name: str) -> None:
    """Run a command once per request, which describes a fault: `[call, error, is_lasting, folder]`.

    Respond with `[status, message, state]`. First prepare `base`, with the command's inputs and the output of earlier runs. For
    each request, `folder` (usually `base`) is copied to `work`, and a forked process runs the command there, so that modules
    are imported only once. `train` trains once, and forks for each request just before the model is published.
    """
    onym_app.app = get_command(onym_app.app)  # type: ignore[assignment]
    list(onym_app.app.commands.values())  # type: ignore[attr-defined]  # all commands are imported before faults begin
    runs = Runs(pipe, Path(folder), COMMANDS[name])
    runs.prepare()
    if name == "train":
        _train(runs)
    for fault in runs.faults():
        if runs.fork(fault):
            run_command(runs.command.arguments)


def _train(runs: Runs) -> None:
    """Train once, and fork a run for each fault just before the model is published."""
    import onym.train.run as training

    own = training.publish

    def publish(context: Any, trainer: Any, dest: Path) -> None:
        shutil.rmtree(runs.base)
        shutil.copytree(runs.work, runs.base)  # the copy includes everything that the training has written so far
        for fault in runs.faults():
            if runs.fork(fault):
                own(context, trainer, dest)
                return
        os._exit(0)

    training.publish = publish
    shutil.copytree(runs.base, runs.work)
    os.chdir(runs.work)
    run_command(runs.command.arguments)


def run_command(arguments: tuple[str, ...]) -> None:
    """Run an Onym command as from a shell, and exit with its status."""
    sys.argv = ["onym", *arguments]
    try:
        boundary.main()
        status: Any = 0
    except SystemExit as e:
        status = e.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    disarm()
    if not status:
        Path("../modules").write_text(" ".join(sys.modules))
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(status if isinstance(status, int) else 1)


def _status_of(child: int) -> int:
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _HUNG
