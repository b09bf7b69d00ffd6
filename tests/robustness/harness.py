"""Run a function of a suite in child processes that may crash or hang.

A suite defines `work(channel, *arguments)`. A `Worker` is a child process that imports the suite and calls `work`, which does
its setup and then handles requests with `channel.serve`. Requests and responses are lines of JSON. If the child dies or exceeds
its timeout, the parent gets a `LostError`. A `Seat` restarts its worker after that; `judge_all` runs cases on several seats in
parallel.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread
from typing import Any, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")
ROOT = Path(__file__).parents[2]
_READY = "ready"
_START_S = 600.0


class LostError(Exception):
    """Raised when a child process does not answer; `how` is `hangs` or `dies`."""

    def __init__(self, how: str, status: int | None, seconds: float) -> None:
        super().__init__(how)
        self.how, self.status, self.seconds = how, status, seconds


class Channel:
    """The child's side of the connection. It redirects stdout to stderr, so that prints do not mix with the responses."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def serve(self, answer: Callable[[Any], Any]) -> None:
        """Signal that setup is done, then answer requests until stdin is closed."""
        self.send_ready()
        for request in self.requests():
            self.send(answer(request))

    def send_ready(self) -> None:
        self.send(_READY)

    def requests(self) -> Iterator[Any]:
        for line in sys.stdin:
            yield json.loads(line)

    def send(self, value: Any) -> None:
        self._answers.write(json.dumps(value) + "\n")
        self._answers.flush()


class Worker:
    """A child process that runs `work`; `patience` is the timeout of a request in seconds."""

    def __init__(
        self,
        work: Callable[..., None],
        *arguments: str,
        patience: float,
        env: Mapping[str, str] | None = None,
        is_quiet: bool = False,
    ) -> None:
        command = [sys.executable, "-m", __name__, f"{work.__module__}:{work.__name__}", *arguments]
        stderr = subprocess.DEVNULL if is_quiet else None
        environment = {**os.environ, **(env or {}), "PYTHONPATH": _python_path()}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
        )
        self._lines: Queue[str] = Queue()
        self._is_ready = False
        self._patience = patience
        Thread(target=self._listen, daemon=True).start()

    def wait_until_ready(self) -> None:
        if not self._is_ready:
            if not self._lines.get(timeout=_START_S):
                sys.exit("a child process did not start")
            self._is_ready = True

    def ask(self, request: Any, patience: float | None = None) -> Any:
        """Send a request and return the response."""
        self.wait_until_ready()
        started = time.perf_counter()
        try:
            line = self._line(request, patience or self._patience)
        except Empty:
            raise LostError("hangs", None, time.perf_counter() - started) from None
        except OSError:
            line = ""
        if not line:
            raise self._describe_end(time.perf_counter() - started)
        return json.loads(line)

    def _line(self, request: Any, patience: float) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._lines.get(timeout=patience)

    def _describe_end(self, seconds: float) -> LostError:
        """Build the error for a process that ended. The signal SIGPROF means that the suite's CPU timer stopped a hang."""
        status = self._process.wait()
        return LostError("hangs" if status == -signal.SIGPROF else "dies", status, seconds)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in iter(self._process.stdout.readline, ""):
                self._lines.put(line)
        except ValueError:  # the pipe was closed together with the worker
            pass
        self._lines.put("")


class Seat:
    """A slot for one worker, which is started on the first request and again after it was lost or dismissed."""

    def __init__(self, start: Callable[[], Worker]) -> None:
        self._start = start
        self._worker: Worker | None = None

    def ask(self, request: Any, patience: float | None = None) -> Any:
        self._worker = self._worker or self._start()
        try:
            return self._worker.ask(request, patience)
        except LostError:
            self.dismiss()
            raise

    def dismiss(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()


def judge_all(cases: Iterable[T], start: Callable[[], Worker], judge: Callable[[Seat, T], R], seats: int) -> list[R]:
    """Judge cases in parallel on `seats` workers; yield results in order of completion."""
    rest, lock = iter(cases), Lock()
    found: list[R] = []

    def sit(_: int) -> None:
        with Seat(start) as seat:
            while True:
                with lock:
                    case = next(rest, lock)
                if case is lock:
                    return
                found.append(judge(seat, case))  # type: ignore[arg-type]

    with ThreadPoolExecutor(seats) as pool:
        list(pool.map(sit, range(seats)))
    return found


class Meter:
    """Measures time and peak memory growth of an action in this process, and whether its memory was released afterwards.

    The process counts as idle if it has grown by at most `spare_mb`. With `is_busy_only`, `seconds` is the smaller of wall time
    and CPU time, so that neither waiting for a core nor using several threads counts.
    """

    def __init__(self, spare_mb: float, *, is_busy_only: bool, give_back: Callable[[], None] | None = None) -> None:
        self._spare_mb, self._is_busy_only, self._give_back = spare_mb, is_busy_only, give_back
        gc.collect()
        self._idle = _memory_mb("VmRSS")

    def measure(self, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Call `act` and return its result with `seconds`, `mb` and `idle` added."""
        before = _memory_mb("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak memory (VmHWM)
        started, used = time.perf_counter(), time.process_time()
        found = act()
        seconds, busy = time.perf_counter() - started, time.process_time() - used
        mb = _memory_mb("VmHWM") - before
        gc.collect()
        if self._give_back:
            self._give_back()
        is_idle = _memory_mb("VmRSS") < self._idle + self._spare_mb
        return {**found, "seconds": min(seconds, busy) if self._is_busy_only else seconds, "mb": mb, "idle": is_idle}


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Use `folder` as the cache directory within the block, as on a machine that has not verified any file yet."""
    before = os.environ.get("ONYM_CACHE")
    os.environ["ONYM_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("ONYM_CACHE")
        if before is not None:
            os.environ["ONYM_CACHE"] = before


def _python_path() -> str:
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def _memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def main(target: str, *arguments: str) -> None:
    module, _, name = target.partition(":")
    getattr(import_module(module), name)(Channel(), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
