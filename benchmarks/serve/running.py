"""Run `onym serve` in a subprocess on a free local port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import httpx
from tests.robustness.batch.runs import descendants

_PATIENCE_S = 60.0


class Running:
    """A running service, with its address and log."""

    def __init__(
        self,
        pipeline: Path | str,
        log: Path,
        *options: str,
        patience_s: float = _PATIENCE_S,
        python: Sequence[str] = (sys.executable,),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log, self._patience_s = log, patience_s
        command = [*python, "-m", "onym", "serve", "--pipeline", str(pipeline), "--port", "0", *options]
        quiet = subprocess.DEVNULL
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stderr=stderr, stdin=quiet, stdout=quiet, env=env)
        self.url = self._url()

    def _url(self) -> str:
        until = time.monotonic() + self._patience_s
        while not (found := re.search(r"listening on (\S+)", self.read_log())):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(self.read_log())
            time.sleep(0.02)
        return found[1]

    def read_log(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    def wait_until_ready(self) -> None:
        until = time.monotonic() + self._patience_s
        while time.monotonic() < until:
            with suppress(httpx.TimeoutException):  # a timeout is not an error: the machine may be busy
                if httpx.get(f"{self.url}/ready").status_code == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(self.read_log())

    def linker_pids(self) -> list[int]:
        """Return the process ids of the linker processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def replica_pids(self) -> list[int]:
        """Return the process ids of the Ray replicas that the service started."""
        return [pid for pid in descendants(self.process.pid) if "ServeReplica" in _name(pid)]

    def cpu_by_pid(self) -> dict[int, float]:
        """Return the CPU seconds of the service and all its descendants, such as the processes of a Ray cluster."""
        found: dict[int, float] = {}
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            with suppress(OSError):  # raised if the process has ended meanwhile
                found[pid] = self.cpu_s(pid)
        return found

    def cpu_s(self, pid: int = 0) -> float:
        """Return the CPU seconds of a process, including finished threads; by default the HTTP process."""
        fields = Path(f"/proc/{pid or self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number: int = signal.SIGINT) -> int:
        """Stop the service, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(self._patience_s)
        finally:
            self.process.kill()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:  # raised if the process has ended meanwhile
        return ""


class RunningDesk(Running):
    """A running server of a review desk."""

    def __init__(self, desk: Path, kb: Path | str, log: Path, *options: str, patience_s: float = _PATIENCE_S) -> None:
        self.log, self._patience_s = log, patience_s
        command = [sys.executable, "-m", "onym", "review", "serve", str(desk), "--kb", str(kb), "--port", "0", *options]
        quiet = subprocess.DEVNULL
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stderr=stderr, stdin=quiet, stdout=quiet)
        self.url = self._url()
