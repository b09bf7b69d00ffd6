"""Pools of linkers: the linkers of one release share a queue, and the pool of a new release replaces the old one.

A release is the state of a pipeline's folder when it was opened. A linker is a local process (`onym.serve.process`) or a
replica in a Ray cluster (`onym.serve.on_ray`). A linker that dies is replaced. A reload opens the folder with new linkers. Once
all of them are ready, they get the new requests, and the old linkers finish theirs: each request is answered by one release.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from onym.errors import IntegrityError, OnymError
from onym.serve.bodies import ClientGoneError, Receive, wait_until_gone
from onym.serve.jobs import Job, JobQueue, JobReply, Pace
from onym.serve.process import BusyError, ProcessEndedError
from onym.serve.refusals import dead_worker_error, not_ready_error, overload_error, timeout_error
from onym.serve.settings import ServeSettings

_log = logging.getLogger("onym.serve")
_GRACE_S = 1.0  # a process is killed this many seconds after the last deadline of its jobs
_PAUSE_S, _MAX_PAUSE_S = 0.1, 10.0  # first and longest pause in seconds between attempts to start a process


class PoolWatch(Protocol):
    """Callbacks for finished batches and dead processes."""

    def batch(self, jobs: Sequence[Job], waited: float, seconds: float) -> None:
        """Handle an answered batch of jobs."""

    def death(self) -> None:
        """Handle the exit of a linker."""


class JobLinker(Protocol):
    """A linker, which takes one batch of jobs at a time. When it dies, calls raise `ProcessEndedError` and `ended` is done."""

    release: dict[str, Any]
    ended: asyncio.Future[int]

    @property
    def pid(self) -> int:
        """Process id or another unique number."""

    @property
    def label(self) -> str:
        """Name for logs."""

    async def open(self, pipeline: Path, options: Mapping[str, Any]) -> None:
        """Open a pipeline with options that apply to all requests, and set `release`."""

    async def send(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Send jobs, which are answered in order; raise `BusyError` if the linker accepts none now."""

    async def reply(self) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON of the next job."""

    async def end(self) -> int:
        """Kill the linker and return its exit status."""


class Linkers(Protocol):
    """Starts the linkers of a pool: `size` linkers at first, and a replacement for each one that dies."""

    size: int

    async def start(self) -> JobLinker:
        """Start a linker. Call its `open` before sending jobs."""

    async def close(self) -> None:
        """Release shared resources, after all linkers have ended."""


class LinkerPool:
    """The linkers of one pipeline folder, all of the same release."""

    def __init__(
        self,
        folder: Path,
        settings: ServeSettings,
        watch: PoolWatch,
        linkers: Linkers,
        on_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder, self._settings, self._watch = folder, settings, watch
        self._linkers, self._on_changed = linkers, on_changed
        self.queue = JobQueue(settings.batch_characters)
        self.release: dict[str, Any] = {}
        self._open: set[JobLinker] = set()
        self._started_processes: set[JobLinker] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._pace = Pace()
        self._busy_jobs = self._busy_characters = 0
        self._users = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def pids(self) -> list[int]:
        """The ids of the linkers that are ready."""
        return [process.pid for process in self._open]

    @property
    def seconds_until_start(self) -> float:
        """Expected queueing time of a new job in seconds, estimated from recent batches."""
        jobs, characters = len(self.queue) + self._busy_jobs, self.queue.characters + self._busy_characters
        return self._pace.seconds(jobs, characters) / self._linkers.size

    async def start(self) -> None:
        """Start all linkers. If any of them fails, raise the first error."""
        try:
            await self._start()
        except BaseException:
            await self._linkers.close()
            raise

    async def _start(self) -> None:
        first = await asyncio.gather(*(self._start_linker() for _ in range(self._linkers.size)), return_exceptions=True)
        processes = [each for each in first if not isinstance(each, BaseException)]
        error = next((each for each in first if isinstance(each, BaseException)), None)
        if error is None and any(process.release != processes[0].release for process in processes):
            what = "the folder of the pipeline changed while it was opened"
            error = IntegrityError(
                "serve-release",
                what,
                where=str(self._folder),
                fix="start or reload the service once the folder has stopped changing",
            )
        if error is not None:
            for process in processes:
                await process.end()
            raise error if not isinstance(error, ProcessEndedError) else dead_worker_error()
        self.release = processes[0].release
        self._open.update(processes)
        self._tasks = [asyncio.create_task(self._keep(process)) for process in processes]

    @contextmanager
    def use(self) -> Iterator[LinkerPool]:
        """Keep the linkers of this release running until the block ends, even if another release is opened."""
        self._users += 1
        self._idle.clear()
        try:
            yield self
        finally:
            self._users -= 1
            if not self._users:
                self._idle.set()

    def put(self, content: dict[str, Any], characters: int) -> Job:
        """Queue a job; the caller awaits its `reply` until its deadline."""
        loop = asyncio.get_running_loop()
        job = Job(content, max(1, characters), loop.time() + self._settings.timeout, loop.create_future())
        self.queue.put(job)
        return job

    async def close(self) -> None:
        """Wait until no request uses the linkers, then end them."""
        await self._idle.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(process.end() for process in self._started_processes))
        await self._linkers.close()

    async def _start_linker(self) -> JobLinker:
        process = await self._linkers.start()
        self._started_processes.add(process)
        process.ended.add_done_callback(lambda _: self._started_processes.discard(process))
        try:
            await process.open(self._folder, self._settings.opening)
        except BaseException:
            await process.end()
            raise
        return process

    async def _keep(self, process: JobLinker) -> None:
        """Run a linker, and replace it whenever it dies, until the task is cancelled."""
        while True:
            try:
                self._open.add(process)
                await self._work(process)
            finally:
                self._open.discard(process)
                status = await process.end()
            self._watch.death()
            _log.error("%s died with status %d; starting another one", process.label, status)
            process = await self._replace_linker()

    async def _replace_linker(self) -> JobLinker:
        pause = _PAUSE_S
        while True:
            try:
                process = await self._start_linker()
                if process.release == self.release:
                    return process
                await process.end()
                _log.warning("the pipeline's folder has a new release; reloading it")
                self._on_changed()
            except (OnymError, ProcessEndedError) as e:
                _log.error("could not start a linker: %s", getattr(e, "code", "it died"))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_S)

    async def _work(self, process: JobLinker) -> None:
        """Send batches to a linker until it dies. Its death is also noticed while it waits for a batch."""
        while not process.ended.done():
            taking = asyncio.ensure_future(self.queue.take())
            try:
                await asyncio.wait((taking, process.ended), return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                taking.cancel()
                raise
            if not taking.done():
                taking.cancel()
                with suppress(asyncio.CancelledError):
                    await taking
                return
            if process.ended.done():
                self.queue.put_back(taking.result())
                return
            if not await self._answer(process, taking.result()):
                return

    async def _answer(self, process: JobLinker, jobs: Sequence[Job]) -> bool:
        """Send jobs to a linker and set their replies; return whether the linker can still be used."""
        loop = asyncio.get_running_loop()
        began, characters = loop.time(), sum(job.characters for job in jobs)
        self._busy_jobs += len(jobs)
        self._busy_characters += characters
        try:
            async with asyncio.timeout_at(max(job.deadline for job in jobs) + _GRACE_S):
                await process.send([job.content for job in jobs])
                for job in jobs:
                    status, body = await process.reply()
                    if not job.reply.done():
                        job.reply.set_result(JobReply(status, body, self.release["release"]))
        except BusyError:
            _refuse(jobs, overload_error)
            return True
        except (ProcessEndedError, TimeoutError) as e:
            _refuse(jobs, timeout_error if isinstance(e, TimeoutError) else dead_worker_error)
            return False
        except asyncio.CancelledError:
            _refuse(jobs, dead_worker_error)
            raise
        finally:
            self._busy_jobs -= len(jobs)
            self._busy_characters -= characters
        seconds = loop.time() - began
        self._pace.hear(len(jobs), characters, seconds)
        self._watch.batch(jobs, began - jobs[0].since, seconds)
        return True


def _refuse(jobs: Sequence[Job], reason: Callable[[], OnymError]) -> None:
    for job in jobs:
        if not job.reply.done():
            job.reply.set_exception(reason())


MakePool = Callable[[Path, Callable[[], None]], LinkerPool]


class ServedPipeline:
    """A pipeline folder, with the pool of its current release."""

    def __init__(self, name: str, folder: Path, make_pool: MakePool) -> None:
        self.name, self.folder = name, folder
        self._make_pool = make_pool
        self._current: LinkerPool | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self._lock = asyncio.Lock()

    @property
    def current(self) -> LinkerPool:
        """The pool for new requests; raises if the pipeline is not open yet."""
        if self._current is None:
            raise not_ready_error()
        return self._current

    @property
    def is_ready(self) -> bool:
        """True if at least one linker is ready."""
        return self._current is not None and bool(self._current.pids)

    async def open(self) -> None:
        """Open or reopen the folder; if this fails, the current pool is kept."""
        async with self._lock:
            pool = self._make_pool(self.folder, self._schedule_reload)
            await pool.start()
            before, self._current = self._current, pool
        _log.info("pipeline %s is ready: release %s", self.name, pool.release["release"])
        if before is not None:
            self._run_in_background(before.close())

    async def reload(self) -> bool:
        """Reopen the folder; log the error and return False if this fails."""
        try:
            await self.open()
        except OnymError as e:
            _log.error("could not reload pipeline %s, keeping the old release: [%s] %s", self.name, e.code, e.what)
            return False
        return True

    async def close(self) -> None:
        """Finish all requests, then end all linkers."""
        pools = [] if self._current is None else [self._current.close()]
        await asyncio.gather(*pools, *self._background)

    def _schedule_reload(self) -> None:
        if not self._lock.locked():
            self._run_in_background(self.reload())

    def _run_in_background(self, act: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(act)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


async def ask(pool: LinkerPool, content: dict[str, Any], characters: int, receive: Receive) -> JobReply:
    """Return the pool's reply to a job; drop the job if the client disconnects or the deadline passes."""
    job = pool.put(content, characters)
    gone = asyncio.ensure_future(wait_until_gone(receive))
    try:
        await asyncio.wait((job.reply, gone), timeout=seconds_until_deadline(job), return_when=asyncio.FIRST_COMPLETED)
        if job.reply.done():
            return job.reply.result()
        raise ClientGoneError if gone.done() else timeout_error()
    finally:
        gone.cancel()
        if not job.reply.done():
            pool.queue.drop(job)


def seconds_until_deadline(job: Job) -> float:
    """Return the seconds that are left until the deadline of a job."""
    return max(0.0, job.deadline - asyncio.get_running_loop().time())
