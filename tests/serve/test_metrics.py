"""Tests of the Prometheus counters and gauges of the service."""

from __future__ import annotations

import asyncio
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from onym.serve.jobs import Job
from onym.serve.metrics import Metrics
from onym.serve.pool import LinkerPool, ServedPipeline
from tests.serve.stub import Ignored, folder_of, settings_of, stubs


def values(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return the parsed samples by name and labels."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_counters() -> None:
    async def act() -> None:
        metrics = Metrics()
        metrics.request("/v1/link", 200, 0.02)
        metrics.note_refusal("serve-token")
        metrics.note_disconnect()
        metrics.batch([Job({}, 700, 0.0, asyncio.get_running_loop().create_future())], 0.1, 0.5)
        metrics.death()
        metrics.reload(is_done=False)
        found = values(metrics)
        assert found["onym_requests_total", "/v1/link", "200"] == 1
        assert found["onym_request_seconds_sum", "/v1/link"] == 0.02
        assert found["onym_refused_total", "serve-token"] == found["onym_disconnected_total",] == 1
        assert (found["onym_batch_characters_sum",], found["onym_linker_seconds_total",]) == (700, 0.5)
        assert found["onym_linker_deaths_total",] == found["onym_reloads_total", "failed"] == 1

    asyncio.run(act())


def test_gauges(tmp_path: Path) -> None:
    async def act() -> None:
        folder = folder_of(tmp_path)
        pipeline = ServedPipeline("default", folder, lambda f, c: LinkerPool(f, settings_of(f), Ignored(), stubs(), c))
        metrics = Metrics()
        metrics.watch({"default": pipeline}, lambda: 7)
        before = values(metrics)
        await pipeline.open()
        after = values(metrics)
        assert (before["onym_linker_processes", "default"], after["onym_linker_processes", "default"]) == (0, 1)
        assert (after["onym_queue_jobs", "default"], after["onym_in_flight",]) == (0, 7)
        await pipeline.close()

    asyncio.run(act())
