"""Tests of streaming requests to /link/batch: each line is answered once, in order."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import LimitError
from onym.serve.app import answer_lines, iter_lines
from onym.serve.pool import LinkerPool
from tests.serve.stub import folder_of, settings_of, with_pool
from tests.serve.test_bodies import GONE, coming, part

SETTINGS = settings_of(Path("none"), max_body=200, body_timeout=0.3)


async def lines_of(*parts: bytes) -> list[bytes]:
    messages = [part(each, is_more=number < len(parts)) for number, each in enumerate(parts, 1)]
    return [line async for line in iter_lines(coming(*messages), SETTINGS)]


@given(lines=st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=8), size=st.integers(1, 9))
def test_lines_do_not_depend_on_chunk_size(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    cut = [data[start : start + size] for start in range(0, len(data), size)] or [b""]
    assert asyncio.run(lines_of(*cut)) == [line for line in lines if line.strip()]


def test_rejects_long_line_before_its_end() -> None:
    with pytest.raises(LimitError, match="serve-body"):
        asyncio.run(lines_of(b"a" * 150, b"a" * 51, b"never read"))
    with pytest.raises(LimitError, match="serve-body"):
        asyncio.run(lines_of(b"a" * 201 + b"\nb"))


def stream_answers(tmp_path: Path, *messages: dict[str, Any], **changes: Any) -> list[Any]:
    async def act(pool: LinkerPool) -> list[Any]:
        settings = SETTINGS.model_copy(update=changes)
        return [json.loads(line) async for line in answer_lines(coming(*messages), pool, settings)]

    return with_pool(folder_of(tmp_path), act)


def code(value: Any) -> Any:
    return value["error"]["code"] if "error" in value else value["text"]


def test_answers_each_line_once_in_order(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(100)]
    body = b"\n".join(json.dumps({"text": text}).encode() for text in texts)
    assert [code(each) for each in stream_answers(tmp_path, part(body))] == texts


def test_errors_are_lines(tmp_path: Path) -> None:
    body = b'{"text": "a"}\nnot JSON\n\n{"text": "die"}\n'
    found = stream_answers(tmp_path, part(body, is_more=True), part(b'{"text": "b"}'))
    assert [code(each) for each in found][1] == "request-malformed"
    assert found[1]["error"]["where"] == "line 2"
    assert [code(each) for each in found][2] == "serve-worker-died"
    assert len(found) == 4


def test_answers_lines_after_process_died(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> list[Any]:
        found = []
        for text in ("die", "b"):
            messages = part(json.dumps({"text": text}).encode())
            found += [json.loads(line) async for line in answer_lines(coming(messages), pool, SETTINGS)]
        return found

    assert [code(each) for each in with_pool(folder_of(tmp_path), act)] == ["serve-worker-died", "b"]


def test_read_error_is_the_last_line(tmp_path: Path) -> None:
    found = stream_answers(tmp_path, part(b'{"text": "a"}\n{"te', is_more=True))
    assert [code(each) for each in found] == ["a", "serve-slow-body"]
    found = stream_answers(tmp_path, part(b'{"text": "a"}\n' + b"a" * 300, is_more=True))
    assert [code(each) for each in found] == ["a", "serve-body"]


def test_stops_when_client_disconnects(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        lines = b'{"text": "sleep 0.2"}\n' + b'{"text": "die"}\n' * 9
        messages = coming(part(lines, is_more=True), GONE)
        found = [line async for line in answer_lines(messages, pool, SETTINGS)]
        assert len(found) <= 1
        assert len(pool.queue) == 0

    with_pool(folder_of(tmp_path), act, batch_characters=1)


def test_empty_body_has_no_lines(tmp_path: Path) -> None:
    assert stream_answers(tmp_path, part(b"\n \n")) == []
