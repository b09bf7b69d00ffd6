"""Prometheus metrics of the service: numbers, routes and error codes, never text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from onym.serve.jobs import Job
from onym.serve.pool import ServedPipeline

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_CHARACTERS = (100, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 100_000, 1_000_000)


class Metrics:
    """The metrics of one service.

    >>> metrics = Metrics()
    >>> metrics.note_refusal("serve-token")
    >>> b'onym_refused_total{code="serve-token"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._requests = Counter("onym_requests", "Answered requests.", ["route", "status"], registry=own)
        self._seconds = Histogram("onym_request_seconds", "Time to the answer.", ["route"], buckets=_SECONDS, registry=own)
        self._refused = Counter("onym_refused", "Requests rejected before their body was read.", ["code"], registry=own)
        self._gone = Counter("onym_disconnected", "Requests whose client disconnected.", registry=own)
        self._batches = Histogram("onym_batch_characters", "Characters per batch.", buckets=_CHARACTERS, registry=own)
        self._waited = Histogram("onym_queue_seconds", "Time in the queue.", buckets=_SECONDS, registry=own)
        self._busy = Counter("onym_linker_seconds", "Time that linker processes were busy.", registry=own)
        self._deaths = Counter("onym_linker_deaths", "Linker processes that ended and were replaced.", registry=own)
        self._reloads = Counter("onym_reloads", "Reloads of pipelines.", ["result"], registry=own)

    def watch(self, pipelines: Mapping[str, ServedPipeline], in_flight: Callable[[], int]) -> None:
        """Add gauges of queued jobs, ready linker processes and requests in flight."""
        waiting = Gauge("onym_queue_jobs", "Jobs in the queue.", ["pipeline"], registry=self._registry)
        ready = Gauge("onym_linker_processes", "Linker processes that are ready.", ["pipeline"], registry=self._registry)
        for name, pipeline in pipelines.items():
            waiting.labels(name).set_function(partial(_waiting, pipeline))
            ready.labels(name).set_function(partial(_count_ready, pipeline))
        Gauge("onym_in_flight", "Requests that are being read or answered.", registry=self._registry).set_function(in_flight)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def note_refusal(self, code: str) -> None:
        """Count a rejected request."""
        self._refused.labels(code).inc()

    def note_disconnect(self) -> None:
        """Count a client that disconnected."""
        self._gone.inc()

    def batch(self, jobs: Sequence[Job], waited: float, seconds: float) -> None:
        """Record a batch of jobs."""
        self._batches.observe(sum(job.characters for job in jobs))
        self._waited.observe(waited)
        self._busy.inc(seconds)

    def death(self) -> None:
        """Count a linker process that died."""
        self._deaths.inc()

    def reload(self, *, is_done: bool) -> None:
        """Count a reload."""
        self._reloads.labels("done" if is_done else "failed").inc()

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


def _waiting(pipeline: ServedPipeline) -> int:
    return len(pipeline.current.queue) if pipeline.is_ready else 0


def _count_ready(pipeline: ServedPipeline) -> int:
    return len(pipeline.current.pids) if pipeline.is_ready else 0
