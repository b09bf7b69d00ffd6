"""Run training in separate processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from onym.train.configs import GenerativeTrainingConfig

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def words_of(folder: Path, trainings: dict[str, GenerativeTrainingConfig]) -> list[str]:
    """Write the configurations to files, and return the worker's arguments: a configuration and an output folder for each."""
    words = []
    for name, config in trainings.items():
        (folder / f"{name}.json").write_text(config.model_dump_json())
        words += [str(folder / f"{name}.json"), str(folder / name)]
    return words


def environment(**more: str) -> dict[str, str]:
    """Return the environment variables of a worker process: one thread, and this project on PYTHONPATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACCELERATE_", "FSDP_"))}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path} | more


def on_two_devices(folder: Path, trainings: dict[str, GenerativeTrainingConfig]) -> None:
    """Train in two processes that share each step (DDP over gloo)."""
    words = [sys.executable, "-m", "tests.train.worker", *words_of(folder, trainings)]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "ACCELERATE_USE_CPU": "true"}
    processes = []
    for rank in ("0", "1"):
        own = environment(RANK=rank, LOCAL_RANK=rank, **shared)
        processes.append(subprocess.Popen(words, env=own, cwd=folder, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)


def train_with_accelerate(folder: Path, configuration: dict[str, Any], trainings: dict[str, GenerativeTrainingConfig]) -> None:
    """Train with `accelerate launch` and an accelerate configuration."""
    (folder / "accelerate.json").write_text(json.dumps(configuration | {"main_process_port": free_port()}))
    launch = ["-m", "accelerate.commands.accelerate_cli", "launch", "--config_file", str(folder / "accelerate.json")]
    words = [sys.executable, *launch, "-m", "tests.train.worker", *words_of(folder, trainings)]
    done = subprocess.run(words, env=environment(), cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
