"""Tests of child processes: their responses, the errors if they die or hang, and the meter of memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection

import pytest

from tests.robustness.children import Child, LostError, judge_all, requests
from tests.robustness.meter import Meter


def work(pipe: Connection, word: str) -> None:
    print("printed text is not a response")
    meter = Meter(1.0, is_busy_only=True)
    for request in requests(pipe):
        if request == "die":
            os._exit(3)
        if request == "wait":
            time.sleep(60)
        elif request == "grow":
            pipe.send(meter.measure(lambda: {"size": len(bytearray(30_000_000))}))
        else:
            pipe.send((word, os.environ["OF_CHILD"], request))


@pytest.fixture
def child() -> Iterator[Child]:
    with closing(make_child()) as child:
        yield child


def make_child() -> Child:
    return Child(work, "a", timeout=20, env={"OF_CHILD": "b"}, is_quiet=True)


def test_child_answers_in_its_own_environment(child: Child, capfd: pytest.CaptureFixture[str]) -> None:
    assert child.ask(1) == ("a", "b", 1)
    assert "OF_CHILD" not in os.environ
    assert capfd.readouterr().out == ""


def test_memory_growth_is_measured(child: Child) -> None:
    outcome = child.ask("grow")
    assert outcome["mb"] > 25
    assert outcome["size"] == 30_000_000
    assert outcome["seconds"] > 0


@pytest.mark.parametrize(("request_", "how", "status"), [("die", "dies", 3), ("wait", "hangs", None)])
def test_a_lost_child_is_replaced(child: Child, request_: str, how: str, status: int | None) -> None:
    with pytest.raises(LostError) as caught:
        child.ask(request_, timeout=1)
    assert (caught.value.how, caught.value.status) == (how, status)
    assert child.ask("c") == ("a", "b", "c")


def test_judges_cases_on_several_children() -> None:
    answers = judge_all(range(7), [make_child(), make_child()], lambda child, case: child.ask(case)[2])
    assert answers == list(range(7))
