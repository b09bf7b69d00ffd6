"""Callbacks of every training: its log as a file, and a clock that runs over all its resumptions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from onym.store.output import whole_file


class Clock(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Counts the seconds of a training over all its resumptions; Trainer keeps it in every checkpoint."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._last = time.monotonic()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Add the time since the last step."""
        now = time.monotonic()
        self.seconds, self._last = self.seconds + now - self._last, now

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        return {"args": {"seconds": self.seconds}, "attributes": {}}


class LogFile(TrainerCallback):  # type: ignore[misc]
    """Writes everything that is logged to a file of JSON lines."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log.jsonl"

    def on_log(self, _args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Write the whole file again: after a resumption, what was logged before the checkpoint is there once."""
        if state.is_world_process_zero:
            with whole_file(self._path, force=True) as file:
                file.writelines(json.dumps(entry).encode() + b"\n" for entry in state.log_history)
