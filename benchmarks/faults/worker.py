"""A process that runs one command again and again, with the library of `shim.py`.

    python -m benchmarks.faults.worker FOLDER NAME

It first prepares FOLDER/base: the command's inputs, and the output of an earlier run. That, or another folder there, is what
a run starts from; FOLDER/work is where it runs. A line of JSON on stdin is a run, `[call, error, is_lasting, folder]`; the
answer is `[status, message, state]`. Everything is imported once: a run is a fork. A training forks when it publishes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from benchmarks.faults.commands import COMMANDS, Command, state_of, write_inputs
from benchmarks.faults.shim import arm, disarm
from onym.cli import app as onym_app
from onym.cli import boundary

HANGS = 120  # seconds
_HUNG = 98


class Fault(NamedTuple):
    """The number of the call that fails, the error, whether a disk stays full, and the folder that the run starts from."""

    call: int
    error: int
    is_lasting: bool
    source: str


class Runs:
    """The runs that are asked for, and where they are answered."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.command = folder, command
        self.base, self.work = folder / "base", folder / "work"
        self._answers = os.fdopen(os.dup(1), "w")

    def prepare(self) -> None:
        """Make what runs start from."""
        self.work.mkdir(parents=True)
        write_inputs(self.work, needs_model=self.command.needs_model)
        for arguments in self.command.earlier:
            if self._is_child_run():
                run_command(arguments)
        self.work.rename(self.base)

    def faults(self) -> Iterator[Fault]:
        for line in sys.stdin:
            yield Fault(*json.loads(line))

    def fork(self, fault: Fault) -> bool:
        """Fork, and answer for the child when it has ended; return whether this is the child, which is now in danger."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.folder / fault.source, self.work)
        child = os.fork()
        if child == 0:
            self._enter()
            record = os.open(self.folder / "record", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            arm(self.work, fault.call, fault.error, is_lasting=fault.is_lasting, record=record)
            return True
        status = self._ended(child)
        message = (self.folder / "messages").read_text(errors="replace")
        self.answer([status, message, state_of(self.command, self.work)])
        return False

    def answer(self, value: Any) -> None:
        self._answers.write(json.dumps(value) + "\n")
        self._answers.flush()

    def _is_child_run(self) -> bool:
        """Fork for a run without danger; return whether this is the child."""
        child = os.fork()
        if child == 0:
            self._enter()
            return True
        if self._ended(child):
            sys.exit(f"the preparation fails: {(self.folder / 'messages').read_text()}")
        return False

    def _enter(self) -> None:
        """Go where the command runs, and let what it says go to a file."""
        os.chdir(self.work)
        messages = os.open(self.folder / "messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(messages, 1)
        os.dup2(messages, 2)

    def _ended(self, child: int) -> int:
        """Wait for a child, return its status, and import what it imported, so that later ones do not have to."""
        status, path = _status_of(child), self.folder / "modules"
        for name in path.read_text().split() if path.exists() else ():
            if name not in sys.modules:
                with suppress(Exception):
                    import_module(name)
        path.unlink(missing_ok=True)
        return status


def main(folder: Path, name: str) -> None:
    onym_app.app = get_command(onym_app.app)  # type: ignore[assignment]  # all options of all commands, made once
    runs = Runs(folder, COMMANDS[name])
    runs.prepare()
    if name == "train":
        _train(runs)
    runs.answer("ready")
    for fault in runs.faults():
        if runs.fork(fault):
            run_command(runs.command.arguments)


def _train(runs: Runs) -> None:
    """Train once; when the model is to be published, fork for each fault."""
    import onym.train.run as training

    own = training.publish

    def publish(context: Any, trainer: Any, dest: Path) -> None:
        shutil.rmtree(runs.base)
        shutil.copytree(runs.work, runs.base)  # with what the training has written so far
        runs.answer("ready")
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
    """Run a command of Onym as the shell would, and end this process with its status."""
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
