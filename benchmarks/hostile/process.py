"""A process that opens hostile files: it has imported everything, waits, and answers lines of JSON or is given up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from queue import Empty, Queue
from threading import Thread
from typing import Any

_START_S = 600.0


class Worker:
    """A worker of a module; `patience` is how many seconds an answer may take."""

    def __init__(self, module: str, *arguments: str, patience: float, stderr: int | None = None) -> None:
        command = [sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self._lines: Queue[str] = Queue()
        self._is_idle = False
        self._patience = patience
        Thread(target=self._listen, daemon=True).start()

    def wait_until_idle(self) -> None:
        if not self._is_idle:
            if not self._lines.get(timeout=_START_S):
                sys.exit("a worker did not start")
            self._is_idle = True

    def ask(self, request: list[str]) -> dict[str, Any]:
        """Have a file opened; a process that does not answer in time, or dies, has not refused it."""
        assert self._process.stdin is not None
        started = time.perf_counter()
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=self._patience)
        except Empty:
            line = ""
        if line:
            return dict(json.loads(line))
        code = "!hangs" if self._process.poll() is None else "!dies"
        return {"code": code, "seconds": time.perf_counter() - started, "mb": 0.0, "idle": 0.0}

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in iter(self._process.stdout.readline, ""):
            self._lines.put(line)
        self._lines.put("")
