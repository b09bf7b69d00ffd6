"""Tests of linkers that run as Ray Serve replicas, on a fake and on a real cluster."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onym.errors import ConfigError, InputError, InternalError, LimitError, OnymError
from onym.pipeline.folder import build_pipeline
from onym.serve.on_ray import Replica, Replicas, release_of, serving
from onym.serve.pool import LinkerPool
from onym.serve.server import engine_of
from tests.robustness.own_network import own_network
from tests.robustness.text.pipeline_hostile_text import NAMES, make_kb
from tests.serve.ray_scenario import CLIENTS
from tests.serve.stub import Ignored, folder_of, settings_of
from tests.serve.test_pool import until


@pytest.mark.slow
def test_service_on_real_ray_cluster(tmp_path: Path) -> None:
    """Requests are answered correctly while the replica is killed, the release changes and the service shuts down."""
    build_pipeline(make_kb(tmp_path, "old"), tmp_path / "pipeline")
    root = Path(__file__).parents[2]
    command = own_network(sys.executable, "-m", "tests.serve.ray_scenario", str(tmp_path))
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["status"] == 0, (tmp_path / "log.txt").read_text()[-2000:]
    assert not found["notes"]
    assert [found.get(name, 0) for name in ("wrong", "lost", "dropped", "hung")] == [0, 0, 0, 0]
    assert found.get("refused", 0) <= CLIENTS  # the killed replica had at most one request per client
    assert found["answers"] > 60
    assert len(set(found["releases"])) == 2
    logged = (tmp_path / "log.txt").read_text()
    assert "is ready" in logged
    assert not any(name in logged for name in NAMES)


class _BackPressureError(Exception):
    pass


class _DiedError(Exception):
    pass


class _Response:
    """A fake response of a deployment handle: awaitable and cancellable."""

    def __init__(self, value: Awaitable[Any]) -> None:
        self._value, self.is_cancelled = value, False

    def __await__(self) -> Any:
        return self._value.__await__()

    def cancel(self) -> None:
        self.is_cancelled = True


class _MadeUpCluster:
    """A fake of `ray` and `ray.serve`, with a given release on the node, states of the application, and replies."""

    exceptions = SimpleNamespace(BackPressureError=_BackPressureError)
    RunTarget = SimpleNamespace

    def __init__(self) -> None:
        self.found: Any = {"release": "r1", "kb": "kb"}
        self.states = ["DEPLOYING", "RUNNING"]
        self.deployed: list[Any] = []
        self.deleted: list[str] = []
        self.looks = 0
        self.responses: list[_Response] = []
        self.options: dict[str, Any] = {}
        self.start_options: dict[str, Any] = {}

    # Fakes of the functions of `ray`.

    def remote(self, **options: Any) -> Any:
        # max_calls=1: the task's process exits after one call, which frees its memory
        assert options == {"num_cpus": 0, "max_retries": 0, "max_calls": 1}
        return lambda look: SimpleNamespace(remote=self._look)

    async def _look(self, folder: str, options: Mapping[str, Any]) -> Any:
        assert Path(folder).is_absolute()
        self.looks += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def is_initialized(self) -> bool:
        return True

    # Fakes of the functions of `ray.serve`.

    def start(self, **options: Any) -> None:
        self.start_options = options

    def deployment(self, kind: type, **options: Any) -> Any:
        self.options = options
        return SimpleNamespace(bind=lambda *values: values)

    def run_many(self, targets: list[Any], wait_for_applications_running: bool) -> None:
        assert not wait_for_applications_running  # waiting would block forever if the cluster is full
        self.deployed += targets

    def status(self) -> Any:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return SimpleNamespace(applications={target.name: SimpleNamespace(status=state) for target in self.deployed})

    def get_app_handle(self, name: str) -> Any:
        return SimpleNamespace(of=SimpleNamespace(remote=self._ask))

    def delete(self, name: str) -> None:
        self.deleted.append(name)

    def _ask(self, jobs: bytes) -> _Response:
        self.responses.append(_Response(self._answers(json.loads(jobs))))
        return self.responses[-1]

    async def _answers(self, jobs: list[dict[str, str]]) -> list[tuple[int, bytes]]:
        texts = [job["text"] for job in jobs]
        if "hang" in texts:
            await asyncio.sleep(60)
        if "die" in texts:
            raise _DiedError("patient Smith")
        if "full" in texts:
            raise _BackPressureError
        return [(200, text.encode()) for text in texts if text != "half"]


def use(
    folder: Path,
    cluster: _MadeUpCluster,
    act: Callable[[LinkerPool], Awaitable[None]],
    watch: Ignored | None = None,
    **changes: Any,
) -> list[str]:
    """Run a coroutine with a pool over a cluster, and return the notifications of a changed release."""
    changed: list[str] = []

    async def run() -> None:
        settings = settings_of(folder, engine="ray", **changes)
        pool = LinkerPool(
            folder, settings, watch or Ignored(), Replicas(cluster, cluster, settings), lambda: changed.append("changed")
        )
        await pool.start()
        try:
            await act(pool)
        finally:
            await pool.close()

    asyncio.run(run())
    return changed


async def ask(pool: LinkerPool, text: str) -> bytes:
    return (await pool.put({"op": "link", "text": text}, 1).reply).body


def test_jobs_are_answered_and_deployment_is_deleted(tmp_path: Path) -> None:
    cluster = _MadeUpCluster()

    async def act(pool: LinkerPool) -> None:
        replies = [await pool.put({"op": "link", "text": str(number)}, 1).reply for number in range(5)]
        assert [(reply.status, reply.body, reply.release) for reply in replies] == [
            (200, str(number).encode(), "r1") for number in range(5)
        ]
        assert len(pool.pids) == 3

    use(folder_of(tmp_path), cluster, act, workers=3)
    (target,) = cluster.deployed
    assert cluster.looks == 1
    assert target.route_prefix is None  # no route, so that Ray's own proxies do not expose the application
    assert target.target == (str(tmp_path), {"options": {}, "components": [], "corrections": None}, "r1")
    assert cluster.deleted == [target.name]
    assert (cluster.options["num_replicas"], cluster.options["max_ongoing_requests"]) == (3, 1)


def test_autoscaling_options(tmp_path: Path) -> None:
    cluster = _MadeUpCluster()

    async def act(pool: LinkerPool) -> None:
        assert len(pool.pids) == 8  # one lane per replica, up to the maximum: busy lanes make Ray start more replicas

    use(folder_of(tmp_path), cluster, act, workers=2, max_workers=8)
    scaling = cluster.options["autoscaling_config"]
    assert (scaling["min_replicas"], scaling["max_replicas"], scaling["target_ongoing_requests"]) == (2, 8, 1)
    assert cluster.options["max_queued_requests"] == 8


@pytest.mark.parametrize("text", ["die", "half"])
def test_dead_replica_fails_only_its_batch(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster, watch = _MadeUpCluster(), Ignored()

    async def act(pool: LinkerPool) -> None:
        with pytest.raises(InternalError, match="serve-worker-died") as caught:
            await ask(pool, text)
        assert "Smith" not in str(caught.value)
        assert await ask(pool, "a") == b"a"

    assert not use(folder_of(tmp_path), cluster, act, watch)
    assert watch.deaths == 1
    assert len(cluster.deployed) == 1  # Onym does not deploy again: Ray replaces the dead replica
    assert "Smith" not in caplog.text


def test_back_pressure_is_overload_not_death(tmp_path: Path) -> None:
    watch = Ignored()

    async def act(pool: LinkerPool) -> None:
        with pytest.raises(LimitError, match="serve-overloaded"):
            await ask(pool, "full")
        assert await ask(pool, "a") == b"a"

    use(folder_of(tmp_path), _MadeUpCluster(), act, watch)
    assert watch.deaths == 0


def test_slow_batch_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.serve.pool._GRACE_S", 0.1)
    cluster = _MadeUpCluster()

    async def act(pool: LinkerPool) -> None:
        with pytest.raises(LimitError, match="serve-timeout"):
            await ask(pool, "hang")
        assert cluster.responses[0].is_cancelled
        assert await ask(pool, "a") == b"a"

    use(folder_of(tmp_path), cluster, act, timeout=0.5)


def test_detects_changed_release_in_folder(tmp_path: Path) -> None:
    cluster = _MadeUpCluster()

    async def act(pool: LinkerPool) -> None:
        cluster.found = {"release": "r2", "kb": "kb"}
        with pytest.raises(InternalError, match="serve-worker-died"):
            await ask(pool, "die")
        await until(lambda: cluster.looks >= 2 and not pool.pids)
        cluster.found = {"release": "r1", "kb": "kb"}
        assert (await pool.put({"op": "link", "text": "a"}, 1).reply).release == "r1"

    assert use(folder_of(tmp_path), cluster, act)


async def nothing(pool: LinkerPool) -> None:
    raise AssertionError("it started")


def test_error_if_no_node_can_open_pipeline(tmp_path: Path) -> None:
    cluster = _MadeUpCluster()
    error = {"code": "pipeline-missing", "what": "none", "where": "", "fix": ""}
    cluster.found = {"error": error, "kind": "InputError"}
    with pytest.raises(InputError, match="pipeline-missing"):
        use(tmp_path, cluster, nothing)
    assert not cluster.deployed


def test_ray_errors_show_no_text(tmp_path: Path) -> None:
    cluster = _MadeUpCluster()
    cluster.found = _DiedError("patient Smith")
    with pytest.raises(ConfigError, match="serve-cluster-failed") as caught:
        use(tmp_path, cluster, nothing)
    assert "_DiedError" in caught.value.what
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize("states", [["DEPLOYING", "DEPLOY_FAILED"], ["DEPLOYING"]])
def test_deletes_deployment_that_does_not_start(states: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.serve.on_ray._START_S", 0.5)
    cluster = _MadeUpCluster()
    cluster.states = states
    with pytest.raises(ConfigError, match="serve-cluster-failed"):
        use(tmp_path, cluster, nothing)
    assert cluster.deleted == [cluster.deployed[0].name]


@contextmanager
def fake_cluster(cluster: _MadeUpCluster | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ray = SimpleNamespace(is_initialized=lambda: True)
    if cluster is not None:
        ray.serve = cluster
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.serve", cluster)
    yield


def test_ray_proxy_is_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = _MadeUpCluster()
    with fake_cluster(cluster, monkeypatch), engine_of(settings_of(tmp_path, engine="ray", workers=2)) as linkers_of:
        assert linkers_of(tmp_path).size == 2
    assert cluster.start_options["proxy_location"] == "Disabled"
    assert cluster.start_options["http_options"] == {"location": "NoServer"}


def test_error_without_ray_serve_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cluster(None, monkeypatch), pytest.raises(OnymError) as caught, serving(settings_of(tmp_path, engine="ray")):
        pass
    assert caught.value.fix == "pip install 'onym[ray]'"


class _EndedError(Exception):
    pass


def test_replica_answers_like_the_pipeline(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline = build_pipeline(tiny_kb, tmp_path / "pipeline")
    release = release_of(str(tmp_path / "pipeline"), {})
    assert release["kb"] == pipeline.kb.digest
    replica = Replica(str(tmp_path / "pipeline"), {}, release["release"])
    first, second = asyncio.run(
        replica.of(json.dumps([{"op": "link", "text": "fever"}, {"op": "concept", "id": "x"}]).encode())
    )
    assert (first[0], json.loads(first[1])) == (200, pipeline.link("fever").to_dict())
    assert second[0] == 404


def test_replica_rejects_another_release(tiny_kb: Path, tmp_path: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "pipeline")
    with pytest.raises(RuntimeError, match="another release"):
        Replica(str(tmp_path / "pipeline"), {}, "0123456789abcdef")


def test_release_of_missing_pipeline_returns_error_code(tmp_path: Path) -> None:
    reply = release_of(str(tmp_path / "none"), {})
    assert (reply["error"]["code"], reply["kind"]) == ("pipeline-missing", "InputError")


def test_replica_exits_when_caller_cancels(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise _EndedError(status)

    build_pipeline(tiny_kb, tmp_path / "pipeline")
    replica = Replica(str(tmp_path / "pipeline"), {}, release_of(str(tmp_path / "pipeline"), {})["release"])
    begun, is_over = threading.Event(), threading.Event()

    def hang(jobs: object) -> list[tuple[int, bytes]]:
        begun.set()
        is_over.wait(60)
        return []

    monkeypatch.setattr("onym.serve.on_ray.os._exit", end)
    monkeypatch.setattr(replica._answers, "of", hang)

    async def act() -> None:
        asking = asyncio.ensure_future(replica.of(b"[]"))
        await asyncio.to_thread(begun.wait, 60)
        asking.cancel()
        try:
            with pytest.raises(_EndedError, match="4"):
                await asking
        finally:
            is_over.set()

    asyncio.run(act())
