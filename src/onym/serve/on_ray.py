"""Linkers as replicas of a Ray Serve deployment, for many machines: `onym serve --engine ray`, with `onym[serve,ray]`.

Onym's own HTTP process still does admission, limits, deadlines and queueing; Ray's HTTP proxy is disabled. A pool has one lane
per replica, up to the maximum number of replicas. A lane sends a batch to the deployment and waits. Ray chooses the replica,
replaces dead replicas, and scales their number with the load. Each release is a Ray Serve application of its own.

`Replica` and `release_of` run on the cluster. Jobs and replies are JSON. Errors are passed as codes, because the message of an
exception may contain request text, which would go through Ray.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from onym.batch.on_ray import LOCAL, cluster
from onym.errors import ConfigError, OnymError, is_failure, missing_extra, to_onym_error
from onym.packs.locate import locate
from onym.serve.answers import JobRunner, Said
from onym.serve.process import BusyError, ProcessEndedError
from onym.serve.settings import ServeSettings
from onym.workers import error_reply, require_no_error

FAILED = "serve-cluster-failed"
_START_S = 600.0  # timeout in seconds for all replicas to be ready; long, because a cluster may have to add machines
_LOOK_S = 0.1  # seconds between two checks of the deployment's status
_QUIET = {"log_level": "ERROR", "enable_access_log": False}
_OUT_OF_TIME = 4  # exit status of a replica whose caller cancelled the request after a timeout


@contextmanager
def serving(settings: ServeSettings) -> Iterator[Callable[[Path], Replicas]]:
    """Connect to a cluster, and yield a function that creates the replicas of a release."""
    cpus = 2 * len(settings.pipelines) * _max_replicas(settings)  # twice, because a reload runs two releases at once
    with cluster(settings.address or LOCAL, cpus) as ray:
        try:
            from ray import serve
        except ImportError as e:
            raise missing_extra("the engine of Ray clusters", "ray") from e
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        with _code_errors("could not start Ray Serve"):
            serve.start(proxy_location="Disabled", http_options={"location": "NoServer"}, logging_config=_QUIET)
        yield lambda _: Replicas(ray, serve, settings)


class Replicas:
    """The deployment of one release. The pool uses it through lanes; opening the first lane starts the deployment."""

    def __init__(self, ray: Any, serve: Any, settings: ServeSettings) -> None:
        self.size = _max_replicas(settings)
        self.name = f"onym-{secrets.token_hex(8)}"
        self._ray, self._serve, self._settings = ray, serve, settings
        self._lanes = 0
        self._deploying: asyncio.Task[dict[str, str]] | None = None
        self._handle: Any = None

    async def start(self) -> Lane:
        """Return a new lane."""
        self._lanes += 1
        return Lane(self, self._lanes)

    async def open(self, lane: int, folder: Path, opening: Mapping[str, Any]) -> dict[str, Any]:
        """Return the release of the deployment. A lane that replaces a dead one gets the release that the folder has now."""
        is_path = folder.is_file() or locate(folder) == folder  # otherwise it is the name of an installed pipeline
        path = str(folder.absolute() if is_path else folder)
        if lane > self.size:
            return await self._release(path, opening)
        if self._deploying is None:
            self._deploying = asyncio.create_task(self._deploy(path, opening))
        return await self._deploying

    async def answers(self, jobs: Sequence[dict[str, Any]]) -> list[tuple[int, bytes]]:
        """Return the replies of a replica."""
        response = self._handle.of.remote(json.dumps(jobs).encode())
        try:
            return list(await response)
        except asyncio.CancelledError:
            response.cancel()
            raise
        except self._serve.exceptions.BackPressureError:
            raise BusyError from None
        except Exception:
            raise ProcessEndedError from None  # `from None`, because errors of Ray may contain request text

    async def close(self) -> None:
        """Delete the deployment, if it was started."""
        if self._deploying is None:
            return
        self._deploying.cancel()
        await asyncio.gather(self._deploying, return_exceptions=True)
        with suppress(Exception):  # the cluster may have been shut down
            await asyncio.to_thread(self._serve.delete, self.name)

    async def _release(self, folder: str, opening: Mapping[str, Any]) -> dict[str, Any]:
        """Open the folder in a process of the cluster and return its release. The process then exits, to free its memory."""
        look = self._ray.remote(num_cpus=0, max_retries=0, max_calls=1)(release_of)
        with _code_errors("a node of the cluster could not open the pipeline"):
            reply: dict[str, Any] = await look.remote(folder, opening)
        require_no_error(reply)
        return reply

    async def _deploy(self, folder: str, opening: Mapping[str, Any]) -> dict[str, Any]:
        release = await self._release(folder, opening)
        deployment = self._serve.deployment(Replica, name="linker", **_options(self._settings))
        application = deployment.bind(folder, opening, release["release"])
        target = self._serve.RunTarget(target=application, name=self.name, route_prefix=None, logging_config=_QUIET)
        with _code_errors("could not start the replicas"):
            async with asyncio.timeout(_START_S):
                await asyncio.to_thread(self._serve.run_many, [target], wait_for_applications_running=False)
                await self._wait_until_ready()
        self._handle = self._serve.get_app_handle(self.name)
        return release

    async def _wait_until_ready(self) -> None:
        while (status := (await asyncio.to_thread(self._serve.status)).applications[self.name].status) != "RUNNING":
            if status == "DEPLOY_FAILED":
                what = "could not start the replicas: DEPLOY_FAILED"
                raise ConfigError(
                    FAILED, what, fix="install the same version of Onym on each node, with the pipeline at the same path"
                )
            await asyncio.sleep(_LOOK_S)


class Lane:
    """A linker that sends one batch at a time to the replicas of a release."""

    def __init__(self, replicas: Replicas, number: int) -> None:
        self._replicas, self.pid = replicas, number
        self._replies: deque[tuple[int, bytes]] = deque()
        self.release: dict[str, Any] = {}
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def label(self) -> str:
        """Name for logs."""
        return "a replica"

    async def open(self, pipeline: Path, opening: Mapping[str, Any]) -> None:
        """Wait until the replicas are ready, and set `release`."""
        self.release = await self._replicas.open(self.pid, pipeline, opening)

    async def send(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Send jobs to a replica and wait for its replies."""
        self._replies = deque(await self._replicas.answers(jobs))

    async def reply(self) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON of the next job."""
        if not self._replies:
            raise ProcessEndedError
        return self._replies.popleft()

    async def end(self) -> int:
        """End the lane. Its replicas are ended by Ray."""
        if not self.ended.done():
            self.ended.set_result(0)
        return self.ended.result()


def _max_replicas(settings: ServeSettings) -> int:
    return settings.max_workers or settings.workers


def _options(settings: ServeSettings) -> dict[str, Any]:
    """Return the options of the deployment: each replica runs one batch at a time, and one more per replica may be queued."""
    maximum = _max_replicas(settings)
    scaling = {"min_replicas": settings.workers, "max_replicas": maximum, "target_ongoing_requests": 1}
    replicas = {"num_replicas": maximum} if maximum == settings.workers else {"autoscaling_config": scaling}
    return {
        **replicas,
        "max_ongoing_requests": 1,
        "max_queued_requests": maximum,
        "graceful_shutdown_timeout_s": settings.timeout + 1,
        "graceful_shutdown_wait_loop_s": 0.1,
        "ray_actor_options": {"num_cpus": 1},
    }


@contextmanager
def _code_errors(what: str) -> Iterator[None]:
    """Replace an exception of Ray by a ConfigError with its class name, because its message may contain request text."""
    try:
        yield
    except OnymError:
        raise
    except Exception as e:
        fix = "check the cluster with `ray status`, and that each node has the same version of Onym"
        raise ConfigError(FAILED, f"{what}: {type(e).__name__}", fix=fix) from None


class Replica:
    """A Ray actor with a pipeline of a given release, which answers one batch at a time."""

    def __init__(self, folder: str, opening: Mapping[str, Any], release: str) -> None:
        self._answers = JobRunner.open(folder, opening)
        if self._answers.release["release"] != release:
            raise RuntimeError("the pipeline's folder has another release now")
        self._thread = ThreadPoolExecutor(1)

    async def of(self, jobs: bytes) -> list[Said]:
        """Return a reply for each job. If the caller cancels, the process exits, and Ray starts another."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._answers.of, json.loads(jobs))
        except asyncio.CancelledError:
            os._exit(_OUT_OF_TIME)  # end the whole process, because a hanging thread cannot be killed


def release_of(folder: str, opening: Mapping[str, Any]) -> dict[str, Any]:
    """Open a pipeline on a node of the cluster, and return its release or the error."""
    try:
        return JobRunner.open(folder, opening).release
    except BaseException as e:
        if not is_failure(e):
            raise
        return error_reply(to_onym_error(e, caught_in=__file__))
