"""Tests of child processes: their responses, and the errors if they die, hang or use too much memory."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tests.robustness.harness import Channel, LostError, Meter, Seat, Worker, judge_all


def work(channel: Channel, word: str) -> None:
    print("printed text is not a response")
    meter = Meter(1.0, is_busy_only=True)

    def answer(request: list[Any]) -> Any:
        if request[0] == "die":
            os._exit(3)
        if request[0] == "wait":
            time.sleep(60)
        if request[0] == "grow":
            return meter.measure(lambda: {"size": len(bytearray(30_000_000))})
        return [word, *request]

    channel.serve(answer)


def start() -> Worker:
    return Worker(work, "a", patience=20, is_quiet=True)


def test_worker_answers_and_memory_growth_is_measured() -> None:
    with start() as worker:
        assert worker.ask(["b", 1]) == ["a", "b", 1]
        found = worker.ask(["grow"])
    assert found["mb"] > 25
    assert found["size"] == 30_000_000
    assert found["seconds"] > 0


@pytest.mark.parametrize(("request_", "how", "status"), [(["die"], "dies", 3), (["wait"], "hangs", None)])
def test_a_lost_worker_is_replaced(request_: list[str], how: str, status: int | None) -> None:
    with Seat(start) as seat:
        with pytest.raises(LostError) as caught:
            seat.ask(request_, patience=1)
        assert (caught.value.how, caught.value.status) == (how, status)
        assert seat.ask(["c"]) == ["a", "c"]


def test_judges_cases_on_several_workers() -> None:
    found = judge_all(range(7), start, lambda seat, case: seat.ask([case])[1], seats=2)
    assert sorted(found) == list(range(7))
