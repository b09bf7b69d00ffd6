"""What runs on a Ray cluster: replicas that answer jobs as linker processes do, and a look at what a folder has.

Jobs and answers are JSON. What fails is told by a code: the message of an exception may hold text, and would go through Ray.
"""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from onym.batch.pipes import error_reply
from onym.errors import coded, is_failure
from onym.serve.answers import Answers, Said

_OUT_OF_TIME = 4  # the status of a replica that ends itself


class Replica:
    """A pipeline of a known release that answers one batch at a time."""

    def __init__(self, folder: str, precision: float | None, release: str) -> None:
        self._answers = Answers.open(folder, precision)
        if self._answers.release["release"] != release:
            raise RuntimeError("the folder of the pipeline has another release now")
        self._thread = ThreadPoolExecutor(1)

    async def of(self, jobs: bytes) -> list[Said]:
        """Return an answer for each job. If the caller gives up, the process ends, and Ray starts another."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._answers.of, json.loads(jobs))
        except asyncio.CancelledError:
            os._exit(_OUT_OF_TIME)  # a thread that hangs cannot be ended


def release_of(folder: str, precision: float | None) -> dict[str, Any]:
    """Open a pipeline on some node, and return its release, or why it cannot be opened."""
    try:
        return Answers.open(folder, precision).release
    except BaseException as e:
        if not is_failure(e):
            raise
        return error_reply(coded(e, caught_in=__file__))
