"""Tests that users never see tracebacks, and that every error and signal has a documented exit status."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onym.cli import boundary
from onym.errors import InputError
from onym.kb import KnowledgeBase
from tests.cli.command import onym

SECRET = "patient Smith"
Failing = Callable[..., subprocess.CompletedProcess[str]]


class PanicException(BaseException):
    """Imitates the exception that PyO3 raises for a Rust panic."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Failing:
    """Runs a command that raises a given error."""

    def run(error: BaseException, *words: str, status: int) -> subprocess.CompletedProcess[str]:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(KnowledgeBase, "open", fail)
        return onym("kb", "info", "kb", *words, cwd=tmp_path, status=status)

    return run


@pytest.mark.parametrize("error", [ValueError(SECRET), RecursionError(SECRET), PanicException(SECRET), KeyError(SECRET)])
def test_bug_report_has_code_and_line_but_no_document_text(failing: Failing, error: BaseException) -> None:
    message = failing(error, status=1).stderr
    assert message.startswith(f"[internal-error] {type(error).__name__} in cli/kb.py:")
    assert SECRET not in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (MemoryError(SECRET), 6, "memory-exhausted"),
        (OSError(errno.EMFILE, "Too many open files", "kb"), 2, "system-refused"),
        (InputError("input-missing", "no such file"), 3, "input-missing"),
    ],
)
def test_system_errors_have_codes(failing: Failing, error: Exception, status: int, code: str) -> None:
    message = json.loads(failing(error, "--json", status=status).stderr)["error"]
    assert message["code"] == code
    assert SECRET not in str(message)


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError(errno.EPIPE, "x"), 141), (SystemExit(143), 143)]
)
def test_interrupt_broken_pipe_and_exit_print_no_error(failing: Failing, error: BaseException, status: int) -> None:
    assert failing(error, status=status).stderr == ""


def test_debug_shows_the_trace(failing: Failing) -> None:
    message = failing(ValueError("x"), "--debug", status=1).stderr
    assert "Traceback" in message
    assert "[internal-error]" in message


def test_signal_ends_the_command_and_handlers_are_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def open_kb(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(KnowledgeBase, "open", open_kb)
    assert onym("kb", "info", "kb", cwd=tmp_path, status=143).stderr == ""
    assert signal.getsignal(signal.SIGTERM) is before


def test_ignored_signals_stay_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def open_kb(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        raise InputError("input-missing", "still here")

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(KnowledgeBase, "open", open_kb)
        assert "still here" in onym("kb", "info", "kb", cwd=tmp_path, status=3).stderr
    finally:
        signal.signal(signal.SIGHUP, before)


def test_second_signal_is_ignored_during_the_grace_period() -> None:
    stop = boundary._Stop()
    with pytest.raises(SystemExit) as caught:
        stop(signal.SIGTERM, None)
    assert caught.value.code == 143
    stop(signal.SIGHUP, None)
    stop._at -= 3
    with pytest.raises(SystemExit):
        stop(signal.SIGHUP, None)


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = command.replace("onym ", f"{sys.executable} -m onym ")
    return subprocess.run(["bash", "-c", script], cwd=cwd, text=True, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ("onym info > /dev/full", 2, "output-failed"),
        ("onym info >&-", 2, "output-failed"),
        ("onym link - --kb no -o x.jsonl <&-", 3, "input-missing"),
        ("onym info | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("onym --help | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("onym kb info no 2>&-", 4, ""),
    ],
)
def test_exit_status_for_closed_full_or_broken_streams(tmp_path: Path, command: str, status: int, code: str) -> None:
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr.partition("]")[0].lstrip("[")) == (status, code), done.stderr


def test_files_never_reuse_the_descriptor_of_a_closed_stream(tmp_path: Path, tiny_kb: Path) -> None:
    assert shell(f"onym kb export {tiny_kb} -o out.jsonl <&- >&- 2>&-", tmp_path).returncode == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


@pytest.mark.slow
def test_closed_standard_input_is_reported(tmp_path: Path, tiny_kb: Path) -> None:
    done = shell(f"onym link - --kb {tiny_kb} -o x.jsonl <&-", tmp_path)
    assert (done.returncode, done.stderr.partition("]")[0]) == (3, "[input-missing")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_unencodable_characters_are_escaped(tmp_path: Path, encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [sys.executable, "-m", "onym", "kb", "info", b"\xff\xce\xb1"], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.partition(b"]")[0]) == (4, b"[artefact-missing")


@pytest.mark.parametrize("command", ["link|", "explain| ", "link|fever|-o|", "map|a.csv|--column=", "kb|check|"])
def test_an_empty_argument_is_an_error_in_every_command(tmp_path: Path, command: str) -> None:
    (tmp_path / "patient.txt").write_text("John Smith has asthma.")
    words = command.split("|")
    done = onym(*words, cwd=tmp_path, status=2)
    assert done.stdout == ""
    code = "argument-empty"
    assert f"[{code}] argument {len(words)} of the command is empty" in done.stderr
